// What the specification says to the letter and deployed clients do: other forms of ISO 8601, a token asked for with a JSON
// body on GET or beside a token that is over, version 1's names of scopes in shares, filters by fields that do not exist,
// and all paths in the reference.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem, make, makeAll } from '../../support/api/calls.ts';
import { type As, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
});
after(() => server.stop());

suite('timestamps in other forms of ISO 8601', () => {
  const values = '/devices/d/sensors/s/values';
  before(() =>
    make(server, {
      ...{ as: 'owner', call: `POST ${values}`, expect: 204 },
      json: ['2016-06-08', '20160608T182027Z', '2016-06-08T18:21', '2016-06-08T23:59:59.999Z', '2016-06-09'].map(
        (timestamp, value) => ({ value, timestamp }),
      ),
    }),
  );

  test('are the times that they mean', async () => {
    const { body } = await make(server, { as: 'owner', call: `GET ${values}`, expect: 200 });
    assert.deepEqual(
      body.map(({ timestamp }: { timestamp: string }) => timestamp),
      [
        ...['2016-06-08T00:00:00Z', '2016-06-08T18:20:27Z', '2016-06-08T18:21:00Z', '2016-06-08T23:59:59.999Z'],
        '2016-06-09T00:00:00Z',
      ],
    );
  });

  const ranges: readonly (readonly [query: string, values: readonly number[]])[] = [
    ['dateFrom=2016-06-08&dateTo=2016-06-08', [0, 1, 2, 3]],
    ['dateFrom=20160608&dateTo=20160608', [0, 1, 2, 3]],
    ['dateTo=2016-06-07', []],
    ['dateFrom=2016-06-09', [4]],
    ['date_from=2016-06-08T18:20&date_to=2016-06-08T18:21Z', [1, 2]],
    ['dateFrom=20160608T202028%2B0200&dateTo=2016-06-08T20:21+02:00', [2]],
  ];
  for (const [query, expected] of ranges) {
    test(`bound a range: ${query}`, async () => {
      const { body } = await make(server, { as: 'owner', call: `GET ${values}?${query}`, expect: 200 });
      assert.deepEqual(
        body.map(({ value }: { value: number }) => value),
        expected,
      );
    });
  }

  test('are no guesses: half a date, a week and words are 400', async () => {
    for (const text of ['2016', '2016-06', '2016-W23', 'today', '2016-06-31', '24:00']) {
      await make(server, { as: 'owner', call: `GET ${values}?dateTo=${text}`, expect: 400 });
      await make(server, { as: 'owner', call: `POST ${values}`, json: { value: 1, timestamp: text }, expect: 400 });
    }
  });
});

suite('a token', () => {
  const login = { username: 'owner', password };
  /** As some HTTP libraries send it: GET with a body. */
  const get = (path: string, body: string, headers: Record<string, string> = {}) =>
    server.send('GET', path, {
      body,
      headers: { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers },
    });

  test('of version 1 is given for a JSON body on GET, as for POST', async () => {
    for (const path of ['/api/v1/auth/token', '/api/v1/domains/any/auth/token']) {
      const answer = await get(path, JSON.stringify(login));
      assert.equal(answer.status, 200, answer.text);
      const authorization = `Bearer ${answer.text}`;
      assert.equal((await server.send('GET', '/api/v1/sensors/d', { headers: { authorization } })).status, 200);
    }
  });

  test('is refused there as anywhere', async () => {
    const path = '/api/v1/auth/token';
    for (const [body, status] of [
      [JSON.stringify({ ...login, password: 'wrong' }), 401],
      [JSON.stringify({ username: 'owner' }), 400],
      [JSON.stringify({ ...login, password: 7 }), 400],
      [JSON.stringify({ ...login, username: 'x'.repeat(100_000) }), 400],
      ['{"username":', 400],
      ['[]', 400],
      ['', 401],
      [`"${'x'.repeat(2 ** 21)}"`, 413],
    ] as const) {
      const answer = await get(path, body);
      assert.equal(answer.status, status, body.slice(0, 80));
      assert.doesNotMatch(answer.text, /eyJ/);
    }
    const basic = `Basic ${Buffer.from(`owner:${password}`).toString('base64')}`;
    assert.equal((await server.send('GET', path, { headers: { authorization: basic } })).status, 200);
  });

  test('is given whatever token is sent along: one that is over, foreign, or no token at all', async () => {
    const json = { username: 'owner', password };
    for (const authorization of [
      'Bearer over',
      'Bearer "eyJhbGciOiJIUzI1NiJ9.e30.x"',
      'Bearer',
      'Nonsense',
      'Bearer dk_none',
    ]) {
      for (const version of ['v1', 'v2']) {
        const path = `/api/${version}/auth/token`;
        const answer = await server.send('POST', path, { json, headers: { authorization } });
        assert.equal(answer.status, 200, `${version} ${authorization}: ${answer.text}`);
      }
      assert.equal((await get('/api/v1/auth/token', JSON.stringify(json), { authorization })).status, 200);
      assert.equal((await server.send('GET', '/api/v2/devices', { headers: { authorization } })).status, 401);
    }
    const wrong = { json: { ...json, password: 'not it' }, headers: { authorization: 'Bearer over' } };
    assert.equal((await server.send('POST', '/api/v2/auth/token', wrong)).status, 401);
  });
});

suite('names of scopes in shares', () => {
  test('are those of version 1, too', async () => {
    const call = 'PUT /devices/d/shares/sharer';
    const all = ['device:view', 'device:update', 'device:delete', 'device-data:view', 'device-data:create'];
    for (const scopes of [
      all.map((name) => name.replace('device', 'sensor')),
      all.map((name) => name.replace('device', 'sensors')),
      all.map((name) => name.replace('device', 'devices')),
      all,
    ]) {
      await make(server, { as: 'owner', call, json: { scopes: ['device:view'] }, expect: 204 });
      await make(server, { as: 'owner', call, json: { scopes }, expect: 204 });
      const { body } = await make(server, { as: 'owner', call: 'GET /devices/d/shares', expect: 200 });
      assert.deepEqual(body, [{ username: 'sharer', scopes: all }]);
    }
    for (const name of ['sensor:own', 'measurement:view', 'gateways:view', 'sensor', 'sensorss:view']) {
      await make(server, { as: 'owner', call, json: { scopes: [name] }, expect: 400 });
    }
  });

  test('are set by the owner and admins alone', async () => {
    const call = 'PUT /devices/d/shares/sharer';
    const json = { scopes: ['sensor:view'] };
    await make(server, { as: 'owner', call, json, expect: 204 });
    for (const as of ['guest', 'stranger', 'sharer'] satisfies As[])
      await make(server, { as, call, json, expect: 403 });
    await make(server, { as: 'admin', call, json, expect: 204 });
  });
});

suite('a filter by what no record has', () => {
  for (const as of ['guest', 'stranger', 'owner', 'admin'] satisfies As[]) {
    test(`is 400 and says which fields there are, to ${as}`, async () => {
      for (const path of ['/devices', '/gateways', '/notifications', '/socials']) {
        for (const q of ['color==red', 'color!=red', 'id.x==1', 'constructor==1', '__proto__==1']) {
          const answer = await make(server, { as, call: `GET ${path}?q=${q}`, expect: 400 });
          assertProblem(answer, q);
          assert.match(answer.body.detail, /There is no field "[\w.]+" to filter by\. The fields are id, /);
        }
      }
      const wholes = [
        'location=={"latitude":1}',
        'location!=1',
        'meta=={}',
        'sensors==TC',
        'sensors.color==red',
        'sensors.meta==1',
        'sensors.id.x==1',
      ];
      for (const q of wholes) await make(server, { as, call: `GET /devices?q=${encodeURIComponent(q)}`, expect: 400 });
      await make(server, { as, call: 'GET /gateways?q=location==1', expect: 400 });
      await make(server, { as, call: 'GET /notifications?q=condition==1', expect: 400 });
      await make(server, { as, version: 'v1', call: 'GET /sensors?q=color==red', expect: 400 });
    });
  }

  test('is not: any field of the record, and what may lie in its JSON', async () => {
    await makeAll(
      server,
      [
        'location.latitude>1',
        'location.altitude==7',
        'meta.crop==onion',
        'sensors.meta.depth==1',
        'owner==owner',
        'deployed==true',
      ].map((q) => ({ as: 'owner', call: `GET /devices?q=${q}`, expect: 200 })),
    );
  });
});

suite('a refused filter of version 1', () => {
  test('names the field as the caller wrote it', async () => {
    for (const field of ['sensors.id', 'devices.id', 'actuators.id', 'nofield', 'measurements.foo']) {
      const { status, body } = await server.request('owner', 'GET', `/api/v1/sensors?q=${field}==x`);
      assert.equal(status, 400);
      assert.ok(body.description.startsWith(`There is no field "${field}" to filter by.`), body.description);
    }
  });
});

suite('JSON with a byte order mark', () => {
  const values = '/api/v2/devices/d/sensors/s/values';
  test('is read as without it, at every door that takes JSON', async () => {
    const authorization = `Bearer ${await server.token('owner')}`;
    const headers = { authorization, 'content-type': 'application/json' };
    for (const body of ['{"value":71}', '[{"value":72},{"value":73}]']) {
      assert.equal((await server.send('POST', values, { headers, body: `\ufeff${body}` })).status, 204, body);
    }
    assert.equal((await server.send('PUT', '/api/v2/devices/d/name', { headers, body: '\ufeff"Field"' })).status, 204);
    await server.running.idle();
    const read = await make(server, {
      as: 'owner',
      call: 'GET /devices/d/sensors/s/values?lastN=3',
      expect: 200,
    });
    assert.deepEqual(
      read.body.map(({ value }: { value: number }) => value),
      [73, 72, 71],
    );
    const device = await make(server, { as: 'owner', call: 'GET /devices/d', expect: 200 });
    assert.equal(device.body.name, 'Field');
  });

  test('is none behind the beginning, and none where there is nothing else', async () => {
    const headers = { authorization: `Bearer ${await server.token('owner')}`, 'content-type': 'application/json' };
    for (const body of ['{"value":\ufeff1}', '\ufeff\ufeff{"value":1}', '\ufeff'])
      assert.equal((await server.send('POST', values, { headers, body })).status, 400, JSON.stringify(body));
  });
});

suite('the reference', () => {
  test('has the heartbeats at the root and the paths of version 1.0', async () => {
    const { body } = await server.send('GET', '/openapi.json');
    for (const path of ['/gateways/{gateway}/health', '/gateways/{gateway}/heartbeat']) {
      assert.deepEqual(Object.keys(body.paths[path]).sort(), ['post', 'put']);
    }
    const paths = Object.keys(body.paths);
    const older = paths.filter((path) => path.startsWith('/api/v1/') && !path.includes('/domains/'));
    for (const path of older) {
      const operations = body.paths[path.replace('/api/v1', '/api/v1/domains/{domain}')];
      assert.deepEqual(Object.keys(operations ?? {}), Object.keys(body.paths[path]), path);
      for (const operation of Object.values(operations) as { deprecated: boolean; parameters: { name: string }[] }[]) {
        assert.equal(operation.deprecated, true);
        assert.ok(operation.parameters.some(({ name }) => name === 'domain'));
      }
    }
    const ids = Object.values(body.paths).flatMap((one) =>
      Object.values(one as object).map(({ operationId }) => operationId),
    );
    assert.equal(new Set(ids).size, ids.length, 'operation ids differ');
  });
});
