// Devices that a share of a gateway or project reaches (contract 3): which, for how long, at which doors.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { EventStream } from '../../support/peers/event-stream.ts';
import { addUsers } from '../../support/people.ts';
import { deviceScopes, doorsOf, kinds, sharedRecords, withDevices } from '../../support/shared-records.ts';

const shared = sharedRecords();
const { device, share, unshare, heldBy } = shared;

suite('which devices a share reaches', () => {
  const readable = async (id: string) => (await shared.server.call('sharer', 'GET', `/devices/${id}`)).status === 200;

  test('those that come to the gateway later, until they leave it', async () => {
    await makeAll(shared.server, [
      share('gateway', ['device:view'], withDevices),
      device('owner', `${shared.d}-later`, { gateway_id: shared.g }),
      device('owner', `${shared.d}-moved`),
    ]);
    assert.deepEqual([await readable(`${shared.d}-later`), await readable(`${shared.d}-moved`)], [true, false]);
    await make(shared.server, {
      as: 'owner',
      call: `PUT /devices/${shared.d}-moved/gateway_id`,
      text: shared.g,
      expect: 204,
    });
    assert.ok(await readable(`${shared.d}-moved`));
    await make(shared.server, {
      as: 'owner',
      call: `PUT /devices/${shared.d}/gateway_id`,
      text: 'elsewhere',
      expect: 204,
    });
    assert.ok(!(await readable(shared.d)));
    await make(shared.server, { as: 'owner', call: `DELETE /gateways/${shared.g}`, expect: 204 });
    assert.deepEqual([await readable(`${shared.d}-later`), await readable(`${shared.d}-moved`)], [false, false]);
    // A gateway that is declared anew has none of the shares.
    await make(shared.server, { as: 'owner', call: 'POST /gateways', json: { id: shared.g }, expect: 200 });
    assert.ok(!(await readable(`${shared.d}-later`)));
  });

  test('those that the project names later, even before they exist, until it names them no more', async () => {
    await makeAll(shared.server, [
      share('project', ['device:view'], withDevices),
      { as: 'owner', call: `PUT /projects/${shared.p}/device_ids`, json: [shared.d, `${shared.d}-new`], expect: 204 },
      device('owner', `${shared.d}-new`),
    ]);
    assert.deepEqual([await readable(shared.d), await readable(`${shared.d}-new`)], [true, true]);
    await make(shared.server, {
      as: 'owner',
      call: `PUT /projects/${shared.p}/device_ids`,
      json: [`${shared.d}-new`],
      expect: 204,
    });
    assert.deepEqual([await readable(shared.d), await readable(`${shared.d}-new`)], [false, true]);
    await make(shared.server, { as: 'owner', call: `DELETE /projects/${shared.p}`, expect: 204 });
    assert.ok(!(await readable(`${shared.d}-new`)));
  });

  test('none of the devices of a gateway that the project names', async () => {
    await makeAll(shared.server, [
      { as: 'owner', call: `PUT /projects/${shared.p}/gateway_ids`, json: [shared.g], expect: 204 },
      { as: 'owner', call: `PUT /projects/${shared.p}/device_ids`, json: [], expect: 204 },
      share('project', ['device:view'], withDevices),
    ]);
    assert.ok(!(await readable(shared.d)));
  });

  test('none of strangers, whoever names them', async () => {
    const foreign = `${shared.d}-foreign`;
    await makeAll(shared.server, [
      device('stranger', foreign, { gateway_id: shared.g }),
      { as: 'owner', call: `PUT /projects/${shared.p}/device_ids`, json: [foreign, shared.d], expect: 204 },
      share('gateway', deviceScopes, withDevices),
      share('project', deviceScopes, withDevices),
    ]);
    assert.deepEqual(await heldBy('sharer', 'device', foreign), []);
    for (const [call, carries] of doorsOf(foreign))
      await make(shared.server, { as: 'sharer', call, ...carries, expect: 403 });
    // Nor do a gateway and a project of a stranger reach a device that names them.
    await makeAll(shared.server, [
      { as: 'stranger', call: 'POST /gateways', json: { id: `${shared.g}-foreign` }, expect: 200 },
      {
        ...{ as: 'stranger', call: `PUT /gateways/${shared.g}-foreign/shares/fourth`, expect: 204 },
        json: { scopes: deviceScopes, with_devices: true },
      },
      {
        as: 'stranger',
        call: 'POST /projects',
        json: { id: `${shared.p}-foreign`, device_ids: [shared.d] },
        expect: 200,
      },
      {
        ...{ as: 'stranger', call: `PUT /projects/${shared.p}-foreign/shares/fourth`, expect: 204 },
        json: { scopes: deviceScopes, with_devices: true },
      },
      { as: 'owner', call: `PUT /devices/${shared.d}/gateway_id`, text: `${shared.g}-foreign`, expect: 204 },
    ]);
    assert.deepEqual(await heldBy('fourth', 'device', shared.d), []);
    await make(shared.server, { as: 'fourth', call: `GET /devices/${shared.d}`, expect: 403 });
  });

  test('none any more when the device or the gateway is handed over', async () => {
    await makeAll(shared.server, [
      share('gateway', ['device:view', 'gateway:view'], withDevices),
      device('owner', `${shared.d}-two`, { gateway_id: shared.g }),
      { as: 'owner', call: `PUT /devices/${shared.d}/owner`, text: 'fourth', expect: 204 },
    ]);
    assert.deepEqual([await readable(shared.d), await readable(`${shared.d}-two`)], [false, true]);
    await make(shared.server, { as: 'owner', call: `PUT /gateways/${shared.g}/owner`, text: 'fourth', expect: 204 });
    // The devices and the gateway have one owner again; the shares of the former one have ended.
    assert.deepEqual([await readable(shared.d), await readable(`${shared.d}-two`)], [false, false]);
    await make(shared.server, { as: 'sharer', call: `GET /gateways/${shared.g}`, expect: 403 });
    assert.deepEqual(
      (await make(shared.server, { as: 'fourth', call: `GET /gateways/${shared.g}/shares`, expect: 200 })).body,
      [],
    );
  });

  test('those of the new owner, by a share that the new owner had given as an admin', async () => {
    await makeAll(shared.server, [
      device('admin', `${shared.d}-admins`, { gateway_id: shared.g }),
      share('gateway', ['device:view'], { as: 'admin', ...withDevices }),
    ]);
    assert.deepEqual([await readable(shared.d), await readable(`${shared.d}-admins`)], [true, false]);
    await make(shared.server, { as: 'owner', call: `PUT /gateways/${shared.g}/owner`, text: 'admin', expect: 204 });
    assert.deepEqual([await readable(shared.d), await readable(`${shared.d}-admins`)], [false, true]);
  });

  test('none when its owner or the sharer is removed', async () => {
    await addUsers(shared.server.folder, ['leaver', 'heir', 'guestly'], shared.server.clock);
    const ids = { gateway: `${shared.g}-leaver`, project: `${shared.p}-leaver`, device: `${shared.d}-leaver` };
    const reaching = { scopes: ['device:view', 'device-data:view'], with_devices: true };
    await makeAll(shared.server, [
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
      (await make(shared.server, { as: 'admin', call: `GET /users?username=${name}`, expect: 200 })).body[0].id;
    await make(shared.server, { as: 'admin', call: `DELETE /users/${await idOf('guestly')}`, expect: 204 });
    const listed = await make(shared.server, {
      as: 'leaver',
      call: `GET /gateways/${ids.gateway}/shares`,
      expect: 200,
    });
    assert.deepEqual(
      listed.body.map(({ username }: { username: string }) => username),
      ['sharer'],
    );
    const call = `DELETE /users/${await idOf('leaver')}?devices=transfer&to=heir`;
    await make(shared.server, { as: 'admin', call, expect: 204 });
    assert.ok(!(await readable(ids.device)));
    for (const kind of kinds) {
      const { body } = await make(shared.server, {
        as: 'heir',
        call: `GET /${kind}s/${ids[kind]}/shares`,
        expect: 200,
      });
      assert.deepEqual(body, []);
    }
  });
});

suite('who may bring a device under a share', () => {
  test('is its owner: whoever may change it, or a project, gains no rights of their own', async () => {
    await makeAll(shared.server, [
      device('owner', `${shared.d}-other`),
      {
        as: 'owner',
        call: `PUT /devices/${shared.d}-other/shares/sharer`,
        json: { scopes: ['device:update'] },
        expect: 204,
      },
      share('gateway', deviceScopes, withDevices),
      share('project', [...deviceScopes, 'project:update', 'project:view'], withDevices),
      { as: 'sharer', call: `PUT /devices/${shared.d}-other/gateway_id`, text: shared.g, expect: 403 },
      { as: 'sharer', version: 'v1', call: `PUT /sensors/${shared.d}-other/gateway_id`, text: shared.g, expect: 403 },
      {
        as: 'sharer',
        call: `PUT /projects/${shared.p}/device_ids`,
        json: [shared.d, `${shared.d}-other`],
        expect: 403,
      },
      { as: 'sharer', call: `PUT /projects/${shared.p}/device_ids`, json: [shared.d], expect: 204 },
      { as: 'sharer', call: `PUT /projects/${shared.p}/name`, text: 'Ours', expect: 204 },
      { as: 'sharer', call: `PUT /devices/${shared.d}/gateway_id`, text: shared.g, expect: 204 },
      { as: 'sharer', call: `DELETE /devices/${shared.d}-other`, expect: 403 },
      // Elsewhere they may bring it.
      { as: 'sharer', call: `PUT /devices/${shared.d}-other/gateway_id`, text: 'elsewhere', expect: 204 },
      unshare('project'),
      share('project', ['project:update']),
      {
        as: 'sharer',
        call: `PUT /projects/${shared.p}/device_ids`,
        json: [shared.d, `${shared.d}-other`],
        expect: 204,
      },
      { as: 'owner', call: `PUT /devices/${shared.d}-other/gateway_id`, text: shared.g, expect: 204 },
      { as: 'sharer', call: `GET /devices/${shared.d}-other`, expect: 200 },
    ]);
  });

  test('is no API key, which manages no shares either', async () => {
    const { body } = await make(shared.server, {
      as: 'owner',
      call: 'POST /auth/keys',
      json: { name: 'k' },
      expect: 200,
    });
    const headers = { authorization: `Bearer ${body.key}` };
    const byKey = (method: string, path: string, json?: unknown) =>
      shared.server.send(method, `/api/v2${path}`, { headers, ...(json === undefined ? {} : { json }) });
    await make(shared.server, share('project', ['device:view'], withDevices));
    await make(shared.server, share('gateway', ['device:view'], withDevices));
    await make(shared.server, device('owner', `${shared.d}-other`));
    for (const [method, path, json, status] of [
      ['GET', `/gateways/${shared.g}/shares`, undefined, 403],
      ['PUT', `/projects/${shared.p}/shares/stranger`, { scopes: ['project:view'] }, 403],
      ['DELETE', `/projects/${shared.p}/shares/sharer`, undefined, 403],
      ['PUT', `/projects/${shared.p}/device_ids`, [shared.d, `${shared.d}-other`], 403],
      ['PUT', `/devices/${shared.d}-other/gateway_id`, shared.g, 403],
      ['PUT', `/projects/${shared.p}/device_ids`, [shared.d], 204],
    ] as const) {
      assert.equal((await byKey(method, path, json)).status, status, `${method} ${path}`);
    }
  });
});

test('a key of who is shared with acts within the share, its scopes and its devices', async () => {
  await make(shared.server, device('owner', `${shared.d}-two`, { gateway_id: shared.g }));
  await make(shared.server, share('gateway', ['device:view', 'device-data:view', 'gateway:view'], withDevices));
  const keyOf = async (json: object) =>
    (await make(shared.server, { as: 'sharer', call: 'POST /auth/keys', json: { name: 'k', ...json }, expect: 200 }))
      .body.key;
  const statuses = async (key: string) =>
    Promise.all(
      [
        `/devices/${shared.d}`,
        `/devices/${shared.d}/sensors/s/values`,
        `/devices/${shared.d}-two`,
        `/gateways/${shared.g}`,
      ].map(
        async (path) =>
          (await shared.server.send('GET', `/api/v2${path}`, { headers: { authorization: `Bearer ${key}` } })).status,
      ),
    );
  const keys = [await keyOf({}), await keyOf({ devices: [shared.d] }), await keyOf({ scopes: ['devices-data:view'] })];
  const found = [];
  for (const key of keys) found.push(await statuses(key));
  assert.deepEqual(found, [
    [200, 200, 200, 200],
    [200, 200, 403, 403],
    [403, 200, 403, 403],
  ]);
  await make(shared.server, unshare('gateway'));
  for (const key of keys) assert.deepEqual(await statuses(key), [403, 403, 403, 403]);
});

suite('while values flow', () => {
  test('a subscriber gets them by the share, in every spelling, and none once it has ended', async () => {
    const client = await Client.connect(shared.server, 'sharer');
    await client.subscribe('#', 1);
    const push = (value: number) =>
      make(shared.server, {
        as: 'owner',
        call: `POST /devices/${shared.d}/sensors/s/value`,
        json: { value },
        expect: 204,
      });
    const values = async () => ((await takeAll(shared.server, client))[0] ?? []).map(({ payload }) => String(payload));
    await push(1);
    assert.deepEqual(await values(), []);
    for (const kind of kinds) {
      await make(shared.server, share(kind, ['device-data:view', 'device-data:create'], withDevices));
      await push(2);
      await client.publish(`devices/${shared.d}/sensors/s/value`, { value: 3 }, { qos: 1 });
      await client.publish(`devices/${shared.d}/actuators/a/value`, '4', { qos: 1 });
      assert.deepEqual(await values(), ['{"value":2}', '{"value":3}', '4']);
      await make(shared.server, share(kind, ['device:view'], withDevices));
      await push(5);
      await client.publish(`devices/${shared.d}/sensors/s/value`, { value: 6 }, { qos: 1 });
      assert.deepEqual(await values(), []);
      await make(shared.server, unshare(kind));
    }
    await client.end();
  });

  test('a live stream goes on by the share, and ends with it', async () => {
    await make(shared.server, share('project', ['device-data:view'], withDevices));
    const stream = await EventStream.open(shared.server, 'sharer', `/devices/${shared.d}/live`, {});
    const push = (value: unknown) =>
      make(shared.server, {
        as: 'owner',
        call: `POST /devices/${shared.d}/sensors/s/value`,
        json: { value },
        expect: 204,
      });
    await push('first');
    assert.deepEqual(await stream.values(1), ['first']);
    await make(shared.server, unshare('project'));
    await push('secret');
    assert.match(await stream.reason(), /devices-data:view/);
    stream.close();
  });

  test('a rule of who is shared with fires by the share, and not once it has ended', async () => {
    const rule = {
      name: 'n',
      condition: { devices: [shared.d], sensors: ['s'], expression: 's > 10' },
      action: { usernames: ['sharer'], channels: ['none'], message: '{s}' },
    };
    await make(shared.server, share('gateway', ['device-data:view'], withDevices));
    const { body: id } = await make(shared.server, {
      ...{ as: 'sharer', call: 'POST /notifications', json: rule, expect: 200 },
      headers: { accept: 'application/json' },
    });
    const push = (value: number) =>
      make(shared.server, {
        as: 'owner',
        call: `POST /devices/${shared.d}/sensors/s/value`,
        json: { value },
        expect: 204,
      });
    const fired = async () => {
      await shared.server.running.idle();
      return (await make(shared.server, { as: 'sharer', call: `GET /notifications/${id}`, expect: 200 })).body
        .times_sent;
    };
    await push(11);
    assert.equal(await fired(), 1);
    await make(shared.server, unshare('gateway'));
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
    await makeAll(shared.server, [
      { as: 'fourth', call: 'POST /gateways', json: { id: `${shared.g}-fourth` }, expect: 200 },
      { as: 'fourth', call: 'POST /projects', json: { id: `${shared.p}-fourth` }, expect: 200 },
    ]);
    const put = (path: string, user: string, scopes: readonly string[], expect: number) => {
      const reaching = scopes.some((scope) => scope.startsWith('device'));
      const json = { scopes, with_devices: reaching };
      return { as: 'fourth', call: `PUT ${path}/shares/${user}`, json, expect };
    };
    const [gateway, project] = [`/gateways/${shared.g}-fourth`, `/projects/${shared.p}-fourth`];
    await makeAll(shared.server, [
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
