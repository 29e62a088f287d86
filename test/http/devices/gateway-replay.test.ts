// The calls of a gateway in the field when it starts: it fetches a token, declares itself, finds its device missing
// and creates it with its sensors, sends stored readings, and subscribes to actuators.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { password } from '../../support/people.ts';
import { type Answer, TestServer } from '../../support/test-server.ts';

let server: TestServer;
let token = '';
const gateway = 'field-gateway-1';
const device = 'field-node-7';
const path = `/api/v2/devices/${device}`;
/** As many readings as one request takes, one a minute, which the gateway kept while it had no line. */
const kept = 30_000;
const begunMs = Date.UTC(2025, 11, 1);

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

/** The gateway fetches a token before each call, and sends it with quotes, as it once got it. */
async function call(
  method: string,
  url: string,
  body?: string,
  type = 'application/json; charset=utf-8',
): Promise<Answer> {
  const login = JSON.stringify({ username: 'owner', password });
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  const answer = await server.send('POST', '/api/v2/auth/token', { body: login, headers });
  assert.equal(answer.status, 200);
  token = answer.text;
  // The type stands there even where there is no body.
  const authorization = `Bearer "${token}"`;
  return server.send(method, url, {
    ...(body === undefined ? {} : { body }),
    headers: { 'content-type': type, authorization },
  });
}

test('the token is bare text', async () => {
  const login = { json: { username: 'owner', password } };
  const { headers, text } = await server.send('POST', '/api/v2/auth/token', login);
  assert.equal(headers['content-type'], 'text/plain;charset=utf-8');
  assert.match(text, /^[\w-]+\.[\w-]+\.[\w-]+$/);
});

test('the gateway declares itself, at its first start and at later ones', async () => {
  const json = JSON.stringify({ id: gateway, name: 'Gateway of the field', visibility: 'public' });
  const first = await call('POST', '/api/v2/gateways', json);
  assert.equal(first.status, 200, first.text);
  assert.equal((await call('POST', '/api/v2/gateways', json)).status, 422);
});

test('the device is missing, is created without a visibility, and gets its sensors one by one', async () => {
  assert.equal((await call('GET', path)).status, 404);
  const json = JSON.stringify({ id: device, name: 'Node 7', gateway_id: gateway, domain: 'field' });
  assert.equal((await call('POST', '/api/v2/devices', json)).status, 204);
  for (const id of ['TC', 'HU', 'BAT']) {
    assert.equal((await call('GET', `${path}/sensors/${id}`)).status, 404);
    const sensor = { id, name: id, sensor_kind: 'probe', quantity_kind: 'temperature', unit: '°C', last_value: null };
    assert.equal((await call('POST', `${path}/sensors`, JSON.stringify(sensor))).status, 204);
  }
  assert.equal((await call('POST', `${path}/actuators`, '{"id":"valve","actuator_value_type":"bool"}')).status, 204);
  const { body } = await call('GET', path);
  assert.deepEqual([body.visibility, body.owner, body.gateway_id], ['private', 'owner', gateway]);
});

test('what it kept arrives in one request with a line feed between readings', async () => {
  const readings = Array.from({ length: kept }, (_, n) =>
    JSON.stringify({ value: n / 10, timestamp: new Date(begunMs + n * 60_000).toISOString() }),
  );
  const answer = await call(
    'POST',
    `${path}/sensors/TC/values`,
    `[${readings.join(',\n')}\n]\n`,
    'application/json;charset=UTF-8',
  );
  assert.deepEqual([answer.status, answer.text], [204, '']);
});

test('after a restart of the service the device shows its value with the time it was measured', async () => {
  await server.restart();
  const { body } = await call('GET', path);
  const [TC, HU] = body.sensors;
  const last = { value: (kept - 1) / 10, timestamp: '2025-12-21T19:59:00Z', date_received: '2026-01-15T12:00:00Z' };
  assert.deepEqual([TC.value, TC.last_value], [last, last]);
  assert.match(TC.value.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  assert.equal(HU.value, undefined);
  const all = await call('GET', `${path}/sensors/TC/values?limit=30000`);
  assert.equal(all.body.length, kept);
  assert.deepEqual(
    all.body.map((point: { value: number }) => point.value),
    Array.from({ length: kept }, (_, n) => n / 10),
  );
});

test('it listens with one SUBSCRIBE under its own id, and what is set by REST arrives', async () => {
  const client = await RawClient.connect(server, 'owner', { clientId: gateway, keepalive: 5000 });
  const filters = [
    'devices/+/actuators/+/value',
    '/devices/+/actuators/+/value',
    `devices/${device}/actuators/+/value`,
  ];
  const subscriptions = filters.map((topic) => ({ topic, qos: 1 as const }));
  client.send({ cmd: 'subscribe', messageId: 7, subscriptions });
  const { granted, messageId } = await client.next('suback');
  assert.deepEqual([messageId, granted], [7, [1, 1, 1]]);
  assert.equal((await call('GET', `/api/v2/gateways/${gateway}`)).body.connected, true);

  assert.equal((await call('PUT', `${path}/actuators/valve/value`, 'true')).status, 204);
  const arrived = [await client.next('publish'), await client.next('publish')];
  await client.roundTrip();
  // Once for each form it asked for, the one with a slash before it and the one without.
  assert.deepEqual(client.takePublishes(), []);
  assert.deepEqual(arrived.map(({ topic, payload }) => `${topic} ${payload}`).sort(), [
    `/devices/${device}/actuators/valve/value true`,
    `devices/${device}/actuators/valve/value true`,
  ]);
  await client.end();
});

test('its heartbeat is taken at either path, with any body or none', async () => {
  for (const url of [`/gateways/${gateway}/health`, `/api/v2/gateways/${gateway}/heartbeat`]) {
    assert.equal((await call('PUT', url)).status, 204);
    assert.equal((await call('POST', url, '{}')).status, 204);
  }
  const { body } = await call('GET', `/api/v2/gateways/${gateway}`);
  assert.equal(body.last_seen, '2026-01-15T12:00:00Z');
});
