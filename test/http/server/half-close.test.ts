// A client may close its half of a connection after its last request (RFC 9112 section 9.6): pushes are stored and
// answered, by Node.js's server and by the fast path.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { readAll } from '../../support/peers/http-connection.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const json = { id: 'd', visibility: 'public', sensors: [{ id: 's' }] };
  assert.equal((await server.call('guest', 'POST', '/devices', { json })).status, 204);
});
after(() => server.stop());

async function open(): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: server.running.ports.http, allowHalfOpen: true }).setNoDelay();
  await once(socket, 'connect');
  return socket;
}

function post(path: string, body: object): string {
  const json = JSON.stringify(body);
  return `POST /api/v2${path} HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
}
const push = (value: number) => post('/devices/d/sensors/s/value', { value });
const statusesOf = (answers: string) =>
  [...answers.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
const valuesOf = async () => {
  const { body } = await server.call('guest', 'GET', '/devices/d/sensors/s/values?limit=1000');
  return (body as { value: number }[]).map(({ value }) => value).sort((a, b) => a - b);
};

for (const [what, request, status] of [
  ['a request that reads', 'GET /api/v2/devices/d HTTP/1.1\r\nHost: d\r\n\r\n', 200],
  ['one that stores a record', post('/devices', { id: 'made' }), 204],
  ['one that is refused', post('/devices', { id: 'd' }), 422],
  ['a push', push(1), 204],
] as const) {
  test(`${what}, and the end of the client's half behind it, is answered`, async () => {
    const socket = await open();
    socket.end(request);
    assert.deepEqual(statusesOf(await readAll(socket)), [status]);
  });
}

test('usual pushes on a connection that is known, in front of its end, are each answered', async () => {
  for (let value = 10; value < 30; value++) {
    const socket = await open();
    // From the second request on they are in the fast path.
    socket.write(push(value * 10));
    await once(socket, 'data');
    socket.end(push(value * 10 + 1) + push(value * 10 + 2));
    assert.deepEqual(statusesOf(await readAll(socket)), [204, 204]);
  }
  const values = await valuesOf();
  for (let value = 10; value < 30; value++) assert.ok(values.includes(value * 10 + 2), `${value}`);
});

test('of several requests in front of the end all are answered, those that are no pushes too', async () => {
  const socket = await open();
  socket.write(push(1000));
  await once(socket, 'data');
  socket.end(push(1001) + post('/devices', { id: 'between' }) + push(1002) + post('/devices', { id: 'behind' }));
  assert.deepEqual(statusesOf(await readAll(socket)), [204, 204, 204, 204]);
});

test('a request without its end is refused, and nothing of it is stored', async () => {
  for (const begun of [push(5000).slice(0, -3), push(5001).slice(0, 40)]) {
    const socket = await open();
    socket.write(push(5002));
    await once(socket, 'data');
    socket.end(begun);
    assert.deepEqual(statusesOf(await readAll(socket)), [400]);
  }
  const values = await valuesOf();
  assert.ok(!values.includes(5000) && !values.includes(5001));
});

test('a live stream ends with the half of its reader', async () => {
  const socket = await open();
  socket.write('GET /api/v2/devices/d/live HTTP/1.1\r\nHost: d\r\n\r\n');
  await once(socket, 'data');
  socket.end();
  socket.resume();
  await until(() => socket.closed);
});
