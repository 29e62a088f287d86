// Projects (contract 6): records that name devices and gateways, for their owner and admins alone.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

const everybody = ['guest', 'stranger', 'owner', 'admin'] as const;

let server: TestServer;
let count = 0;

before(async () => {
  server = await TestServer.start();
  await makeAll(server, [
    { as: 'owner', call: 'POST /devices', json: { id: 'mine', sensors: [{ id: 's' }] }, expect: 204 },
    { as: 'stranger', call: 'POST /devices', json: { id: 'theirs' }, expect: 204 },
    { call: 'POST /devices', json: { id: 'open' }, expect: 204 },
    { as: 'owner', call: 'POST /gateways', json: { id: 'g-mine' }, expect: 200 },
    { as: 'stranger', call: 'POST /gateways', json: { id: 'g-theirs' }, expect: 200 },
  ]);
});
after(() => server.stop());

async function create(as: string, fields: object = {}): Promise<string> {
  count += 1;
  const id = `project-${count}`;
  await make(server, { as, call: 'POST /projects', json: { id, ...fields }, expect: 200 });
  return id;
}

suite('creating a project', () => {
  test('answers with the id it was given, or one that the service makes, as text or as JSON', async () => {
    const post = (json: unknown, headers = {}) =>
      make(server, { as: 'owner', call: 'POST /projects', json, headers, expect: 200 });
    const named = await post({ id: 'p:1' });
    assert.deepEqual([named.text, named.headers['content-type']], ['p:1', 'text/plain;charset=utf-8']);
    assert.equal(named.headers.location, '/api/v2/projects/p%3A1');
    const made = await post({ id: null, name: 'Made' }, { accept: 'application/json' });
    assert.match(made.body, /^[\da-f]{8}-[\da-f-]{27}$/);
    assert.equal(made.headers.location, `/api/v2/projects/${made.body}`);
    assert.match((await post({}, { accept: '*/*' })).text, /^[\da-f]{8}-[\da-f-]{27}$/);
    const { body } = await make(server, { as: 'owner', call: `GET /projects/${made.body}`, expect: 200 });
    assert.deepEqual(body, { id: made.body, name: 'Made', owner: 'owner', device_ids: [], gateway_ids: [] });
  });

  test('gives the record where that is preferred; an id named twice is meant once', async () => {
    const json = { id: 'preferred', owner: 'stranger', device_ids: ['b', 'a', 'b'], gateway_ids: ['g', 'g'] };
    const headers = { prefer: 'return=representation' };
    const { body } = await make(server, { as: 'owner', call: 'POST /projects', json, headers, expect: 201 });
    assert.deepEqual(body, { id: 'preferred', owner: 'owner', device_ids: ['b', 'a'], gateway_ids: ['g'] });
  });

  test('is refused where something is wrong', async () => {
    const id = await create('owner');
    const post = (as: string, json: unknown, expect: number) => ({ as, call: 'POST /projects', json, expect });
    const tooMany = Array.from({ length: limits.projectIdsMax + 1 }, (_, n) => `d${n}`);
    await makeAll(server, [
      ...everybody.map((as) => post(as, { id }, 422)),
      ...['', 'a b', '..', 1].map((bad) => post('owner', { id: bad }, 400)),
      ...[{ device_ids: 'a' }, { device_ids: ['a b'] }, { gateway_ids: [1] }, { device_ids: [null] }].map((bad) =>
        post('owner', bad, 400),
      ),
      post('owner', { device_ids: tooMany }, 400),
      post('owner', { name: 1 }, 400),
      post('owner', null, 400),
    ]);
  });
});

const endpoints: readonly Omit<Call, 'as' | 'expect'>[] = [
  { call: 'GET ' },
  { call: 'GET ?full=true' },
  { call: 'PUT /name', text: 'named' },
  { call: 'PUT /device_ids', json: ['mine', 'theirs'] },
  { call: 'PUT /device_ids', text: '["mine"]' },
  { call: 'PUT /gateway_ids', json: null },
  { call: 'DELETE ' },
];

for (const { call, ...carries } of endpoints) {
  test(`${call} of a project is for owner and admin`, async () => {
    const [method, path] = call.split(' ');
    let id = await create('owner', { device_ids: ['mine', 'open'] });
    for (const as of everybody) {
      const may = as === 'owner' || as === 'admin';
      const expect = may ? (method === 'GET' ? 200 : 204) : 403;
      await make(server, { as, call: `${method} /projects/${id}${path}`, expect, ...carries });
      await make(server, { as, call: `${method} /projects/nowhere${path}`, expect: 404, ...carries });
      if (may && method !== 'GET') id = await create('owner', { device_ids: ['mine', 'open'] });
    }
  });
}

test('a change is read back, and one that makes no sense is refused', async () => {
  const id = await create('owner');
  const put = (field: string, json: unknown, expect: number) => {
    return { as: 'owner', call: `PUT /projects/${id}/${field}`, json, expect };
  };
  const most = Array.from({ length: limits.projectIdsMax }, (_, n) => `device-with-a-long-name-${n}`);
  await makeAll(server, [
    put('name', 'Named', 204),
    put('device_ids', most, 204),
    put('gateway_ids', ['g', 'g', 'h'], 204),
    put('device_ids', [...most, 'one-more'], 400),
    put('device_ids', 'a', 400),
    put('device_ids', {}, 400),
    put('gateway_ids', ['a', 'b c'], 400),
    put('gateway_ids', [1], 400),
    put('name', 1, 400),
    put('owner', 'stranger', 404),
  ]);
  const { body } = await make(server, { as: 'owner', call: `GET /projects/${id}`, expect: 200 });
  assert.deepEqual(body, { id, name: 'Named', owner: 'owner', device_ids: most, gateway_ids: ['g', 'h'] });
});

test('full=true adds what there is and the caller may view, in the order of the ids', async () => {
  const id = await create('owner', {
    device_ids: ['theirs', 'open', 'never-was', 'mine'],
    gateway_ids: ['g-theirs', 'g-mine', 'never-was'],
  });
  await server.call('owner', 'POST', '/devices/mine/sensors/s/value', { json: { value: 1 } });
  const idsOf = (records: { id: string }[]) => records.map((record) => record.id);
  for (const [as, devices, gateways] of [
    ['owner', ['open', 'mine'], ['g-mine']],
    ['admin', ['theirs', 'open', 'mine'], ['g-theirs', 'g-mine']],
  ] as const) {
    const { body } = await make(server, { as, call: `GET /projects/${id}?full=true`, expect: 200 });
    assert.deepEqual([idsOf(body.devices), idsOf(body.gateways)], [devices, gateways]);
    assert.deepEqual(body.devices.at(-1), (await server.call(as, 'GET', '/devices/mine')).body);
    assert.deepEqual(body.gateways.at(-1), (await server.call(as, 'GET', '/gateways/g-mine')).body);
    const list = await make(server, { as, call: 'GET /projects?full=true', expect: 200 });
    assert.deepEqual(
      list.body.find((project: { id: string }) => project.id === id),
      body,
    );
  }
});

test('the list has one’s own projects, an admin’s all, in order of creation and in pages', async () => {
  const mine = [await create('stranger'), await create('stranger')];
  const guests = await create('guest');
  const idsOf = async (as: string, query = '') => {
    const { body, headers } = await make(server, { as, call: `GET /projects${query}`, expect: 200 });
    return { ids: body.map(({ id }: { id: string }) => id), total: Number(headers['x-total-count']), headers };
  };
  assert.deepEqual((await idsOf('stranger')).ids, mine);
  assert.deepEqual((await idsOf('guest')).ids, [guests]);
  const all = await idsOf('admin');
  assert.equal(all.total, all.ids.length);
  assert.deepEqual(all.ids.slice(-3), [...mine, guests]);
  const page = await idsOf('admin', '?limit=12&offset=3');
  assert.deepEqual([page.ids, page.total], [all.ids.slice(3, 15), all.total]);
  assert.match(page.headers.link as string, /rel="next"/);
  for (const query of ['limit=0', 'limit=1001', 'offset=-1', 'offset=1e999'])
    await make(server, { as: 'admin', call: `GET /projects?${query}`, expect: 400 });
});

test('where guests may not act as owners, they keep projects and see none', async () => {
  await server.restart({ DUNDUN_GUEST_ACCESS: 'push' });
  const id = await create('guest');
  await make(server, { call: `GET /projects/${id}`, expect: 403 });
  assert.deepEqual((await make(server, { call: 'GET /projects', expect: 200 })).body, []);
  await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
  await makeAll(server, [
    { call: 'POST /projects', json: {}, expect: 401 },
    { call: 'GET /projects', expect: 401 },
    { call: `GET /projects/${id}`, expect: 401 },
    { call: 'GET /auth/permissions/projects', expect: 401 },
  ]);
  await server.restart();
});
