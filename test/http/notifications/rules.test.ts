// What holds on every path of the API (contract 1): methods, slashes, types of bodies, CORS, preferences, problems.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { assertProblem, type Call, make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

const device = {
  id: 'd1',
  visibility: 'public',
  sensors: [{ id: 's1' }],
  actuators: [{ id: 'a1', value: 1 }],
};

const readable = [
  '/auth/permissions/devices',
  '/auth/permissions/gateways',
  '/auth/permissions/projects',
  '/auth/shares',
  '/gateways',
  '/gateways/g1',
  '/projects',
  '/projects/p1',
  '/devices/d1/permissions/explain',
  '/devices',
  '/devices/d1',
  '/devices/d1/drops',
  '/devices/d1/shares',
  '/devices/d1/sensors',
  '/devices/d1/sensors/s1',
  '/devices/d1/sensors/s1/values',
  '/devices/d1/actuators',
  '/devices/d1/actuators/a1',
];

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: device });
  await server.call('owner', 'POST', '/gateways', { json: { id: 'g1' } });
  await server.call('owner', 'POST', '/projects', { json: { id: 'p1' } });
  await server.call('owner', 'POST', '/devices/d1/sensors/s1/value', { json: { value: 1.5 } });
});
after(() => server.stop());

for (const path of readable) {
  test(`HEAD ${path} answers like GET without the body`, async () => {
    const get = await make(server, { as: 'owner', call: `GET ${path}`, expect: 200 });
    const head = await make(server, { as: 'owner', call: `HEAD ${path}`, expect: 200 });
    assert.equal(head.bytes.length, 0);
    for (const name of ['content-type', 'x-total-count']) assert.equal(head.headers[name], get.headers[name], name);
  });

  test(`GET ${path}/ is GET ${path}`, async () => {
    const [plain, slashed] = await makeAll(server, [
      { as: 'owner', call: `GET ${path}`, expect: 200 },
      { as: 'owner', call: `GET ${path}/`, expect: 200 },
    ]);
    assert.equal(slashed?.text, plain?.text);
  });

  test(`GET ${path} may name a type of body and carry none`, async () => {
    const headers = { 'content-type': 'application/json' };
    await make(server, { as: 'owner', call: `GET ${path}`, headers, expect: 200 });
  });

  test(`GET ${path} refuses a bad token`, async () => {
    await make(server, { call: `GET ${path}`, headers: { authorization: 'Bearer x.y.z' }, expect: 401 });
  });
}

const wrongMethods: readonly (readonly [method: string, path: string, allow: string])[] = [
  ['GET', '/auth/token', 'POST'],
  ['DELETE', '/auth/permissions/devices', 'GET HEAD'],
  ['PUT', '/devices', 'GET HEAD POST'],
  ['PATCH', '/devices/d1', 'GET HEAD DELETE'],
  ['POST', '/devices/d1', 'GET HEAD DELETE'],
  ['GET', '/devices/d1/name', 'PUT'],
  ['POST', '/devices/d1/shares', 'GET HEAD'],
  ['GET', '/devices/d1/shares/sharer', 'PUT DELETE'],
  ['DELETE', '/devices/d1/sensors', 'GET HEAD POST'],
  ['PUT', '/devices/d1/sensors/s1', 'GET HEAD DELETE'],
  ['PUT', '/devices/d1/sensors/s1/values', 'GET HEAD POST DELETE'],
  ['POST', '/devices/d1/actuators/a1/value', 'GET HEAD PUT'],
  ['GET', '/gateways/g1/health', 'PUT POST'],
  ['PUT', '/gateways/g1', 'GET HEAD DELETE'],
  ['PUT', '/projects', 'GET HEAD POST'],
  ['TRACE', '/devices/d1', 'GET HEAD DELETE'],
  ['PROPFIND', '/users/me', 'GET HEAD'],
  ['SEARCH', '/devices/d1/sensors/s1/?x=1', 'GET HEAD DELETE'],
];

for (const [method, path, allow] of wrongMethods) {
  test(`${method} ${path} is refused with the methods it takes`, async () => {
    // Whatever else is wrong with the request does not matter then.
    const headers = { 'content-type': 'text/html' };
    const answer = await make(server, { as: 'owner', call: `${method} ${path}`, headers, expect: 405 });
    const methods = (answer.headers.allow ?? '').split(', ').filter((name) => name !== 'OPTIONS');
    assert.deepEqual(methods.sort(), allow.split(' ').sort());
  });
}

test('an unknown path is 404, with a trailing slash and with a query too', async () => {
  for (const path of ['/nothing', '/nothing/', '/devices/d1/nothing?x=1', '/devices/d1/sensors/s1/nothing']) {
    await make(server, { as: 'owner', call: `GET ${path}`, expect: 404 });
    await make(server, { as: 'owner', call: `POST ${path}`, json: {}, expect: 404 });
    await make(server, { as: 'owner', call: `PROPFIND ${path}`, expect: 404 });
  }
});

test('whoever opens /mqtt without a WebSocket is told what is there', async () => {
  for (const path of ['/mqtt', '/mqtt/', '/mqtt?x=1']) {
    const answer = await server.send('GET', path);
    assert.deepEqual([answer.status, answer.headers.upgrade], [426, 'websocket'], path);
    assertProblem(answer, path);
    assert.match(answer.body.detail, /WebSocket/);
  }
  assert.equal((await server.send('HEAD', '/mqtt')).status, 426);
  assert.equal((await server.send('POST', '/mqtt')).status, 405);
});

test('a path written with escapes is the same path, and judged the same', async () => {
  const headers = { authorization: 'Bearer x.y.z' };
  for (const [method, path, expected] of [
    ['GET', '/%61pi/v2/devices/d1', 200],
    ['PUT', '/%61pi/v2/devices/d1/shares/sharer', 403],
    ['PUT', '/%67ateways/g1/health', 403],
  ] as const) {
    const json = method === 'PUT' ? { json: { scopes: [] } } : {};
    assert.equal((await server.send(method, path, json)).status, expected, path);
    assert.equal((await server.send(method, path, { ...json, headers })).status, 401, path);
  }
});

suite('types of bodies', () => {
  const put = 'PUT /devices/d1/name';
  const typed = (type: string, body: string): Pick<Call, 'body' | 'headers'> => ({
    body,
    headers: { 'content-type': type },
  });
  const cases: readonly (readonly [type: string, body: string, expect: number, name?: string])[] = [
    ['text/plain', 'plain', 204, 'plain'],
    ['text/plain;charset=utf-8', 'naïve', 204, 'naïve'],
    ['text/plain; charset=UTF-8', 'Überwachung', 204, 'Überwachung'],
    ['text/plain; charset="utf-8"', '"quoted"', 204, '"quoted"'],
    ['TEXT/PLAIN', 'loud', 204, 'loud'],
    ['text/plain', 'ends in a line feed\n', 204, 'ends in a line feed'],
    ['text/plain', 'ends in CRLF\r\n', 204, 'ends in CRLF'],
    ['text/plain', 'two\nlines', 204, 'two\nlines'],
    ['text/plain', '', 204, ''],
    ['application/json', '"as JSON"', 204, 'as JSON'],
    ['application/json;charset=utf-8', '"a"', 204, 'a'],
    ['application/json; charset=UTF-8', '"b"', 204, 'b'],
    ['application/json; charset=utf8', '"c"', 204, 'c'],
    ['Application/JSON', '"d"', 204, 'd'],
    ['application/json; charset=iso-8859-1', '"e"', 415],
    ['text/plain; charset=utf-16', 'e', 415],
    ['text/html', 'e', 415],
    ['application/xml', '<e/>', 415],
    // A body of JSON in truth, as some microcontrollers name it.
    ['application/x-www-form-urlencoded', 'name=e', 400],
    ['application/x-www-form-urlencoded', '"f"', 204, 'f'],
    ['application/octet-stream', 'e', 415],
    ['nonsense', 'e', 415],
  ];
  for (const [type, body, expect, name] of cases) {
    test(`${type} with ${JSON.stringify(body)} answers ${expect}`, async () => {
      await make(server, { as: 'owner', call: put, ...typed(type, body), expect });
      const { body: record } = await server.call('owner', 'GET', '/devices/d1');
      if (expect === 204) assert.equal(record.name, name);
    });
  }

  test('a body without a type is 415', async () => {
    await make(server, { as: 'owner', call: put, body: 'new', expect: 415 });
  });

  test('a record is JSON alone', async () => {
    const text = JSON.stringify({ id: 'from-text' });
    for (const call of [
      'POST /devices',
      'POST /devices/d1/sensors',
      'POST /devices/d1/actuators',
      'POST /auth/token',
    ]) {
      await make(server, { as: 'owner', call, text, expect: 415 });
    }
    await make(server, { as: 'owner', call: 'PUT /devices/d1/shares/sharer', text, expect: 415 });
  });

  test('a DELETE may name a type and carry nothing', async () => {
    for (const type of ['application/json', 'application/json;charset=utf-8', 'text/plain']) {
      await makeAll(server, [
        { as: 'owner', call: 'POST /devices/d1/sensors', json: { id: 'gone' }, expect: 204 },
        { as: 'owner', call: 'DELETE /devices/d1/sensors/gone', headers: { 'content-type': type }, expect: 204 },
        { as: 'owner', call: 'GET /devices/d1/sensors/gone', expect: 404 },
      ]);
    }
  });
});

suite('a browser of another origin', () => {
  const origin = 'https://fields.example';

  test('may call with the headers deployed clients send', async () => {
    const asked = 'authorization,content-type,accept,prefer,idempotency-key,access-control-allow-origin';
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const headers = { origin, 'access-control-request-method': method, 'access-control-request-headers': asked };
      const answer = await make(server, { call: 'OPTIONS /devices/d1', headers, expect: 204 });
      assert.equal(answer.headers['access-control-allow-origin'], '*');
      const allowed = (answer.headers['access-control-allow-headers'] ?? '').toLowerCase().split(/, */);
      for (const name of asked.split(',')) assert.ok(allowed.includes(name), name);
      assert.ok((answer.headers['access-control-allow-methods'] ?? '').split(/, */).includes(method), method);
      assert.equal(answer.headers['access-control-allow-credentials'], undefined);
    }
  });

  test('reads answers and refusals, with the headers that lead on', async () => {
    const headers = { origin, 'access-control-allow-origin': '*' };
    const calls: readonly Call[] = [
      { call: 'GET /devices', headers, expect: 200 },
      { call: 'GET /devices/none', headers, expect: 404 },
      { call: 'PUT /devices/d1/name', text: 'x', headers, expect: 403 },
      { call: 'GET /devices', headers: { ...headers, authorization: 'Bearer bad' }, expect: 401 },
      { call: 'PUT /devices', headers, expect: 405 },
    ];
    for (const answer of await makeAll(server, calls)) {
      assert.equal(answer.headers['access-control-allow-origin'], '*');
      const exposed = answer.headers['access-control-expose-headers'] ?? '';
      for (const name of ['Link', 'X-Total-Count', 'Location', 'Retry-After']) assert.match(exposed, new RegExp(name));
    }
  });
});

suite('a create', () => {
  const creates: readonly (readonly [path: string, id: string, location: string])[] = [
    ['/devices', 'odd%*!$[]\\^_`{|}~:@,-.id', '/api/v2/devices/'],
    ['/devices/d1/sensors', 'odd%*id', '/api/v2/devices/d1/sensors/'],
    ['/devices/d1/actuators', 'odd%*id', '/api/v2/devices/d1/actuators/'],
  ];
  for (const [path, id, location] of creates) {
    test(`on ${path} answers 204, or 201 with the record where that is preferred; Location leads to it`, async () => {
      const call = `POST ${path}`;
      const plain = await make(server, { as: 'owner', call, json: { id }, expect: 204 });
      assert.equal(plain.headers.location, location + encodeURIComponent(id));
      for (const prefer of ['return=representation', 'respond-async, return="representation"']) {
        const json = { id: `${id}-${prefer.length}`, name: 'N' };
        const answer = await make(server, { as: 'owner', call, json, headers: { prefer }, expect: 201 });
        assert.equal(answer.headers['preference-applied'], 'return=representation');
        const read = await server.request('owner', 'GET', answer.headers.location ?? '');
        assert.equal(read.status, 200);
        assert.deepEqual(answer.body, read.body);
      }
      await make(server, { as: 'owner', call: `DELETE ${path}/${encodeURIComponent(id)}`, expect: 204 });
    });
  }

  test('does not answer a record to who prefers least', async () => {
    const headers = { prefer: 'return=minimal' };
    await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'minimal' }, headers, expect: 204 });
  });
});

test('JSON is compact, and a field without a value is left out', async () => {
  const { text, headers } = await make(server, { as: 'owner', call: 'GET /devices/d1/actuators/a1', expect: 200 });
  assert.equal(headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(text, '{"value":1,"id":"a1"}');
});

suite('what fails before a path is found', () => {
  for (const path of ['/devices/%ZZ', '/devices/%ff', '/devices/d%00', `/devices/${'x'.repeat(3000)}`]) {
    test(`${path.slice(0, 20)} is 400`, async () => {
      await make(server, { as: 'owner', call: `GET ${path}`, expect: 400 });
    });
  }

  const raw: readonly (readonly [what: string, bytes: string, status: number, detail?: RegExp])[] = [
    ['what is no HTTP', 'drum drum\r\n\r\n', 400],
    ['an address with letters beyond ASCII', 'GET /?q=name==Näme HTTP/1.1\r\nHost: x\r\n\r\n', 400, /percent/],
    ['headers without an end', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
  ];
  for (const [what, bytes, status, detail = /./] of raw) {
    test(`${what} is ${status}, and the connection ends`, async () => {
      const socket = connect(server.running.ports.http, '127.0.0.1');
      socket.on('error', () => {});
      socket.end(bytes);
      const [head = '', body = ''] = (await readText(socket)).split('\r\n\r\n');
      const headers = Object.fromEntries(head.split('\r\n').map((line) => line.toLowerCase().split(': ')));
      assert.match(head, new RegExp(`^HTTP/1.1 ${status} `));
      assert.match(JSON.parse(body).detail, detail);
      const bytesAnswered = Buffer.from(body);
      assertProblem({ status, headers, bytes: bytesAnswered, text: body, body: JSON.parse(body) }, what);
    });
  }
});
