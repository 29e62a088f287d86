// Versions 1.1 and 1.0 over REST (spec 4.3, 5 and 9, contract 9): older field names, status 200, the older form of
// errors, tokens of one minute, and the domain in the path.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { type Call, make } from '../../support/api/calls.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const older = (call: Omit<Call, 'version'>) => make(server, { as, version: 'v1', ...call });
const basic = (login: string) => ({ authorization: `Basic ${Buffer.from(login).toString('base64')}` });

test('a sensor with measurements is a device with sensors', async () => {
  const measurement = {
    id: 'TC',
    name: 'Soil',
    sensing_device: 'thermometer',
    quantity_kind: 'temperature',
    unit: 'K',
  };
  const json = {
    id: 'node-1',
    name: 'Node',
    gateway_id: 'g1',
    location: { latitude: 1, longitude: 2 },
    measurements: [measurement],
  };
  const made = await older({ call: 'POST /sensors', json: { ...json, actuators: [{ id: 'a' }] }, expect: 200 });
  assert.equal(made.bytes.length, 0);
  assert.equal(made.headers.location, '/api/v1/sensors/node-1');
  const { body: node } = await older({ call: 'GET /sensors/node-1', expect: 200 });
  const { date_created, date_modified, ...rest } = node;
  assert.deepEqual(rest, { ...json, domain: 'default', visibility: 'private', owner: 'owner' });
  const { body: device } = await make(server, { as, call: 'GET /devices/node-1', expect: 200 });
  const { measurements, ...same } = node;
  assert.deepEqual(device, { ...same, sensors: measurements, actuators: [] });
});

test('values pushed to a measurement are those of the sensor, newest first by lastN', async () => {
  const path = '/sensors/node-1/measurements/TC/values';
  const first = { value: 1, timestamp: '2026-01-01T00:00:00Z' };
  const second = { value: { deep: [2] }, timestamp: '2026-01-02T00:00:00Z' };
  const pushed = await older({ call: `POST ${path}`, json: [second, first], expect: 200 });
  assert.equal(pushed.bytes.length, 0);
  const ascending = await older({ call: `GET ${path}`, expect: 200 });
  assert.deepEqual(
    ascending.body.map((point: { value: unknown }) => point.value),
    [first.value, second.value],
  );
  const newest = await older({ call: `GET ${path}?lastN=2`, expect: 200 });
  assert.deepEqual(newest.body, ascending.body.toReversed());
  const twin = await make(server, { as, call: 'GET /devices/node-1/sensors/TC/values?lastN=2', expect: 200 });
  assert.deepEqual(twin.body, newest.body);
  const csv = await older({ call: `GET ${path}?format=csv&limit=1`, expect: 200 });
  assert.match(csv.text, /^timestamp,date_received,value\r\n2026-01-01T00:00:00Z,[^,]+,1\r\n$/);
  const { body } = await older({ call: 'GET /sensors/node-1/measurements/TC', expect: 200 });
  assert.deepEqual(body.last_value, ascending.body[0]);
});

test('the kind of a measurement is its sensing_device, by whichever name version 2 was given it', async () => {
  const json = { id: 'kinds', sensors: [{ id: 'one', sensor_kind: 'probe' }, { id: 'two' }] };
  await make(server, { as, call: 'POST /devices', json, expect: 204 });
  const { body } = await older({ call: 'GET /sensors/kinds/measurements', expect: 200 });
  assert.deepEqual(body, [{ id: 'one', sensing_device: 'probe' }, { id: 'two' }]);
  const one = await older({ call: 'GET /sensors/kinds/measurements/one', expect: 200 });
  const node = await older({ call: 'GET /sensors/kinds', expect: 200 });
  assert.deepEqual([one.body, ...node.body.measurements], [body[0], ...body]);
});

test('a create with Prefer answers 200 with the record', async () => {
  const headers = { prefer: 'return=representation' };
  const rows = [
    ['/sensors', { id: 'node-2', measurements: [{ id: 'm' }] }, '/sensors/node-2'],
    ['/sensors/node-2/measurements', { id: 'm2', unit: 'K' }, '/sensors/node-2/measurements/m2'],
  ] as const;
  for (const [path, json, location] of rows) {
    const { body, headers: answered } = await older({ call: `POST ${path}`, json, headers, expect: 200 });
    assert.equal(answered.location, `/api/v1${location}`);
    assert.deepEqual(body, (await older({ call: `GET ${location}`, expect: 200 })).body);
  }
});

test('the domain is that of the body in 1.1, and the default one by any path of 1.0', async () => {
  const rows = [
    ['/sensors', {}, 'default'],
    ['/sensors', { domain: null }, 'default'],
    ['/sensors', { domain: 'irrigation' }, 'irrigation'],
    ['/domains/irrigation/sensors', {}, 'default'],
    ['/domains/irrigation/sensors', { domain: 'other' }, 'default'],
    ['/domains/a%20b%3Dc/sensors', { domain: ['no text'] }, 'default'],
  ] as const;
  for (const [index, [path, fields, domain]] of rows.entries()) {
    const id = `domain-${index}`;
    await older({ call: `POST ${path}`, json: { id, ...fields }, expect: 200 });
    const { body } = await older({ call: `GET /domains/elsewhere/sensors/${id}`, expect: 200 });
    assert.equal(body.domain, domain);
  }
  await older({ call: 'POST /sensors', json: { id: 'x', domain: 5 }, expect: 400 });
  await older({ call: 'PUT /domains/a/sensors/domain-0/domain', text: 'named', expect: 200 });
  const { body } = await older({ call: 'GET /sensors?q=domain==named', expect: 200 });
  assert.deepEqual(
    body.map(({ id }: { id: string }) => id),
    ['domain-0'],
  );
  const { body: page, headers } = await older({ call: 'GET /domains/a/sensors?limit=2', expect: 200 });
  assert.equal(page.length, 2);
  assert.equal(headers.link, '</api/v1/domains/a/sensors?limit=2&offset=2>; rel="next"');
  // An odd domain is no reason to refuse what another word of the path is refused for.
  await older({ call: 'POST /domains/a%20b/sensors/none/measurements/m/values', json: { value: 1 }, expect: 404 });
  await older({ call: 'GET /domains/a/domains/b/sensors', expect: 404 });
});

test('filters name fields as version 1 does', async () => {
  const json = { id: 'filtered', measurements: [{ id: 'HU', unit: '%', meta: { sensors: 2 } }], meta: { sensors: 1 } };
  await older({ call: 'POST /sensors', json, expect: 200 });
  const rows = [
    ['measurements.id==HU', 1],
    ['measurements.unit==%25;owner==owner', 1],
    ['measurements.id%253D%253DHU', 1],
    ['measurements.id==nothing', 0],
    ['meta.sensors==1', 1],
    ['measurements.meta.sensors==2', 1],
  ] as const;
  for (const [q, count] of rows) {
    const { body, headers } = await older({ call: `GET /sensors?q=id==filtered;${q}`, expect: 200 });
    assert.deepEqual([body.length, headers['x-total-count']], [count, String(count)], q);
  }
  await older({ call: 'GET /sensors?q=measurements.last_value==1', expect: 400 });
  await older({ call: 'GET /sensors?q=measurements', expect: 400 });
  // What version 1 does not know by that name.
  for (const q of ['sensors.id==HU', 'actuators.id==HU']) {
    const { body } = await older({ call: `GET /sensors?q=${q}`, expect: 400 });
    assert.match(body.description, /and those of its measurements\.$/);
  }
  await older({ call: 'GET /sensors?limit=1001', expect: 400 });
});

test('a notification has sensors and measurements in its condition, and its action is its notification', async () => {
  const condition = { sensors: ['node-1'], measurements: ['TC'], expression: 'TC>40', kept: { devices: 1 } };
  const social = { usernames: ['awa'], channels: ['none'], message: '{id} is at {TC}' };
  const actuation = {
    type: 'ActuationAction',
    value: { sensor_id: 'node-1', actuator_id: 'a', actuator_value: { sensors: 1 } },
  };
  const newerActuation = {
    ...actuation,
    value: { device_id: 'node-1', actuator_id: 'a', actuator_value: { sensors: 1 } },
  };
  const rows = [
    [social, social],
    [
      { type: 'SocialAction', value: social },
      { type: 'SocialAction', value: social },
    ],
    [actuation, newerActuation],
  ];
  for (const [notification, action] of rows) {
    const json = { description: 'hot', condition, notification, action: { ignored: true }, throttling: 60 };
    const { text: id, headers } = await older({ call: 'POST /notifications', json, expect: 200 });
    assert.equal(headers.location, `/api/v1/notifications/${id}`);
    const { body } = await older({ call: `GET /notifications/${id}`, expect: 200 });
    const rest = { id, owner: 'owner', description: 'hot', throttling: 60, status: 'active', times_sent: 0 };
    assert.deepEqual(body, { ...rest, condition, notification });
    const { body: rule } = await make(server, { as, call: `GET /notifications/${id}`, expect: 200 });
    const { expression, kept } = condition;
    assert.deepEqual(rule, { ...rest, condition: { devices: ['node-1'], sensors: ['TC'], expression, kept }, action });
  }
});

test('a notification is changed, filtered, paused and deleted by the older words', async () => {
  const json = {
    condition: { sensors: ['s9'], measurements: ['m9'], expression: '' },
    notification: { usernames: ['awa'], channels: ['none'], message: 'old' },
  };
  const { text: id } = await older({ call: 'POST /notifications', json, expect: 200 });
  const change = { condition: { measurements: ['m8'] }, notification: { message: 'new' }, throttling: 9 };
  const patched = await older({ call: `PATCH /notifications/${id}`, json: change, expect: 200 });
  assert.equal(patched.bytes.length, 0);
  await older({ call: `PUT /notifications/${id}/status`, text: 'inactive', expect: 200 });
  const { body: rule } = await older({ call: `GET /notifications/${id}`, expect: 200 });
  assert.deepEqual(rule.condition, { ...json.condition, measurements: ['m8'] });
  assert.deepEqual([rule.notification.message, rule.status, rule.throttling], ['new', 'inactive', 9]);
  const rows = [
    ['condition.measurements==m8', 1],
    ['condition.sensors==s9;status==inactive', 1],
    ['notification.message==new', 1],
    ['condition.sensors==m8', 0],
    ['condition.devices==s9', 0],
  ] as const;
  for (const [q, count] of rows) {
    const { body } = await older({ call: `GET /notifications?q=${q}`, expect: 200 });
    assert.equal(body.length, count, q);
  }
  await older({ call: 'GET /notifications?q=action.message==new', expect: 400 });
  await older({ call: `DELETE /notifications/${id}`, expect: 200 });
  await older({ call: `GET /notifications/${id}`, expect: 404 });
});

test('errors say what version 2 says, in the older words, and leave ids as they are', async () => {
  await older({ call: 'POST /sensors', json: { id: 'sensor', measurements: [{ id: 'device' }] }, expect: 200 });
  const rows: readonly (readonly [Omit<Call, 'expect' | 'version'>, number, string, string | RegExp])[] = [
    [{ call: 'GET /sensors/none' }, 404, 'Not Found', 'There is no sensor none.'],
    [{ call: 'GET /sensors/devices' }, 404, 'Not Found', 'There is no sensor devices.'],
    [
      { call: 'GET /sensors/sensor/measurements/sensors' },
      404,
      'Not Found',
      'Sensor sensor has no measurement sensors.',
    ],
    [
      { as: 'stranger', call: 'GET /sensors/sensor' },
      403,
      'Forbidden',
      'You need the right sensors:view on sensor sensor.',
    ],
    [{ call: 'POST /sensors', json: { id: 'sensor' } }, 422, 'Already Exists', /^There is a sensor sensor already\./],
    [{ call: 'POST /sensors', json: { measurements: [] } }, 400, 'Bad Request', '/id is missing.'],
    [
      { call: 'POST /sensors', json: { id: 'y', measurements: [{ id: 'a' }, {}] } },
      400,
      'Bad Request',
      '/measurements/1/id is missing.',
    ],
    [{ call: 'POST /sensors', text: 'id' }, 415, 'Unsupported Media Type', /^The body must be JSON\./],
    [{ call: 'POST /sensors', json: [] }, 400, 'Bad Request', /body/],
    [{ call: 'POST /notifications', json: { condition: {} } }, 400, 'Bad Request', '/notification is missing.'],
    [
      { call: 'POST /notifications', json: { condition: { sensors: 'x' }, notification: {} } },
      400,
      'Bad Request',
      '/condition/sensors must be an array of texts.',
    ],
    [
      { call: 'POST /sensors', json: { id: 'y', measurements: [{ id: 'device' }, { id: 'device' }] } },
      400,
      'Bad Request',
      'The id device occurs twice.',
    ],
    [
      { call: 'PUT /sensors/sensor/visibility', text: 'device' },
      400,
      'Bad Request',
      'The visibility is public or private, not "device".',
    ],
    [{ call: 'GET /users/sensor' }, 404, 'Not Found', 'There is no user with the id sensor.'],
    [
      { call: 'GET /sensors?q=measurements.id=m' },
      400,
      'Bad Request',
      /^Cannot read the filter "measurements\.id=m"\./,
    ],
    [{ call: 'GET /notifications/nothing' }, 400, 'Bad Request', /24 hex digits/],
    [{ call: 'GET /devices/sensor' }, 404, 'Not Found', /^There is nothing at \/api\/v1\/devices\/sensor\./],
    [{ call: 'GET /sensors/sensor/actuators' }, 404, 'Not Found', /^There is nothing at /],
    [{ call: 'PUT /sensors/sensor/owner', text: 'sharer' }, 404, 'Not Found', /^There is nothing at /],
    [{ call: 'PATCH /sensors/sensor' }, 405, 'Method Not Allowed', /^\/api\/v1\/sensors\/sensor takes /],
    [{ call: 'GET /sensors/%zz' }, 400, 'Bad Request', /%zz/],
    [
      {
        call: 'PUT /sensors/sensor/name',
        body: 'x',
        headers: { 'content-type': 'application/xml' },
      },
      415,
      'Unsupported Media Type',
      /./,
    ],
  ];
  for (const [call, expect, error, description] of rows) {
    const { body } = await older({ ...call, expect });
    assert.equal(body.error, error, call.call);
    if (typeof description === 'string') assert.equal(body.description, description);
    else assert.match(body.description, description);
  }
});

test('what breaks before a route is found is told in the older shape too', async () => {
  const rows = [
    ['GET /api/v1/sensors?q=name==Näme HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'application/json'],
    ['GET /api/v1/sensors?q=name==a b HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'application/json'],
    [`GET /api/v1/sensors HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'application/json'],
    ['GET /api/v10/sensors?q=ä HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'application/problem+json'],
    ['/api/v1/sensors\r\n\r\n', 400, 'application/problem+json'],
  ] as const;
  for (const [bytes, status, type] of rows) {
    const socket = connect(server.running.ports.http, '127.0.0.1');
    socket.on('error', () => {});
    socket.end(bytes);
    const [head = '', body = ''] = (await readText(socket)).split('\r\n\r\n');
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `));
    assert.ok(head.includes(`Content-Type: ${type}; charset=utf-8`), head);
    const fields = type === 'application/json' ? ['error', 'description'] : [];
    assert.deepEqual(Object.keys(JSON.parse(body)).slice(0, fields.length), fields);
    if (fields.length > 0) assert.equal(Object.keys(JSON.parse(body)).length, 2);
  }
});

test('what is not JSON, too deep or too large is refused without a 500', async () => {
  const rows = [
    ['{', 400],
    ['null', 400],
    ['"text"', 400],
    ['[{"id":"a"}]', 400],
    ['{"__proto__":{"id":"polluted"}}', 400],
    [`{"id":"deep","meta":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`, 400],
    [`{"id":"${'x'.repeat(300)}"}`, 400],
  ] as const;
  for (const [body, expect] of rows) {
    const headers = { 'content-type': 'application/json' };
    await older({ call: 'POST /sensors', body, headers, expect });
    await older({ call: 'POST /notifications', body, headers, expect });
  }
});

test('a token is good for a minute, asked for by POST or by GET with HTTP Basic', async () => {
  const login = { username: 'owner', password };
  const posted = await older({ as: 'guest', call: 'POST /auth/token', json: login, expect: 200 });
  const got = await older({
    ...{ as: 'guest', call: 'GET /auth/token', expect: 200 },
    headers: basic(`owner:${password}`),
  });
  assert.equal(got.headers['content-type'], 'text/plain;charset=utf-8');
  assert.equal(got.headers['cache-control'], 'no-store');
  const json = await older({
    ...{ as: 'guest', call: 'GET /domains/d/auth/token', expect: 200 },
    headers: { ...basic(`owner:${password}`), accept: 'application/json' },
  });
  for (const token of [posted.text, got.text, json.body]) {
    const headers = { authorization: `Bearer ${token}` };
    const { body } = await older({ as: 'guest', call: 'GET /users/me', headers, expect: 200 });
    assert.equal(body.username, 'owner');
  }
  server.clock.advance(59_000);
  const headers = { authorization: `Bearer ${got.text}` };
  await older({ as: 'guest', call: 'GET /users/me', headers, expect: 200 });
  server.clock.advance(1_000);
  await older({ as: 'guest', call: 'GET /users/me', headers, expect: 401 });
  await make(server, { call: 'GET /devices', headers, expect: 401 });
});

test('a wrong login is 401, and HTTP Basic opens no other door', async () => {
  for (const login of ['owner:wrong', 'nobody:x', 'owner', ':', '', 'guest:', `owner:${password} `]) {
    await older({ as: 'guest', call: 'GET /auth/token', headers: basic(login), expect: 401 });
  }
  const headers = basic(`owner:${password}`);
  for (const call of ['GET /auth/token', 'GET /sensors']) {
    await older({ as: 'guest', call, headers: { authorization: 'Basic' }, expect: 401 });
  }
  await older({ as: 'guest', call: 'GET /auth/token', expect: 401 });
  await older({ as: 'guest', call: 'GET /sensors', headers, expect: 401 });
  await older({ as: 'guest', call: 'POST /sensors', json: { id: 'basic' }, headers, expect: 401 });
  await make(server, { call: 'GET /devices', headers, expect: 401 });
  await older({ as: 'guest', call: 'POST /auth/token', json: { username: 'owner' }, expect: 400 });
});

test('who asks for a token without a login hears that HTTP Basic is taken there, and nowhere else', async () => {
  const rows = [
    ['GET /auth/token', 'Bearer realm="dundun", Basic realm="dundun", charset="UTF-8"'],
    ['GET /domains/d/auth/token', 'Bearer realm="dundun", Basic realm="dundun", charset="UTF-8"'],
    ['GET /sensors', 'Bearer realm="dundun"'],
  ] as const;
  for (const [call, challenge] of rows) {
    const answer = await older({ as: 'guest', call, headers: basic('owner:wrong'), expect: 401 });
    assert.equal(answer.headers['www-authenticate'], challenge, call);
  }
});

test('HEAD, a trailing slash and OPTIONS work as everywhere', async () => {
  const head = await older({ call: 'HEAD /sensors/node-1', expect: 200 });
  assert.equal(head.bytes.length, 0);
  await older({ call: 'GET /sensors/node-1/', expect: 200 });
  const { status } = await server.request('guest', 'OPTIONS', '/api/v1/sensors', {
    headers: { origin: 'http://page.example' },
  });
  assert.equal(status, 204);
});
