// I6 for API keys as a property: for any key, lists, the query for permissions and all calls over HTTP and MQTT allow
// exactly what an independent model of a few lines allows.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../support/properties.ts';
import { TestServer } from '../support/test-server.ts';

const names = ['devices:view', 'devices:update', 'devices:delete', 'devices-data:view', 'devices-data:create'] as const;
const others = ['gateways:view', 'gateways:update', 'projects:view', 'projects:delete', 'admin'] as const;
const everyones: readonly string[] = ['devices:view', 'devices-data:view', 'devices-data:create'];
/** Devices, and what their keys' owner (`owner`) holds on each without a key. */
const devices: Readonly<Record<string, readonly string[]>> = {
  own: names,
  'own-public': names,
  'strange-private': [],
  'strange-public': everyones,
  'shared-private': ['devices:update', 'devices-data:create'],
  'shared-public': [...everyones, 'devices:delete'],
};
const ids = Object.keys(devices);

interface Draft {
  readonly as: 'owner' | 'admin';
  readonly scopes?: readonly string[];
  readonly devices?: readonly string[];
}

const draft: fc.Arbitrary<Draft> = fc.record(
  {
    as: fc.constantFrom('owner' as const, 'admin' as const),
    scopes: fc.subarray([...names, ...others], { minLength: 1 }),
    devices: fc.subarray([...ids, 'nowhere'], { minLength: 1 }),
  },
  { requiredKeys: ['as'] },
);

/** The law: what the owner holds as the key lets them act, of that what is named, on the devices that are named. */
function lawOf({ as, scopes = [], devices: only }: Draft, id: string): readonly string[] {
  if (only !== undefined && !only.includes(id)) return [];
  const base =
    as === 'owner' ? devices[id] : scopes.includes('admin') ? names : id.endsWith('-public') ? everyones : [];
  const named = scopes.filter((scope) => scope !== 'admin');
  return names.filter((name) => base?.includes(name) && (named.length === 0 || named.includes(name)));
}

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  for (const id of ids) {
    const [whose, visibility = 'private'] = id.split('-');
    const json = { id, visibility, sensors: [{ id: 's' }] };
    await server.call(whose === 'own' ? 'owner' : 'stranger', 'POST', '/devices', { json });
    const scopes = (devices[id] ?? []).filter((scope) => visibility === 'private' || !everyones.includes(scope));
    if (whose === 'shared') await server.call('stranger', 'PUT', `/devices/${id}/shares/owner`, { json: { scopes } });
  }
});
after(() => server.stop());

test('a key may exactly what the law says, at every door', async () => {
  const property = fc.asyncProperty(draft, async (made) => {
    const { as, ...rest } = made;
    // Only an admin makes a key that acts as one.
    const scopes = as === 'owner' ? rest.scopes?.filter((scope) => scope !== 'admin') : rest.scopes;
    if (scopes?.length === 0) return;
    const key = { as, ...rest, ...(scopes === undefined ? {} : { scopes }) };
    await check(key);
  });
  await fc.assert(property, properties({ factor: 0.5 }));
});

async function check(draftOfKey: Draft): Promise<void> {
  const { as, ...json } = draftOfKey;
  const { body, text } = await server.call(as, 'POST', '/auth/keys', { json: { name: 'k', ...json } });
  assert.ok(body.key !== undefined, text);
  const headers = { authorization: `Bearer ${body.key}` };
  const call = (method: string, path: string, carries: object = {}) =>
    server.send(method, `/api/v2${path}`, { headers, ...carries });
  const held = ids.map((id) => lawOf(draftOfKey, id));
  const permissions = await call('GET', '/auth/permissions/devices');
  const expected = ids.flatMap((resource, n) => (held[n]?.length ? [{ resource, scopes: held[n] }] : []));
  assert.deepEqual(permissions.body, expected);
  const list = await call('GET', '/devices');
  const listed = list.body.map(({ id }: { id: string }) => id);
  assert.deepEqual(
    listed,
    ids.filter((_, n) => held[n]?.includes('devices:view')),
  );
  for (const [n, id] of ids.entries()) {
    const doors = [
      ['GET', '', {}, 'devices:view', 200],
      ['GET', '/sensors/s/values', {}, 'devices-data:view', 200],
      ['POST', '/sensors/s/values', { json: [] }, 'devices-data:create', 204],
      ['PUT', '/name', { json: 'named' }, 'devices:update', 204],
    ] as const;
    for (const [method, path, carries, scope, status] of doors) {
      const answer = await call(method, `/devices/${id}${path}`, carries);
      assert.equal(answer.status, held[n]?.includes(scope) ? status : 403, `${method} ${path} of ${id}`);
    }
  }
  await server.call(as, 'DELETE', `/auth/keys/${body.id}`);
}
