// Sharing gateways and projects, with or without their devices (contract 3).
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { deviceScopes, doorsOf, kinds, sharedRecords, withDevices } from '../../support/shared-records.ts';

const shared = sharedRecords();
const { share, pathOf, unshare, heldBy } = shared;

for (const kind of kinds) {
  suite(`a share of a ${kind}`, () => {
    test('is given, listed and ended by its owner and admins alone', async () => {
      const path = pathOf(kind);
      await makeAll(shared.server, [
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
        const { body, headers } = await make(shared.server, { as, call: `GET ${path}/shares`, expect: 200 });
        assert.deepEqual(body, [
          { username: 'fourth', scopes: [`${kind}:delete`], with_devices: false },
          { username: 'sharer', scopes: [`${kind}:view`, `${kind}:update`], with_devices: false },
        ]);
        assert.equal(headers['x-total-count'], '2');
      }
      await makeAll(shared.server, [
        share(kind, []),
        { as: 'owner', call: `DELETE ${path}/shares/sharer`, expect: 204 },
        { as: 'admin', call: `DELETE ${path}/shares/fourth`, expect: 204 },
        { as: 'owner', call: `GET /${kind}s/nowhere/shares`, expect: 404 },
        { as: 'owner', call: `PUT /${kind}s/nowhere/shares/sharer`, json: { scopes: [] }, expect: 404 },
      ]);
      assert.deepEqual((await make(shared.server, { as: 'owner', call: `GET ${path}/shares`, expect: 200 })).body, []);
    });

    test('is refused where it makes no sense', async () => {
      await makeAll(shared.server, [
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
      const { body } = await make(shared.server, share(kind, ['device:view'], { expect: 400 }));
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
        await makeAll(shared.server, [
          share(kind, others),
          { as: 'sharer', call, ...carries, expect: 403 },
          share(kind, [`${kind}:${scope}`]),
          { as: 'stranger', call, ...carries, expect: 403 },
          { as: 'sharer', call: `GET /devices/${shared.d}`, expect: 403 },
        ]);
        assert.deepEqual(await heldBy('sharer', kind, path.split('/')[2] as string), [`${kind}s:${scope}`]);
        const { body } = await make(shared.server, { as: 'sharer', call: `GET /${kind}s`, expect: 200 });
        const isListed = body.some(({ id }: { id: string }) => path.endsWith(`/${id}`));
        assert.equal(isListed, scope === 'view');
        await make(shared.server, { as: 'sharer', call, ...carries, expect: scope === 'view' ? 200 : 204 });
      }
    });

    test('with devices gives exactly its scopes at every door, and ends at once', async () => {
      const doors = doorsOf(shared.d);
      for (const scope of deviceScopes) {
        await make(shared.server, share(kind, [scope], withDevices));
        const plural = scope.replace('device', 'devices');
        assert.deepEqual(await heldBy('sharer', 'device', shared.d), [plural]);
        for (const [call, carries, needed, status] of doors) {
          const isHeld = needed.includes(plural);
          await make(shared.server, { as: 'sharer', call, ...carries, expect: isHeld ? status : 403 });
          await make(shared.server, { as: 'stranger', call, ...carries, expect: 403 });
        }
      }
      await makeAll(shared.server, [
        unshare(kind),
        ...doors.map(([call, carries]) => ({ as: 'sharer', call, ...carries, expect: 403 })),
        share(kind, ['device:view', 'device:delete', `${kind}:view`], withDevices),
        { as: 'sharer', call: `DELETE /devices/${shared.d}`, expect: 204 },
      ]);
    });

    test('adds to what the device itself shares, and to other shares of its owner', async () => {
      const other = kind === 'gateway' ? 'project' : 'gateway';
      await makeAll(shared.server, [
        { as: 'owner', call: `PUT /devices/${shared.d}/shares/sharer`, json: { scopes: ['device:view'] }, expect: 204 },
        share(kind, ['device-data:view'], withDevices),
        share(other, ['device-data:create', 'device:view'], withDevices),
      ]);
      assert.deepEqual(await heldBy('sharer', 'device', shared.d), [
        'devices:view',
        'devices-data:view',
        'devices-data:create',
      ]);
      // The device's own list has its own shares alone.
      const { body } = await make(shared.server, { as: 'owner', call: `GET /devices/${shared.d}/shares`, expect: 200 });
      assert.deepEqual(body, [{ username: 'sharer', scopes: ['device:view'] }]);
      await make(shared.server, unshare(kind));
      assert.deepEqual(await heldBy('sharer', 'device', shared.d), ['devices:view', 'devices-data:create']);
      await make(shared.server, { as: 'sharer', call: `GET /devices/${shared.d}/sensors/s/values`, expect: 403 });
    });

    test('finds its devices in lists, filters and searches, and outlives a restart', async () => {
      await make(shared.server, share(kind, ['device:view'], withDevices));
      await shared.server.restart();
      for (const query of [`?q=id==${shared.d}`, `?q=gateway_id==${shared.g}`, `?shared=true&q=id==${shared.d}`]) {
        const { body } = await make(shared.server, { as: 'sharer', call: `GET /devices${query}`, expect: 200 });
        assert.deepEqual(
          body.map(({ id }: { id: string }) => id),
          [shared.d],
          query,
        );
        const none = await make(shared.server, { as: 'stranger', call: `GET /devices${query}`, expect: 200 });
        assert.deepEqual(none.body, []);
      }
      const countOf = async () =>
        Number(
          (await make(shared.server, { as: 'sharer', call: 'GET /devices', expect: 200 })).headers['x-total-count'],
        );
      const count = await countOf();
      await make(shared.server, unshare(kind));
      assert.equal(await countOf(), count - 1);
    });

    test('is explained with the record that is shared, and listed for both sides', async () => {
      await make(shared.server, share(kind, ['device:view', `${kind}:view`], { as: 'admin', ...withDevices }));
      const id = kind === 'gateway' ? shared.g : shared.p;
      const { body } = await make(shared.server, {
        ...{ as: 'sharer', call: `GET /devices/${shared.d}/permissions/explain`, expect: 200 },
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
        const list = await make(shared.server, { as, call, expect: 200 });
        const ours = list.body.filter((one: Record<string, string>) => one[kind] === id);
        assert.deepEqual(ours, rows, `${as} ${direction}`);
      }
      await make(shared.server, { as: 'owner', call: 'GET /auth/shares?kind=user', expect: 400 });
      await make(shared.server, unshare(kind));
    });
  });
}
