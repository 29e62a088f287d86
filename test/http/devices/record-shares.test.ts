// Sharing gateways and projects, with or without their devices (contract 3).
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { EventStream } from '../../support/peers/event-stream.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const deviceScopes = ['device:view', 'device:update', 'device:delete', 'device-data:view', 'device-data:create'];
const kinds = ['gateway', 'project'] as const;
type Kind = (typeof kinds)[number];

let server: TestServer;
let runs = 0;
/** Ids of this test: a gateway, a project, and devices of both; `d` and its gateway belong to `owner`. */
let [g, p, d] = ['', '', ''];

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['fourth'], server.clock);
});
after(() => server.stop());

beforeEach(async () => {
  runs += 1;
  [g, p, d] = [`g-${runs}`, `p-${runs}`, `d-${runs}`];
  await makeAll(server, [
    { as: 'owner', call: 'POST /gateways', json: { id: g, name: 'Roof' }, expect: 200 },
    { as: 'owner', call: 'POST /projects', json: { id: p, name: 'Onions', device_ids: [d] }, expect: 200 },
    device('owner', d, { gateway_id: g }),
  ]);
});

function device(as: string, id: string, more: object = {}) {
  const parts = { sensors: [{ id: 's' }], actuators: [{ id: 'a' }] };
  return { as, call: 'POST /devices', json: { id, ...parts, ...more }, expect: 204 };
}
const pathOf = (kind: Kind) => `/${kind}s/${kind === 'gateway' ? g : p}`;
function share(kind: Kind, scopes: readonly string[], more: object = {}) {
  const { as = 'owner', user = 'sharer', expect = 204, ...body } = more as Record<string, never>;
  return { as, call: `PUT ${pathOf(kind)}/shares/${user}`, json: { scopes, ...body }, expect };
}
const withDevices = { with_devices: true };
const unshare = (kind: Kind) => ({ as: 'owner', call: `DELETE ${pathOf(kind)}/shares/sharer`, expect: 204 });

/** What the user holds on a record, as the query for permissions says. */
async function heldBy(as: string, kind: string, id: string): Promise<readonly string[]> {
  const { body } = await make(server, { as, call: `GET /auth/permissions/${kind}s`, expect: 200 });
  return body.find(({ resource }: { resource: string }) => resource === id)?.scopes ?? [];
}

for (const kind of kinds) {
  suite(`a share of a ${kind}`, () => {
    test('is given, listed and ended by its owner and admins alone', async () => {
      const path = pathOf(kind);
      await makeAll(server, [
        ...['guest', 'stranger', 'sharer'].flatMap((as) => [
          { as, call: `GET ${path}/shares`, expect: 403 },
          share(kind, [`${kind}:view`], { as, user: 'stranger', expect: 403 }),
          { as, call: `DELETE ${path}/shares/sharer`, expect: 403 },
        ]),
        share(kind, [`${kind}s:update`, `${kind}:view`]),
        share(kind, [`${kind}:delete`], { as: 'admin', user: 'fourth' }),
        { as: 'sharer', call: `GET ${path}/shares`, expect: 403 },
        { as: 'sharer', call: `DELETE ${path}/shares/fourth`, expect: 403 },
        share(kind, [`${kind}:delete`], { as: 'sharer', expect: 403 }),
      ]);
      for (const as of ['owner', 'admin']) {
        const { body, headers } = await make(server, { as, call: `GET ${path}/shares`, expect: 200 });
        assert.deepEqual(body, [
          { username: 'fourth', scopes: [`${kind}:delete`], with_devices: false },
          { username: 'sharer', scopes: [`${kind}:view`, `${kind}:update`], with_devices: false },
        ]);
        assert.equal(headers['x-total-count'], '2');
      }
      await makeAll(server, [
        share(kind, []),
        { as: 'owner', call: `DELETE ${path}/shares/sharer`, expect: 204 },
        { as: 'admin', call: `DELETE ${path}/shares/fourth`, expect: 204 },
        { as: 'owner', call: `GET /${kind}s/nowhere/shares`, expect: 404 },
        { as: 'owner', call: `PUT /${kind}s/nowhere/shares/sharer`, json: { scopes: [] }, expect: 404 },
      ]);
      assert.deepEqual((await make(server, { as: 'owner', call: `GET ${path}/shares`, expect: 200 })).body, []);
    });

    test('is refused where it makes no sense', async () => {
      await makeAll(server, [
        share(kind, [`${kind}:view`], { user: 'nobody', expect: 404 }),
        share(kind, [`${kind}:view`], { user: 'guest', expect: 400 }),
        share(kind, ['device:view'], { expect: 400 }),
        share(kind, [`${kind}:view`, 'device:view'], { expect: 400, with_devices: false }),
        share(kind, [`${kind}:view`], { expect: 400, with_devices: true }),
        share(kind, [`${kind}:view`], { expect: 400, with_devices: 'true' }),
        share(kind, [kind === 'gateway' ? 'project:view' : 'gateway:view'], { expect: 400 }),
        share(kind, [`${kind}:fly`], { expect: 400 }),
        share(kind, Array(11).fill(`${kind}:view`), { expect: 400 }),
        { as: 'owner', call: `PUT ${pathOf(kind)}/shares/sharer`, json: {}, expect: 400 },
      ]);
      const { body } = await make(server, share(kind, ['device:view'], { expect: 400 }));
      assert.deepEqual(body.errors[0].pointer, '/scopes/0');
      assert.match(body.detail, /with_devices/);
    });

    test('gives exactly its scopes, on the record alone', async () => {
      const path = pathOf(kind);
      for (const [scope, call, carries] of [
        ['view', `GET ${path}`, {}],
        ['update', `PUT ${path}/name`, { text: 'ours' }],
        ['delete', `DELETE ${path}`, {}],
      ] as const) {
        const others = ['view', 'update', 'delete'].filter((one) => one !== scope).map((one) => `${kind}:${one}`);
        await makeAll(server, [
          share(kind, others),
          { as: 'sharer', call, ...carries, expect: 403 },
          share(kind, [`${kind}:${scope}`]),
          { as: 'stranger', call, ...carries, expect: 403 },
          { as: 'sharer', call: `GET /devices/${d}`, expect: 403 },
        ]);
        assert.deepEqual(await heldBy('sharer', kind, path.split('/')[2] as string), [`${kind}s:${scope}`]);
        const { body } = await make(server, { as: 'sharer', call: `GET /${kind}s`, expect: 200 });
        const isListed = body.some(({ id }: { id: string }) => path.endsWith(`/${id}`));
        assert.equal(isListed, scope === 'view');
        await make(server, { as: 'sharer', call, ...carries, expect: scope === 'view' ? 200 : 204 });
      }
    });

    test('with devices gives exactly its scopes at every door, and ends at once', async () => {
      const doors = doorsOf(d);
      for (const scope of deviceScopes) {
        await make(server, share(kind, [scope], withDevices));
        const plural = scope.replace('device', 'devices');
        assert.deepEqual(await heldBy('sharer', 'device', d), [plural]);
        for (const [call, carries, needed, status] of doors) {
          const isHeld = needed.includes(plural);
          await make(server, { as: 'sharer', call, ...carries, expect: isHeld ? status : 403 });
          await make(server, { as: 'stranger', call, ...carries, expect: 403 });
        }
      }
      await makeAll(server, [
        unshare(kind),
        ...doors.map(([call, carries]) => ({ as: 'sharer', call, ...carries, expect: 403 })),
        share(kind, ['device:view', 'device:delete', `${kind}:view`], withDevices),
        { as: 'sharer', call: `DELETE /devices/${d}`, expect: 204 },
      ]);
    });

    test('adds to what the device itself shares, and to other shares of its owner', async () => {
      const other = kind === 'gateway' ? 'project' : 'gateway';
      await makeAll(server, [
        { as: 'owner', call: `PUT /devices/${d}/shares/sharer`, json: { scopes: ['device:view'] }, expect: 204 },
        share(kind, ['device-data:view'], withDevices),
        share(other, ['device-data:create', 'device:view'], withDevices),
      ]);
      assert.deepEqual(await heldBy('sharer', 'device', d), [
        'devices:view',
        'devices-data:view',
        'devices-data:create',
      ]);
      // The device's own list has its own shares alone.
      const { body } = await make(server, { as: 'owner', call: `GET /devices/${d}/shares`, expect: 200 });
      assert.deepEqual(body, [{ username: 'sharer', scopes: ['device:view'] }]);
      await make(server, unshare(kind));
      assert.deepEqual(await heldBy('sharer', 'device', d), ['devices:view', 'devices-data:create']);
      await make(server, { as: 'sharer', call: `GET /devices/${d}/sensors/s/values`, expect: 403 });
    });

    test('finds its devices in lists, filters and searches, and outlives a restart', async () => {
      await make(server, share(kind, ['device:view'], withDevices));
      await server.restart();
      for (const query of [`?q=id==${d}`, `?q=gateway_id==${g}`, `?shared=true&q=id==${d}`]) {
        const { body } = await make(server, { as: 'sharer', call: `GET /devices${query}`, expect: 200 });
        assert.deepEqual(
          body.map(({ id }: { id: string }) => id),
          [d],
          query,
        );
        const none = await make(server, { as: 'stranger', call: `GET /devices${query}`, expect: 200 });
        assert.deepEqual(none.body, []);
      }
      const countOf = async () =>
        Number((await make(server, { as: 'sharer', call: 'GET /devices', expect: 200 })).headers['x-total-count']);
      const count = await countOf();
      await make(server, unshare(kind));
      assert.equal(await countOf(), count - 1);
    });

    test('is explained with the record that is shared, and listed for both sides', async () => {
      await make(server, share(kind, ['device:view', `${kind}:view`], { as: 'admin', ...withDevices }));
      const id = kind === 'gateway' ? g : p;
      const { body } = await make(server, {
        ...{ as: 'sharer', call: `GET /devices/${d}/permissions/explain`, expect: 200 },
      });
      assert.deepEqual(body.scopes[0], {
        scope: 'devices:view',
        held: true,
        from: [{ reason: 'share', by: 'admin', [kind]: id }],
      });
      assert.match(body.detail, new RegExp(`admin gave by a share of ${kind} ${id}`));
      const row = {
        [kind]: id,
        name: kind === 'gateway' ? 'Roof' : 'Onions',
        ...{ owner: 'owner', username: 'sharer', scopes: ['device:view', `${kind}:view`] },
        ...{ with_devices: true, given_by: 'admin' },
      };
      for (const [as, direction, rows] of [
        ['sharer', 'with-me', [row]],
        ['owner', 'by-me', [row]],
        ['stranger', 'with-me', []],
        ['stranger', 'by-me', []],
        ['guest', 'by-me', []],
      ] as const) {
        const call = `GET /auth/shares?kind=${kind}&direction=${direction}`;
        const list = await make(server, { as, call, expect: 200 });
        const ours = list.body.filter((one: Record<string, string>) => one[kind] === id);
        assert.deepEqual(ours, rows, `${as} ${direction}`);
      }
      await make(server, { as: 'owner', call: 'GET /auth/shares?kind=user', expect: 400 });
      await make(server, unshare(kind));
    });
  });
}

interface DoorCarries {
  readonly version?: 'v1';
  readonly json?: unknown;
  readonly text?: string;
}

/** Doors that tell by their status who may, each with what it needs. Pushes and settings do not depend on the order. */
function doorsOf(id: string) {
  const path = `/devices/${id}`;
  const older = `/sensors/${id}`;
  const version = 'v1';
  const [view, update, data, create] = ['devices:view', 'devices:update', 'devices-data:view', 'devices-data:create'];
  return [
    [`GET ${path}`, {}, [view], 200],
    [`GET ${older}`, { version }, [view], 200],
    [`GET ${path}/sensors/s/values`, {}, [data], 200],
    [`GET ${path}/sensors/s/values?format=csv`, {}, [data], 200],
    [`GET ${older}/measurements/s/values`, { version }, [data], 200],
    [`GET /sensors_data?device_id=${id}&sensor_id=s`, {}, [data], 200],
    [`POST ${path}/sensors/s/value`, { json: { value: 1 } }, [create], 204],
    [`POST ${path}/sensors/s/values`, { json: [{ value: 1 }] }, [create], 204],
    [`POST ${older}/measurements/s/values`, { version, json: { value: 1 } }, [create], 200],
    [`PUT ${path}/actuators/a/value`, { json: 1 }, [create, update], 204],
    [`PUT ${path}/name`, { text: 'named' }, [update], 204],
    [`PUT ${older}/name`, { version, text: 'named' }, [update], 200],
  ] as readonly (readonly [string, DoorCarries, readonly (string | undefined)[], number])[];
}

suite('which devices a share reaches', () => {
  const readable = async (id: string) => (await server.call('sharer', 'GET', `/devices/${id}`)).status === 200;

  test('those that come to the gateway later, until they leave it', async () => {
    await makeAll(server, [
      share('gateway', ['device:view'], withDevices),
      device('owner', `${d}-later`, { gateway_id: g }),
      device('owner', `${d}-moved`),
    ]);
    assert.deepEqual([await readable(`${d}-later`), await readable(`${d}-moved`)], [true, false]);
    await make(server, { as: 'owner', call: `PUT /devices/${d}-moved/gateway_id`, text: g, expect: 204 });
    assert.ok(await readable(`${d}-moved`));
    await make(server, { as: 'owner', call: `PUT /devices/${d}/gateway_id`, text: 'elsewhere', expect: 204 });
    assert.ok(!(await readable(d)));
    await make(server, { as: 'owner', call: `DELETE /gateways/${g}`, expect: 204 });
    assert.deepEqual([await readable(`${d}-later`), await readable(`${d}-moved`)], [false, false]);
    // A gateway that is declared anew has none of the shares.
    await make(server, { as: 'owner', call: 'POST /gateways', json: { id: g }, expect: 200 });
    assert.ok(!(await readable(`${d}-later`)));
  });

  test('those that the project names later, even before they exist, until it names them no more', async () => {
    await makeAll(server, [
      share('project', ['device:view'], withDevices),
      { as: 'owner', call: `PUT /projects/${p}/device_ids`, json: [d, `${d}-new`], expect: 204 },
      device('owner', `${d}-new`),
    ]);
    assert.deepEqual([await readable(d), await readable(`${d}-new`)], [true, true]);
    await make(server, { as: 'owner', call: `PUT /projects/${p}/device_ids`, json: [`${d}-new`], expect: 204 });
    assert.deepEqual([await readable(d), await readable(`${d}-new`)], [false, true]);
    await make(server, { as: 'owner', call: `DELETE /projects/${p}`, expect: 204 });
    assert.ok(!(await readable(`${d}-new`)));
  });

  test('none of the devices of a gateway that the project names', async () => {
    await makeAll(server, [
      { as: 'owner', call: `PUT /projects/${p}/gateway_ids`, json: [g], expect: 204 },
      { as: 'owner', call: `PUT /projects/${p}/device_ids`, json: [], expect: 204 },
      share('project', ['device:view'], withDevices),
    ]);
    assert.ok(!(await readable(d)));
  });

  test('none of strangers, whoever names them', async () => {
    const foreign = `${d}-foreign`;
    await makeAll(server, [
      device('stranger', foreign, { gateway_id: g }),
      { as: 'owner', call: `PUT /projects/${p}/device_ids`, json: [foreign, d], expect: 204 },
      share('gateway', deviceScopes, withDevices),
      share('project', deviceScopes, withDevices),
    ]);
    assert.deepEqual(await heldBy('sharer', 'device', foreign), []);
    for (const [call, carries] of doorsOf(foreign)) await make(server, { as: 'sharer', call, ...carries, expect: 403 });
    // Nor do a gateway and a project of a stranger reach a device that names them.
    await makeAll(server, [
      { as: 'stranger', call: 'POST /gateways', json: { id: `${g}-foreign` }, expect: 200 },
      {
        ...{ as: 'stranger', call: `PUT /gateways/${g}-foreign/shares/fourth`, expect: 204 },
        json: { scopes: deviceScopes, with_devices: true },
      },
      { as: 'stranger', call: 'POST /projects', json: { id: `${p}-foreign`, device_ids: [d] }, expect: 200 },
      {
        ...{ as: 'stranger', call: `PUT /projects/${p}-foreign/shares/fourth`, expect: 204 },
        json: { scopes: deviceScopes, with_devices: true },
      },
      { as: 'owner', call: `PUT /devices/${d}/gateway_id`, text: `${g}-foreign`, expect: 204 },
    ]);
    assert.deepEqual(await heldBy('fourth', 'device', d), []);
    await make(server, { as: 'fourth', call: `GET /devices/${d}`, expect: 403 });
  });

  test('none any more when the device or the gateway is handed over', async () => {
    await makeAll(server, [
      share('gateway', ['device:view', 'gateway:view'], withDevices),
      device('owner', `${d}-two`, { gateway_id: g }),
      { as: 'owner', call: `PUT /devices/${d}/owner`, text: 'fourth', expect: 204 },
    ]);
    assert.deepEqual([await readable(d), await readable(`${d}-two`)], [false, true]);
    await make(server, { as: 'owner', call: `PUT /gateways/${g}/owner`, text: 'fourth', expect: 204 });
    // The devices and the gateway have one owner again; the shares of the former one have ended.
    assert.deepEqual([await readable(d), await readable(`${d}-two`)], [false, false]);
    await make(server, { as: 'sharer', call: `GET /gateways/${g}`, expect: 403 });
    assert.deepEqual((await make(server, { as: 'fourth', call: `GET /gateways/${g}/shares`, expect: 200 })).body, []);
  });

  test('those of the new owner, by a share that the new owner had given as an admin', async () => {
    await makeAll(server, [
      device('admin', `${d}-admins`, { gateway_id: g }),
      share('gateway', ['device:view'], { as: 'admin', ...withDevices }),
    ]);
    assert.deepEqual([await readable(d), await readable(`${d}-admins`)], [true, false]);
    await make(server, { as: 'owner', call: `PUT /gateways/${g}/owner`, text: 'admin', expect: 204 });
    assert.deepEqual([await readable(d), await readable(`${d}-admins`)], [false, true]);
  });

  test('none when its owner or the sharer is removed', async () => {
    await addUsers(server.folder, ['leaver', 'heir', 'guestly'], server.clock);
    const ids = { gateway: `${g}-leaver`, project: `${p}-leaver`, device: `${d}-leaver` };
    const reaching = { scopes: ['device:view', 'device-data:view'], with_devices: true };
    await makeAll(server, [
      { as: 'leaver', call: 'POST /gateways', json: { id: ids.gateway }, expect: 200 },
      { as: 'leaver', call: 'POST /projects', json: { id: ids.project, device_ids: [ids.device] }, expect: 200 },
      device('leaver', ids.device, { gateway_id: ids.gateway }),
      ...kinds.flatMap((kind) =>
        ['sharer', 'guestly'].map((user) => ({
          ...{ as: 'leaver', call: `PUT /${kind}s/${ids[kind]}/shares/${user}`, json: reaching, expect: 204 },
        })),
      ),
    ]);
    assert.ok(await readable(ids.device));
    const idOf = async (name: string) =>
      (await make(server, { as: 'admin', call: `GET /users?username=${name}`, expect: 200 })).body[0].id;
    await make(server, { as: 'admin', call: `DELETE /users/${await idOf('guestly')}`, expect: 204 });
    const listed = await make(server, { as: 'leaver', call: `GET /gateways/${ids.gateway}/shares`, expect: 200 });
    assert.deepEqual(
      listed.body.map(({ username }: { username: string }) => username),
      ['sharer'],
    );
    const call = `DELETE /users/${await idOf('leaver')}?devices=transfer&to=heir`;
    await make(server, { as: 'admin', call, expect: 204 });
    assert.ok(!(await readable(ids.device)));
    for (const kind of kinds) {
      const { body } = await make(server, { as: 'heir', call: `GET /${kind}s/${ids[kind]}/shares`, expect: 200 });
      assert.deepEqual(body, []);
    }
  });
});

suite('who may bring a device under a share', () => {
  test('is its owner: whoever may change it, or a project, gains no rights of their own', async () => {
    await makeAll(server, [
      device('owner', `${d}-other`),
      { as: 'owner', call: `PUT /devices/${d}-other/shares/sharer`, json: { scopes: ['device:update'] }, expect: 204 },
      share('gateway', deviceScopes, withDevices),
      share('project', [...deviceScopes, 'project:update', 'project:view'], withDevices),
      { as: 'sharer', call: `PUT /devices/${d}-other/gateway_id`, text: g, expect: 403 },
      { as: 'sharer', version: 'v1', call: `PUT /sensors/${d}-other/gateway_id`, text: g, expect: 403 },
      { as: 'sharer', call: `PUT /projects/${p}/device_ids`, json: [d, `${d}-other`], expect: 403 },
      { as: 'sharer', call: `PUT /projects/${p}/device_ids`, json: [d], expect: 204 },
      { as: 'sharer', call: `PUT /projects/${p}/name`, text: 'Ours', expect: 204 },
      { as: 'sharer', call: `PUT /devices/${d}/gateway_id`, text: g, expect: 204 },
      { as: 'sharer', call: `DELETE /devices/${d}-other`, expect: 403 },
      // Elsewhere they may bring it.
      { as: 'sharer', call: `PUT /devices/${d}-other/gateway_id`, text: 'elsewhere', expect: 204 },
      unshare('project'),
      share('project', ['project:update']),
      { as: 'sharer', call: `PUT /projects/${p}/device_ids`, json: [d, `${d}-other`], expect: 204 },
      { as: 'owner', call: `PUT /devices/${d}-other/gateway_id`, text: g, expect: 204 },
      { as: 'sharer', call: `GET /devices/${d}-other`, expect: 200 },
    ]);
  });

  test('is no API key, which manages no shares either', async () => {
    const { body } = await make(server, { as: 'owner', call: 'POST /auth/keys', json: { name: 'k' }, expect: 200 });
    const headers = { authorization: `Bearer ${body.key}` };
    const byKey = (method: string, path: string, json?: unknown) =>
      server.send(method, `/api/v2${path}`, { headers, ...(json === undefined ? {} : { json }) });
    await make(server, share('project', ['device:view'], withDevices));
    await make(server, share('gateway', ['device:view'], withDevices));
    await make(server, device('owner', `${d}-other`));
    for (const [method, path, json, status] of [
      ['GET', `/gateways/${g}/shares`, undefined, 403],
      ['PUT', `/projects/${p}/shares/stranger`, { scopes: ['project:view'] }, 403],
      ['DELETE', `/projects/${p}/shares/sharer`, undefined, 403],
      ['PUT', `/projects/${p}/device_ids`, [d, `${d}-other`], 403],
      ['PUT', `/devices/${d}-other/gateway_id`, g, 403],
      ['PUT', `/projects/${p}/device_ids`, [d], 204],
    ] as const) {
      assert.equal((await byKey(method, path, json)).status, status, `${method} ${path}`);
    }
  });
});

test('a key of who is shared with acts within the share, its scopes and its devices', async () => {
  await make(server, device('owner', `${d}-two`, { gateway_id: g }));
  await make(server, share('gateway', ['device:view', 'device-data:view', 'gateway:view'], withDevices));
  const keyOf = async (json: object) =>
    (await make(server, { as: 'sharer', call: 'POST /auth/keys', json: { name: 'k', ...json }, expect: 200 })).body.key;
  const statuses = async (key: string) =>
    Promise.all(
      [`/devices/${d}`, `/devices/${d}/sensors/s/values`, `/devices/${d}-two`, `/gateways/${g}`].map(
        async (path) =>
          (await server.send('GET', `/api/v2${path}`, { headers: { authorization: `Bearer ${key}` } })).status,
      ),
    );
  const keys = [await keyOf({}), await keyOf({ devices: [d] }), await keyOf({ scopes: ['devices-data:view'] })];
  const found = [];
  for (const key of keys) found.push(await statuses(key));
  assert.deepEqual(found, [
    [200, 200, 200, 200],
    [200, 200, 403, 403],
    [403, 200, 403, 403],
  ]);
  await make(server, unshare('gateway'));
  for (const key of keys) assert.deepEqual(await statuses(key), [403, 403, 403, 403]);
});

suite('while values flow', () => {
  test('a subscriber gets them by the share, in every spelling, and none once it has ended', async () => {
    const client = await Client.connect(server, 'sharer');
    await client.subscribe('#', 1);
    const push = (value: number) =>
      make(server, { as: 'owner', call: `POST /devices/${d}/sensors/s/value`, json: { value }, expect: 204 });
    const values = async () => ((await takeAll(server, client))[0] ?? []).map(({ payload }) => String(payload));
    await push(1);
    assert.deepEqual(await values(), []);
    for (const kind of kinds) {
      await make(server, share(kind, ['device-data:view', 'device-data:create'], withDevices));
      await push(2);
      await client.publish(`devices/${d}/sensors/s/value`, { value: 3 }, { qos: 1 });
      await client.publish(`devices/${d}/actuators/a/value`, '4', { qos: 1 });
      assert.deepEqual(await values(), ['{"value":2}', '{"value":3}', '4']);
      await make(server, share(kind, ['device:view'], withDevices));
      await push(5);
      await client.publish(`devices/${d}/sensors/s/value`, { value: 6 }, { qos: 1 });
      assert.deepEqual(await values(), []);
      await make(server, unshare(kind));
    }
    await client.end();
  });

  test('a live stream goes on by the share, and ends with it', async () => {
    await make(server, share('project', ['device-data:view'], withDevices));
    const stream = await EventStream.open(server, 'sharer', `/devices/${d}/live`, {});
    const push = (value: unknown) =>
      make(server, { as: 'owner', call: `POST /devices/${d}/sensors/s/value`, json: { value }, expect: 204 });
    await push('first');
    assert.deepEqual(await stream.values(1), ['first']);
    await make(server, unshare('project'));
    await push('secret');
    assert.match(await stream.reason(), /devices-data:view/);
    stream.close();
  });

  test('a rule of who is shared with fires by the share, and not once it has ended', async () => {
    const rule = {
      name: 'n',
      condition: { devices: [d], sensors: ['s'], expression: 's > 10' },
      action: { usernames: ['sharer'], channels: ['none'], message: '{s}' },
    };
    await make(server, share('gateway', ['device-data:view'], withDevices));
    const { body: id } = await make(server, {
      ...{ as: 'sharer', call: 'POST /notifications', json: rule, expect: 200 },
      headers: { accept: 'application/json' },
    });
    const push = (value: number) =>
      make(server, { as: 'owner', call: `POST /devices/${d}/sensors/s/value`, json: { value }, expect: 204 });
    const fired = async () => {
      await server.running.idle();
      return (await make(server, { as: 'sharer', call: `GET /notifications/${id}`, expect: 200 })).body.times_sent;
    };
    await push(11);
    assert.equal(await fired(), 1);
    await make(server, unshare('gateway'));
    await push(1);
    await push(12);
    assert.equal(await fired(), 1);
  });
});

test('an owner has no more shares with devices than a device can take in', async () => {
  const { limits } = await import('../../../src/config/limits.ts');
  const reachingSharesMax = limits.reachingSharesMax;
  Object.assign(limits, { reachingSharesMax: 1 });
  try {
    await makeAll(server, [
      { as: 'fourth', call: 'POST /gateways', json: { id: `${g}-fourth` }, expect: 200 },
      { as: 'fourth', call: 'POST /projects', json: { id: `${p}-fourth` }, expect: 200 },
    ]);
    const put = (path: string, user: string, scopes: readonly string[], expect: number) => {
      const reaching = scopes.some((scope) => scope.startsWith('device'));
      const json = { scopes, with_devices: reaching };
      return { as: 'fourth', call: `PUT ${path}/shares/${user}`, json, expect };
    };
    const [gateway, project] = [`/gateways/${g}-fourth`, `/projects/${p}-fourth`];
    await makeAll(server, [
      put(gateway, 'sharer', ['device:view'], 204),
      put(gateway, 'sharer', ['device:update'], 204),
      put(gateway, 'stranger', ['device:view'], 403),
      put(project, 'sharer', ['device:view'], 403),
      put(project, 'sharer', ['project:view'], 204),
      put(gateway, 'sharer', ['gateway:view'], 204),
      put(project, 'sharer', ['device:view'], 204),
    ]);
  } finally {
    Object.assign(limits, { reachingSharesMax });
  }
});
