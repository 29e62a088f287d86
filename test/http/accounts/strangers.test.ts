// Regression tests for attempts of a stranger that once succeeded.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { ConfigError, parseConfig } from '../../../src/config/config.ts';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const values = '/devices/again/sensors/s/values';
const device = { id: 'again', sensors: [{ id: 's' }] };

async function readValues(path = values): Promise<unknown[]> {
  const answer = await server.call('owner', 'GET', path);
  return answer.body.map((point: { value: unknown }) => point.value);
}

suite('an Idempotency-Key', () => {
  const push = (json: unknown) => ({ json, headers: { 'idempotency-key': 'once' } });

  test('does not outlive the sensor it was used for: what is acknowledged is stored', async () => {
    await server.call('owner', 'POST', '/devices', { json: device });
    await make(server, { as: 'owner', call: `POST ${values}`, ...push({ value: 1 }), expect: 204 });
    await server.call('owner', 'DELETE', '/devices/again');
    await server.call('owner', 'POST', '/devices', { json: device });
    await make(server, { as: 'owner', call: `POST ${values}`, ...push({ value: 1 }), expect: 204 });
    await make(server, { as: 'owner', call: `POST ${values}`, ...push({ value: 1 }), expect: 204 });
    assert.deepEqual(await readValues(), [1]);
  });

  test('does not take the same bytes of another type for a repeat', async () => {
    const headers = { 'idempotency-key': 'typed' };
    await make(server, { as: 'owner', call: `POST ${values}`, json: { value: 2 }, headers, expect: 204 });
    await make(server, { as: 'owner', call: `POST ${values}`, text: '{"value":2}', headers, expect: 422 });
  });
});

test('an Upgrade that is not for MQTT over WebSocket is passed over, as HTTP allows', async () => {
  const body = '{"value": 3}';
  const head = `POST /api/v2/devices/open/sensors/s/values HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n`;
  await server.call('guest', 'POST', '/devices', { json: { id: 'open', sensors: [{ id: 's' }] } });
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  assert.match(answer, /^HTTP\/1\.1 204 /);
  assert.deepEqual(await readValues('/devices/open/sensors/s/values'), [3]);
});

test('a body in an encoding is refused, not kept as it came', async () => {
  const headers = { 'content-encoding': 'gzip' };
  await make(server, { as: 'owner', call: `POST ${values}`, json: { value: 1 }, headers, expect: 415 });
  await make(server, { as: 'owner', call: `POST ${values}`, text: 'x', headers, expect: 415 });
});

test('a refusal names what would be right', async () => {
  const rows = [
    { json: { id: 'a b' }, says: /without spaces/ },
    { json: { id: 'x', visibility: 'secret' }, says: /one of public, private/ },
    { json: { id: 'x', actuators: [{ id: 'a', value_type: 'frob' }] }, says: /one of string, number, bool/ },
    { json: { id: 'x', gateway_id: 'a b' }, says: /gateway_id must be an id/ },
  ];
  for (const { json, says } of rows) {
    const answer = await make(server, { as: 'owner', call: 'POST /devices', json, expect: 400 });
    assert.match(answer.body.detail, says);
  }
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'x', name: 'n'.repeat(5000) }, expect: 400 });
  const spaced = await make(server, {
    as: 'owner',
    call: 'POST /devices/a%20b/sensors/s/values',
    json: { value: 1 },
    expect: 400,
  });
  assert.match(spaced.body.detail, /must be an id/);
});

test('a bad token is 401 below /api, whatever the path and method', async () => {
  const headers = { authorization: 'Bearer x' };
  for (const call of ['GET /zzz', 'PATCH /devices', 'GET /devices']) {
    await make(server, { call, headers, expect: 401 });
  }
  // Where a token is asked for, the old one is not looked at (contract 2): the body is what is wrong.
  await make(server, { call: 'POST /auth/token', headers, expect: 400 });
});

test('origins that are none are named at start', () => {
  assert.throws(
    () => parseConfig({ DUNDUN_CORS_ORIGINS: 'https://a.example, xyz' }),
    (error: unknown) => {
      return error instanceof ConfigError && /DUNDUN_CORS_ORIGINS.*xyz/.test(error.message);
    },
  );
});
