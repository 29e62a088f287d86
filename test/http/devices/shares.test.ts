// Sharing a device with users, and the query for one's own permissions (contract 3).
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

const singular = ['device:view', 'device:update', 'device:delete', 'device-data:view', 'device-data:create'];
const plural = singular.map((name) => name.replace('device', 'devices'));

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

let count = 0;
let id = '';
beforeEach(async () => {
  count += 1;
  id = `shared-${count}`;
  await server.call('owner', 'POST', '/devices', { json: { id, sensors: [{ id: 's' }] } });
});

const share = (scopes: unknown, expect: number) => {
  return { as: 'owner', call: `PUT /devices/${id}/shares/sharer`, json: { scopes }, expect };
};

suite('a share', () => {
  test('is listed by the granting names, in the order of spec.md, whatever names gave it', async () => {
    const given: readonly (readonly string[])[] = [singular, plural, [...plural].reverse(), ['device-data:create']];
    for (const scopes of given) {
      await make(server, share(scopes, 204));
      const { body } = await make(server, { as: 'owner', call: `GET /devices/${id}/shares`, expect: 200 });
      const wanted = scopes.length === 1 ? ['device-data:create'] : singular;
      assert.deepEqual(body, [{ username: 'sharer', scopes: wanted }]);
    }
  });

  test('gives exactly the scopes named last', async () => {
    await makeAll(server, [
      share(['device:view', 'device:update'], 204),
      { as: 'sharer', call: `PUT /devices/${id}/name`, text: 'mine', expect: 204 },
      share(['device:view'], 204),
      { as: 'sharer', call: `PUT /devices/${id}/name`, text: 'not mine', expect: 403 },
      { as: 'sharer', call: `GET /devices/${id}`, expect: 200 },
      { as: 'sharer', call: `GET /devices/${id}/shares`, expect: 403 },
    ]);
  });

  test('ends with an empty list, and with DELETE, once or twice', async () => {
    await makeAll(server, [
      share(['device:view'], 204),
      share([], 204),
      { as: 'sharer', call: `GET /devices/${id}`, expect: 403 },
      share(['device:view'], 204),
      { as: 'owner', call: `DELETE /devices/${id}/shares/sharer`, expect: 204 },
      { as: 'owner', call: `DELETE /devices/${id}/shares/sharer`, expect: 204 },
      { as: 'sharer', call: `GET /devices/${id}`, expect: 403 },
    ]);
    const { body } = await make(server, { as: 'owner', call: `GET /devices/${id}/shares`, expect: 200 });
    assert.deepEqual(body, []);
  });

  test('is refused where it makes no sense', async () => {
    const put = (username: string, json: unknown, expect: number) => {
      return { as: 'owner', call: `PUT /devices/${id}/shares/${username}`, json, expect };
    };
    await makeAll(server, [
      put('nobody', { scopes: ['device:view'] }, 404),
      put('guest', { scopes: ['device:view'] }, 400),
      put('sharer', { scopes: ['device:fly'] }, 400),
      put('sharer', { scopes: ['device:view', 'gateways:view'] }, 400),
      put('sharer', { scopes: 'device:view' }, 400),
      put('sharer', { scopes: [1] }, 400),
      put('sharer', { scopes: Array(1000).fill('device:view') }, 400),
      put('sharer', {}, 400),
      put('sharer', [], 400),
      put('sharer', null, 400),
    ]);
  });

  test('outlives a change of visibility and a restart, and goes with a new owner who had it', async () => {
    await makeAll(server, [
      share(['device:view', 'device:update'], 204),
      { as: 'owner', call: `PUT /devices/${id}/visibility`, text: 'public', expect: 204 },
      { as: 'owner', call: `PUT /devices/${id}/visibility`, text: 'private', expect: 204 },
    ]);
    await server.restart();
    await makeAll(server, [
      { as: 'sharer', call: `PUT /devices/${id}/name`, text: 'still', expect: 204 },
      { as: 'owner', call: `PUT /devices/${id}/owner`, text: 'sharer', expect: 204 },
      { as: 'sharer', call: `PUT /devices/${id}/owner`, text: 'owner', expect: 204 },
      { as: 'sharer', call: `GET /devices/${id}`, expect: 403 },
    ]);
  });
});

suite('the query for permissions', () => {
  const scopesOf = async (as: string) => {
    const { body } = await make(server, { as, call: 'GET /auth/permissions/devices', expect: 200 });
    return body.find((entry: { resource: string }) => entry.resource === id)?.scopes;
  };
  const everyones = ['devices:view', 'devices-data:view', 'devices-data:create'];

  test('names a private device for its owner, admins and those it is shared with', async () => {
    await make(server, share(['device-data:create', 'device:delete'], 204));
    assert.deepEqual(await scopesOf('owner'), plural);
    assert.deepEqual(await scopesOf('admin'), plural);
    assert.deepEqual(await scopesOf('sharer'), ['devices:delete', 'devices-data:create']);
    assert.equal(await scopesOf('stranger'), undefined);
    assert.equal(await scopesOf('guest'), undefined);
  });

  test('names a public device for everybody, with what a share adds', async () => {
    await makeAll(server, [
      { as: 'owner', call: `PUT /devices/${id}/visibility`, text: 'public', expect: 204 },
      share(['device:update'], 204),
    ]);
    assert.deepEqual(await scopesOf('owner'), plural);
    assert.deepEqual(await scopesOf('stranger'), everyones);
    assert.deepEqual(await scopesOf('guest'), everyones);
    assert.deepEqual(await scopesOf('sharer'), [
      'devices:view',
      'devices:update',
      'devices-data:view',
      'devices-data:create',
    ]);
  });

  test('gives everything, or a page where a limit is given', async () => {
    for (let n = 0; n < 25; n++) {
      await server.call('owner', 'POST', '/devices', { json: { id: `${id}-${n}`, visibility: 'public' } });
    }
    const all = await make(server, { as: 'stranger', call: 'GET /auth/permissions/devices', expect: 200 });
    assert.ok(all.body.length >= 25);
    assert.equal(all.headers['x-total-count'], String(all.body.length));
    assert.equal(all.headers.link, undefined);
    const call = 'GET /auth/permissions/devices?limit=10&offset=5';
    const page = await make(server, { as: 'stranger', call, expect: 200 });
    assert.deepEqual(page.body, all.body.slice(5, 15));
    assert.equal(page.headers['x-total-count'], String(all.body.length));
    assert.match(page.headers.link as string, /limit=10&offset=15>; rel="next", <.*limit=10&offset=0>; rel="prev"/);
  });

  test('gives everything up to a limit beyond all counting', async () => {
    const all = await make(server, { as: 'owner', call: 'GET /auth/permissions/devices', expect: 200 });
    const page = await make(server, { as: 'owner', call: 'GET /auth/permissions/devices?limit=1e18', expect: 200 });
    assert.deepEqual(page.body, all.body);
    await make(server, { as: 'owner', call: 'GET /auth/permissions/devices?limit=1&offset=1e18', expect: 200 });
  });

  for (const query of [
    'limit=0',
    'limit=-1',
    'limit=x',
    'limit=1.5',
    'limit=1e300',
    'limit=',
    'offset=-1',
    'offset=x',
  ]) {
    test(`with ${query} is 400`, async () => {
      await make(server, { as: 'owner', call: `GET /auth/permissions/devices?${query}`, expect: 400 });
    });
  }
});

suite('without devices-data:view', () => {
  const view = async (path: string) => (await server.call('sharer', 'GET', `/devices${path}`)).body;

  test('no value is shown anywhere, and none can be filtered by', async () => {
    await makeAll(server, [
      share(['device:view', 'device:update', 'device-data:create'], 204),
      { as: 'owner', call: `POST /devices/${id}/actuators`, json: { id: 'a', value: 'secret' }, expect: 204 },
      { as: 'owner', call: `POST /devices/${id}/sensors/s/value`, json: { value: 'secret' }, expect: 204 },
      { as: 'sharer', call: `GET /devices/${id}/sensors/s/values`, expect: 403 },
      { as: 'sharer', call: `GET /devices/${id}/sensors/s/values?format=csv`, expect: 403 },
    ]);
    for (const field of ['sensors.last_value.value', 'sensors.value.value', 'actuators.value'])
      assert.deepEqual(await view(`?q=${field}==secret`), []);
    const list = (await view(`?q=id==${id}`)) as readonly unknown[];
    assert.equal(list.length, 1);
    const views = [...list, await view(`/${id}`)];
    for (const path of ['/sensors', '/sensors/s', '/actuators', '/actuators/a'])
      views.push(await view(`/${id}${path}`));
    assert.doesNotMatch(JSON.stringify(views), /value|secret/);
    const { text } = await make(server, {
      ...{ as: 'sharer', call: `POST /devices/${id}/actuators`, json: { id: 'a', name: 'A' }, expect: 201 },
      headers: { prefer: 'return=representation' },
    });
    assert.doesNotMatch(text, /value|secret/);
  });
});

test('a share without devices:view shows the device neither alone nor in a list', async () => {
  await make(server, share(['device-data:create', 'device:update'], 204));
  await make(server, { as: 'sharer', call: `GET /devices/${id}`, expect: 403 });
  const { body, headers } = await make(server, { as: 'sharer', call: `GET /devices?q=id==${id}`, expect: 200 });
  assert.deepEqual([body, headers['x-total-count']], [[], '0']);
});
