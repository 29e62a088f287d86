// I6 as a property: for any users, devices, shares and visibilities, lists, the query for permissions and all calls
// over HTTP and MQTT agree with an independent model of a few lines.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { Client, takeAll } from '../support/mqtt/mqtt-client.ts';
import { addUsers } from '../support/people.ts';
import { properties } from '../support/properties.ts';
import { type Carries, TestServer } from '../support/test-server.ts';

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

/** Handing a device to somebody else ends the shares that others gave. */
function sharesOf(device: World): World['shares'] {
  return device.heir === undefined || device.heir === device.owner ? device.shares : [];
}

/** The law. The last share with somebody counts. */
function lawOf(actor: string, device: World, guestMayAll: boolean): readonly string[] {
  const owner = device.heir ?? device.owner;
  if (actor === 'admin' || (actor === owner && (actor !== 'guest' || guestMayAll))) return names;
  const shared = sharesOf(device).findLast(({ user }) => user === actor)?.scopes ?? [];
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
    let clients: readonly Client[];

    before(async () => {
      await server.restart({ DUNDUN_GUEST_ACCESS: mode });
      clients = await Promise.all(actors.map((actor) => Client.connect(server, actor)));
      for (const client of clients) await client.subscribe('#', 1);
    });
    after(() => Promise.all(clients.map((client) => client.end())));

    test('everybody sees and may exactly what the law says', async () => {
      const property = fc.asyncProperty(fc.array(world, { minLength: 1, maxLength: 2 }), async (worlds) => {
        const ids = await create(worlds);
        try {
          await Promise.all(actors.map((actor) => check(actor, ids, worlds, mode === 'full')));
          await checkValues(clients, ids, worlds, mode === 'full');
        } finally {
          const paths = ids.flatMap((id) => [`/devices/${id}`, `/gateways/${id}`]);
          await Promise.all(paths.map((path) => server.call('admin', 'DELETE', path)));
        }
      });
      await fc.assert(property, properties({ factor: 0.5 }));
    });
  });
}

/** Devices, and gateways of the same ids, owners and visibilities. */
async function create(worlds: readonly World[]): Promise<string[]> {
  runs += 1;
  const ids = worlds.map((_, n) => `run-${runs}-${n}`);
  for (const [n, { owner, isPublic, shares, heir }] of worlds.entries()) {
    const named = { id: ids[n], visibility: isPublic ? 'public' : 'private' };
    const path = `/devices/${ids[n]}`;
    await done(owner, 'POST', '/devices', { ...named, sensors: [{ id: 's' }], actuators: [{ id: 'a' }] });
    await done(owner, 'POST', '/gateways', named, 200);
    for (const { user, scopes: given } of shares)
      await done('admin', 'PUT', `${path}/shares/${user}`, { scopes: given });
    if (heir === undefined) continue;
    for (const kind of ['devices', 'gateways']) await done('admin', 'PUT', `/${kind}/${ids[n]}/owner`, heir);
  }
  return ids;
}

async function done(as: string, method: string, path: string, json: unknown, expected = 204): Promise<void> {
  const { status, text } = await server.call(as, method, path, { json });
  assert.equal(status, expected, text);
}

/** The law for gateways: a public one is seen by everybody, and only its owner and admins do more. */
function gatewayLawOf(actor: string, gateway: World, guestMayAll: boolean): readonly string[] {
  const all = ['gateways:view', 'gateways:update', 'gateways:delete'];
  const owner = gateway.heir ?? gateway.owner;
  if (actor === 'admin' || (actor === owner && (actor !== 'guest' || guestMayAll))) return all;
  return gateway.isPublic || gateway.owner === 'guest' ? ['gateways:view'] : [];
}

/** The law for actuators: who may change the device, and whom a share lets push. */
function maySet(actor: string, device: World, guestMayAll: boolean): boolean {
  if (lawOf(actor, device, guestMayAll).includes('devices:update')) return true;
  return (
    sharesOf(device)
      .findLast(({ user }) => user === actor)
      ?.scopes.includes('devices-data:create') ?? false
  );
}

async function check(
  actor: string,
  ids: readonly string[],
  worlds: readonly World[],
  guestMayAll: boolean,
): Promise<void> {
  const laws = {
    devices: worlds.map((device) => lawOf(actor, device, guestMayAll)),
    gateways: worlds.map((gateway) => gatewayLawOf(actor, gateway, guestMayAll)),
  };
  for (const [kind, held] of Object.entries(laws)) {
    const expected = ids.flatMap((resource, n) => (held[n]?.length ? [{ resource, scopes: held[n] }] : []));
    const permissions = await server.call(actor, 'GET', `/auth/permissions/${kind}`);
    assert.deepEqual(permissions.body, expected, `permissions of ${actor}`);
    const list = await server.call(actor, 'GET', `/${kind}?limit=1000`);
    assert.deepEqual(
      list.body.map(({ id }: { id: string }) => id),
      ids.filter((_, n) => held[n]?.includes(`${kind}:view`)),
      `the list of ${kind} of ${actor}`,
    );
  }
  for (const [n, id] of ids.entries()) {
    const mayAct = maySet(actor, worlds[n] as World, guestMayAll);
    const held = [...(laws.devices[n] ?? []), ...(laws.gateways[n] ?? []), ...(mayAct ? ['actuators'] : [])];
    for (const [method, path, carries, scope, status] of doorsOf(id)) {
      const answer = await server.request(actor, method, path.startsWith('/api/') ? path : `/api/v2${path}`, carries);
      assert.equal(answer.status, held.includes(scope) ? status : 403, `${method} ${path} of ${actor}`);
    }
    const { body } = await server.call(actor, 'GET', `/devices/${id}/permissions/explain`);
    const explained = body.scopes.filter((one: { held: boolean; from: unknown[] }) => one.held && one.from.length > 0);
    assert.deepEqual(
      [explained.map(({ scope }: { scope: string }) => scope), body.may_set_actuators],
      [laws.devices[n], mayAct],
      `the explanation for ${actor}`,
    );
  }
}

type Door = readonly [method: string, path: string, carries: Carries, scope: string, status: number];

/** What tells who may by its status alone. */
function doorsOf(id: string): readonly Door[] {
  const [device, gateway] = [`/devices/${id}`, `/gateways/${id}`];
  const older = `/api/v1/sensors/${id}`;
  return [
    ['GET', older, {}, 'devices:view', 200],
    ['GET', `${older}/measurements/s/values`, {}, 'devices-data:view', 200],
    ['POST', `${older}/measurements/s/value`, { json: [] }, 'devices-data:create', 200],
    ['PUT', `/api/v1/domains/any/sensors/${id}/name`, { json: 'named' }, 'devices:update', 200],
    ['GET', device, {}, 'devices:view', 200],
    ['GET', `${device}/sensors/s/values`, {}, 'devices-data:view', 200],
    ['GET', `${device}/sensors/s/values?format=csv`, {}, 'devices-data:view', 200],
    ['GET', `/sensors_data?device_id=${id}&sensor_id=s`, {}, 'devices-data:view', 200],
    ['POST', `${device}/sensors/s/values`, { json: [] }, 'devices-data:create', 204],
    ['PUT', `${device}/actuators/a/value`, { json: 0 }, 'actuators', 204],
    ['PUT', `${device}/name`, { json: 'named' }, 'devices:update', 204],
    ['GET', gateway, {}, 'gateways:view', 200],
    ['PUT', `${gateway}/name`, { json: 'named' }, 'gateways:update', 204],
    // A heartbeat is for everybody where the gateway is public, so for whoever sees it.
    ['PUT', `${gateway}/health`, {}, 'gateways:view', 204],
  ];
}

/** What everybody pushes and sets, by REST and MQTT: what is stored of it, and what reaches whom. */
async function checkValues(
  clients: readonly Client[],
  ids: readonly string[],
  worlds: readonly World[],
  guestMayAll: boolean,
): Promise<void> {
  await takeAll(server, ...clients);
  const published: string[][] = actors.map(() => []);
  for (const [n, id] of ids.entries()) {
    const device = worlds[n] as World;
    const stored: number[] = [];
    // All at once: each value is another, and the order of messages is not what this is about.
    await Promise.all(actors.map((actor, m) => pushAndSet(actor, clients[m] as Client, id, m)));
    for (const [m, actor] of actors.entries()) {
      const values = lawOf(actor, device, guestMayAll).includes('devices-data:create') ? [2 * m, 2 * m + 1] : [];
      stored.push(...values);
      const messages = values.map((value) => `devices/${id}/sensors/s/value {"value":${value}}`);
      if (maySet(actor, device, guestMayAll)) messages.push(`devices/${id}/actuators/a/value ${m}`);
      for (const [k, reader] of actors.entries()) {
        if (lawOf(reader, device, guestMayAll).includes('devices-data:view')) published[k]?.push(...messages);
      }
    }
    const { body } = await server.call('admin', 'GET', `/devices/${id}/sensors/s/values?limit=100`);
    const found = body.map(({ value }: { value: number }) => value);
    assert.deepEqual(new Set(found), new Set(stored), `what is stored of ${id}`);
    assert.equal(found.length, stored.length);
  }
  const received = await takeAll(server, ...clients);
  for (const [k, reader] of actors.entries()) {
    const messages = received[k]?.map(({ topic, payload }) => `${topic} ${payload}`).sort();
    assert.deepEqual(messages, published[k]?.sort(), `what reaches ${reader}`);
  }
}

async function pushAndSet(actor: string, client: Client, id: string, m: number): Promise<void> {
  await Promise.all([
    server.call(actor, 'POST', `/devices/${id}/sensors/s/value`, { json: { value: 2 * m } }),
    client.publish(`devices/${id}/sensors/s/value`, { value: 2 * m + 1 }, { qos: 1 }),
    client.publish(`devices/${id}/actuators/a/value`, String(m), { qos: 1 }),
  ]);
}
