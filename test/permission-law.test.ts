// I6 as a law: whatever people, devices, shares and visibilities there are, lists, the query for permissions and every
// door say what a few independent lines say.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { addUsers } from './support/people.ts';
import { properties } from './support/properties.ts';
import { TestServer } from './support/test-server.ts';

const names = ['devices:view', 'devices:update', 'devices:delete', 'devices-data:view', 'devices-data:create'] as const;
const everyones: readonly string[] = ['devices:view', 'devices-data:view', 'devices-data:create'];
const users = ['owner', 'stranger', 'sharer', 'fourth'] as const;
const actors = ['guest', ...users, 'admin'] as const;

interface World {
  readonly owner: (typeof users)[number] | 'guest' | 'admin';
  readonly isPublic: boolean;
  readonly shares: readonly { readonly user: (typeof users)[number]; readonly scopes: readonly string[] }[];
  /** A later owner, if any. */
  readonly heir?: (typeof users)[number] | undefined;
}

const scopes = fc.subarray([...names], { minLength: 1 });
const share = fc.record({ user: fc.constantFrom(...users), scopes });
const world: fc.Arbitrary<World> = fc.record({
  owner: fc.constantFrom(...users, 'guest' as const, 'admin' as const),
  isPublic: fc.boolean(),
  shares: fc.array(share, { maxLength: 3 }),
  heir: fc.option(fc.constantFrom(...users), { nil: undefined, freq: 6 }),
});

/** The law. The last share with somebody counts; a new owner's share is gone. */
function lawOf(actor: string, device: World, guestMayAll: boolean): readonly string[] {
  const owner = device.heir ?? device.owner;
  if (actor === 'admin' || (actor === owner && (actor !== 'guest' || guestMayAll))) return names;
  const shared = device.shares.findLast(({ user }) => user === actor)?.scopes ?? [];
  const open = device.isPublic || device.owner === 'guest' ? everyones : [];
  return names.filter((name) => open.includes(name) || shared.includes(name));
}

let server: TestServer;
let runs = 0;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['fourth'], server.clock);
});
after(() => server.stop());

for (const mode of ['full', 'push'] as const) {
  suite(`with guest access ${mode}`, () => {
    before(() => server.restart({ DUNDUN_GUEST_ACCESS: mode }));

    test('everybody sees and may exactly what the law says', async () => {
      const property = fc.asyncProperty(fc.array(world, { minLength: 1, maxLength: 4 }), async (worlds) => {
        const ids = await create(worlds);
        try {
          for (const actor of actors) await check(actor, ids, worlds, mode === 'full');
        } finally {
          for (const id of ids) await server.call('admin', 'DELETE', `/devices/${id}`);
        }
      });
      await fc.assert(property, properties({ factor: 0.2 }));
    });
  });
}

async function create(worlds: readonly World[]): Promise<string[]> {
  runs += 1;
  const ids = worlds.map((_, n) => `run-${runs}-${n}`);
  for (const [n, { owner, isPublic, shares, heir }] of worlds.entries()) {
    const visibility = isPublic ? 'public' : 'private';
    const path = `/devices/${ids[n]}`;
    await done(owner, 'POST', '/devices', { id: ids[n], visibility, sensors: [{ id: 's' }] });
    for (const { user, scopes: given } of shares)
      await done('admin', 'PUT', `${path}/shares/${user}`, { scopes: given });
    if (heir !== undefined) await done('admin', 'PUT', `${path}/owner`, heir);
  }
  return ids;
}

async function done(as: string, method: string, path: string, json: unknown): Promise<void> {
  const { status, text } = await server.call(as, method, path, { json });
  assert.equal(status, 204, text);
}

async function check(
  actor: string,
  ids: readonly string[],
  worlds: readonly World[],
  guestMayAll: boolean,
): Promise<void> {
  const held = worlds.map((device) => lawOf(actor, device, guestMayAll));
  const expected = ids.flatMap((resource, n) => (held[n]?.length ? [{ resource, scopes: held[n] }] : []));
  const permissions = await server.call(actor, 'GET', '/auth/permissions/devices');
  assert.deepEqual(permissions.body, expected, `permissions of ${actor}`);
  const list = await server.call(actor, 'GET', '/devices?limit=1000');
  const listed = list.body.map(({ id }: { id: string }) => id);
  assert.deepEqual(
    listed,
    ids.filter((_, n) => held[n]?.includes('devices:view')),
    `the list of ${actor}`,
  );
  for (const [n, id] of ids.entries()) {
    const doors: readonly (readonly [method: string, path: string, json: unknown, scope: string, done: number])[] = [
      ['GET', '', undefined, 'devices:view', 200],
      ['GET', '/sensors/s/values', undefined, 'devices-data:view', 200],
      ['POST', '/sensors/s/values', [], 'devices-data:create', 204],
      ['PUT', '/name', 'named', 'devices:update', 204],
    ];
    for (const [method, path, json, scope, status] of doors) {
      const carries = json === undefined ? {} : { json };
      const answer = await server.call(actor, method, `/devices/${id}${path}`, carries);
      assert.equal(answer.status, held[n]?.includes(scope) ? status : 403, `${method} ${path} of ${actor}`);
    }
  }
}
