// Gateways over REST (contract 6): who may declare, see, change and remove them, and their heartbeat. Lists of gateways:
// gateway-list.test.ts.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { type Carries, TestServer } from '../../support/test-server.ts';

const everybody = ['guest', 'stranger', 'owner', 'admin'] as const;

let server: TestServer;
let count = 0;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

async function declare(as: string, fields: object = {}): Promise<string> {
  count += 1;
  const id = `gateway-${count}`;
  await make(server, { as, call: 'POST /gateways', json: { id, ...fields }, expect: 200 });
  return id;
}

const read = async (id: string, as = 'admin') => (await server.call(as, 'GET', `/gateways/${id}`)).body;

suite('declaring a gateway', () => {
  test('answers 200 without a body, and says where the record is', async () => {
    const json = {
      id: 'g:1',
      name: 'Roof',
      visibility: 'public',
      location: { latitude: 1, longitude: 2 },
      owner: 'stranger',
    };
    const answer = await make(server, { as: 'owner', call: 'POST /gateways', json, expect: 200 });
    assert.equal(answer.bytes.length, 0);
    assert.equal(answer.headers.location, '/api/v2/gateways/g%3A1');
    assert.deepEqual((await server.request('guest', 'GET', answer.headers.location ?? '')).body, {
      ...{ id: 'g:1', name: 'Roof', owner: 'owner', visibility: 'public', location: { latitude: 1, longitude: 2 } },
      ...{ date_created: '2026-01-15T12:00:00Z', date_modified: '2026-01-15T12:00:00Z', connected: false },
    });
  });

  test('gives the record where that is preferred, and takes a charset', async () => {
    const headers = { prefer: 'return=representation', 'content-type': 'application/json; charset=utf-8' };
    const body = JSON.stringify({ id: 'preferred', name: null });
    const answer = await make(server, { as: 'owner', call: 'POST /gateways', body, headers, expect: 201 });
    assert.equal(answer.headers['preference-applied'], 'return=representation');
    assert.deepEqual([answer.body.id, answer.body.visibility, 'name' in answer.body], ['preferred', 'private', false]);
  });

  test('makes what guest declares public and guest’s, whatever it says', async () => {
    const { owner, visibility } = await read(await declare('guest', { visibility: 'private', owner: 'stranger' }));
    assert.deepEqual([owner, visibility], ['guest', 'public']);
  });

  test('is refused for an id that is taken, by whomever, and that no gateway can have', async () => {
    const id = await declare('owner');
    const post = (as: string, json: unknown, expect: number) => ({ as, call: 'POST /gateways', json, expect });
    await makeAll(server, [
      ...everybody.map((as) => post(as, { id }, 422)),
      ...['', '.', '..', 'a b', 'a/b', 'ä', 'x'.repeat(257), 'a;b', 1, null].map((bad) =>
        post('owner', { id: bad }, 400),
      ),
      ...[{}, [], null, 'text', { id: 'n', name: 1 }, { id: 'n', visibility: 'open' }].map((bad) =>
        post('owner', bad, 400),
      ),
      ...[
        { id: 'n', location: 1 },
        { id: 'n', location: { latitude: 'x' } },
      ].map((bad) => post('owner', bad, 400)),
      post('owner', { id: 'n', name: 'x'.repeat(5000) }, 400),
      { as: 'owner', call: 'POST /gateways', text: 'id', expect: 415 },
    ]);
  });

  test('shares no ids with devices', async () => {
    const id = await declare('owner');
    await make(server, { as: 'stranger', call: 'POST /devices', json: { id }, expect: 204 });
    await make(server, { as: 'stranger', call: `GET /gateways/${id}`, expect: 403 });
  });
});

interface Endpoint extends Carries {
  readonly call: string;
  readonly done?: number;
  /** Who may on a public gateway, beside its owner and admins. */
  readonly public: 'everybody' | 'nobody';
}

const endpoints: readonly Endpoint[] = [
  { call: 'GET ', done: 200, public: 'everybody' },
  { call: 'GET ?full=true', done: 200, public: 'everybody' },
  { call: 'PUT /name', text: 'named', public: 'nobody' },
  { call: 'PUT /name', json: 'named', public: 'nobody' },
  { call: 'PUT /location', json: { latitude: 3, longitude: 4 }, public: 'nobody' },
  { call: 'PUT /location', text: '{"latitude": 3, "longitude": 4}', public: 'nobody' },
  { call: 'PUT /visibility', text: 'private', public: 'nobody' },
  { call: 'PUT /owner', text: 'stranger', public: 'nobody' },
  { call: 'PUT /owner', json: 'stranger', public: 'nobody' },
  { call: 'DELETE ', public: 'nobody' },
  ...['PUT /health', 'POST /health', 'PUT /heartbeat', 'POST /heartbeat'].map((call) => {
    return { call, public: 'everybody' as const };
  }),
];

for (const visibility of ['private', 'public'] as const) {
  suite(`on a ${visibility} gateway`, () => {
    for (const { call, done = 204, public: onPublic, ...carries } of endpoints) {
      const forAll = visibility === 'public' && onPublic === 'everybody';
      test(`${call} ${JSON.stringify(carries)} is for ${forAll ? 'everybody' : 'owner and admin'}`, async () => {
        const [method, path] = call.split(' ');
        let id = await declare('owner', { visibility });
        for (const as of everybody) {
          const may = forAll || as === 'owner' || as === 'admin';
          await make(server, { as, call: `${method} /gateways/${id}${path}`, expect: may ? done : 403, ...carries });
          if (may && method !== 'GET') id = await declare('owner', { visibility });
        }
      });
    }
  });
}

test('an unknown gateway is 404 to everybody', async () => {
  for (const as of everybody) {
    await makeAll(
      server,
      endpoints.map(({ call, done: _, public: __, ...carries }): Call => {
        const [method, path] = call.split(' ');
        return { as, call: `${method} /gateways/nowhere${path}`, expect: 404, ...carries };
      }),
    );
  }
});

suite('a change', () => {
  test('is read back and moves date_modified; null takes the location away', async () => {
    const id = await declare('owner', { location: { latitude: 1, longitude: 2 } });
    server.clock.advance(60_000);
    const path = `/gateways/${id}`;
    await makeAll(server, [
      { as: 'owner', call: `PUT ${path}/name`, text: 'New\n', expect: 204 },
      { as: 'owner', call: `PUT ${path}/visibility`, json: 'public', expect: 204 },
      { as: 'owner', call: `PUT ${path}/location`, json: null, expect: 204 },
    ]);
    const { name, visibility, location, date_created, date_modified } = await read(id, 'guest');
    assert.deepEqual([name, visibility, location], ['New', 'public', undefined]);
    assert.equal(Date.parse(date_modified) - Date.parse(date_created), 60_000);
  });

  test('that makes no sense is refused', async () => {
    const id = await declare('owner');
    const put = (field: string, json: unknown, expect: number) => {
      return { as: 'owner', call: `PUT /gateways/${id}/${field}`, json, expect };
    };
    await makeAll(server, [
      put('visibility', 'open', 400),
      put('location', 'here', 400),
      put('location', { latitude: '1' }, 400),
      put('name', { a: 1 }, 400),
      put('owner', 'nobody', 404),
      put('owner', '', 400),
      put('owner', 'guest', 422),
      put('devices', [], 404),
    ]);
  });

  test('never makes private what is guest’s', async () => {
    const id = await declare('guest');
    for (const as of ['guest', 'admin'])
      await make(server, { as, call: `PUT /gateways/${id}/visibility`, text: 'private', expect: 403 });
    await makeAll(server, [
      { as: 'stranger', call: `PUT /gateways/${id}/owner`, text: 'stranger', expect: 403 },
      { as: 'admin', call: `PUT /gateways/${id}/owner`, text: 'stranger', expect: 204 },
      { as: 'guest', call: `PUT /gateways/${id}/name`, text: 'mine', expect: 403 },
      { as: 'stranger', call: `PUT /gateways/${id}/visibility`, text: 'private', expect: 204 },
      { as: 'guest', call: `GET /gateways/${id}`, expect: 403 },
    ]);
  });
});

suite('a heartbeat', () => {
  test('takes any body and none, below /api/v2 and at the root', async () => {
    const id = await declare('owner', { visibility: 'public' });
    const bodies: readonly Carries[] = [
      {},
      { json: { up: true } },
      { text: 'alive' },
      { body: '{broken', headers: { 'content-type': 'application/json' } },
      { body: '<up/>', headers: { 'content-type': 'application/xml' } },
      { body: Buffer.from([0, 255, 254]), headers: { 'content-type': 'application/octet-stream' } },
      { body: 'no type' },
      { body: 'x', headers: { 'content-type': 'no type at all;;' } },
      { body: 'x'.repeat(100_000), headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' } },
      { headers: { 'content-type': 'application/json' } },
    ];
    let at = 0;
    for (const carries of bodies) {
      for (const method of ['PUT', 'POST']) {
        for (const path of ['/gateways', '/api/v2/gateways']) {
          for (const word of ['health', 'heartbeat', 'health/']) {
            server.clock.advance(1000);
            const { status, text } = await server.request('guest', method, `${path}/${id}/${word}`, carries);
            assert.deepEqual([status, text], [204, ''], `${method} ${path} ${JSON.stringify(carries)}`);
            const seen = Date.parse((await read(id)).last_seen);
            assert.ok(seen > at);
            at = seen;
          }
        }
      }
    }
    assert.equal(at, server.clock.now());
  });

  test('at the root is judged like any other', async () => {
    const id = await declare('owner');
    const path = `/gateways/${id}/health`;
    assert.equal((await server.request('stranger', 'PUT', path)).status, 403);
    assert.equal((await server.request('guest', 'POST', path)).status, 403);
    assert.equal((await server.request('owner', 'POST', path)).status, 204);
    assert.equal((await server.request('owner', 'POST', '/gateways/nowhere/health')).status, 404);
    assert.equal((await server.request('owner', 'POST', '/gateways/a;b/health')).status, 400);
    const { status, headers } = await server.request('owner', 'GET', path);
    assert.deepEqual([status, headers.allow], [405, 'PUT, POST, OPTIONS']);
    const bad = await server.send('PUT', path, { headers: { authorization: 'Bearer x.y.z' } });
    assert.equal(bad.status, 401);
  });

  test('is written at once, then at most every ten seconds, and at a stop, and moves date_modified not', async () => {
    const id = await declare('owner');
    const modified = (await read(id)).date_modified;
    const beat = () => make(server, { as: 'owner', call: `PUT /gateways/${id}/health`, expect: 204 });
    const written = async () => {
      const rows = (await server.rows())['gateway'] as { id: string; last_seen: number | null }[];
      return rows.find((row) => row.id === id)?.last_seen;
    };
    assert.equal(await written(), null);
    await beat();
    const first = server.clock.now();
    assert.equal(await written(), first);
    server.clock.advance(limits.lastSeenLagMsMax - 1);
    await beat();
    assert.equal(await written(), first);
    assert.equal(Date.parse((await read(id)).last_seen), server.clock.now());
    server.clock.advance(1);
    await beat();
    assert.equal(await written(), server.clock.now());
    server.clock.advance(5);
    await beat();
    await server.restart();
    assert.equal(await written(), server.clock.now());
    const { last_seen: seen, date_modified: after } = await read(id);
    assert.deepEqual([Date.parse(seen), after], [server.clock.now(), modified]);
  });

  test('of a gateway that is gone is not one of the next gateway with its id', async () => {
    const id = await declare('owner');
    await makeAll(server, [
      { as: 'owner', call: `PUT /gateways/${id}/health`, expect: 204 },
      { as: 'owner', call: `DELETE /gateways/${id}`, expect: 204 },
      { as: 'stranger', call: 'POST /gateways', json: { id }, expect: 200 },
    ]);
    assert.equal((await read(id)).last_seen, undefined);
  });
});

suite('where guest access is', () => {
  test('push, guest declares gateways and sends their heartbeat, and changes none', async () => {
    await server.restart({ DUNDUN_GUEST_ACCESS: 'push' });
    const id = await declare('guest');
    await makeAll(server, [
      { call: `PUT /gateways/${id}/health`, expect: 204 },
      { call: `GET /gateways/${id}`, expect: 200 },
      { call: `PUT /gateways/${id}/name`, text: 'x', expect: 403 },
      { call: `DELETE /gateways/${id}`, expect: 403 },
    ]);
  });

  test('none, there is nothing for guest', async () => {
    const id = await declare('owner', { visibility: 'public' });
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
    await makeAll(server, [
      { call: 'POST /gateways', json: { id: 'x' }, expect: 401 },
      { call: 'GET /gateways', expect: 401 },
      { call: `GET /gateways/${id}`, expect: 401 },
      { call: `PUT /gateways/${id}/health`, expect: 401 },
      { call: 'GET /auth/permissions/gateways', expect: 401 },
      { as: 'stranger', call: `PUT /gateways/${id}/health`, expect: 204 },
    ]);
    assert.equal((await server.request('guest', 'PUT', `/gateways/${id}/health`)).status, 401);
    await server.restart();
  });
});
