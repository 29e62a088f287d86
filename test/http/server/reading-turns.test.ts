// Connections whose pushes were answered are read in turns while many others push: nothing is lost, doubled or overtaken by that, and
// nothing hangs. A few pushes are many here.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { setLimits } from '../../support/limits.ts';
import { answersOf, readAll } from '../../support/peers/http-connection.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

setLimits({ pushesUnderWayMin: 3, pushesUnderWayMax: 3 });

const pairs = join(import.meta.dirname, '../../support/tls');
const certFile = join(pairs, 'cert.pem');
const tls = { DUNDUN_TLS_CERT: certFile, DUNDUN_TLS_KEY: join(pairs, 'key.pem') };

const connections = 20;
const count = 120;
const depth = 12;

const post = (path: string, body: object) => {
  const json = JSON.stringify(body);
  return `POST /api/v2${path} HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
};
const push = (sensor: number, value: number) => post(`/devices/d/sensors/s${sensor}/values`, { value });
const get = 'GET /api/v2/devices/d HTTP/1.1\r\nHost: d\r\n\r\n';
const upTo = (most: number) => Array.from({ length: most }, (_, n) => n + 1);
const statusesOf = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

async function startWithDevice(settings: Readonly<Record<string, string>>): Promise<TestServer> {
  const server = await TestServer.start(settings);
  const sensors = Array.from({ length: connections }, (_, n) => ({ id: `s${n}` }));
  const json = { id: 'd', visibility: 'public', sensors };
  assert.equal((await server.call('guest', 'POST', '/devices', { json })).status, 204);
  return server;
}

async function valuesOf(server: TestServer, sensor: number): Promise<number[]> {
  const answer = await server.call('guest', 'GET', `/devices/d/sensors/s${sensor}/values?limit=1000&sort=asc`);
  return (answer.body as { value: number }[]).map(({ value }) => value);
}

/** A connection on which a push has been answered. */
async function openKnown(server: TestServer, sensor: number, isTls: boolean): Promise<Socket> {
  const { http: port } = server.running.ports;
  const plain = connect({ host: '127.0.0.1', port, allowHalfOpen: true }).setNoDelay();
  const socket = isTls ? connectTls({ socket: plain, ca: readFileSync(certFile), servername: 'localhost' }) : plain;
  await once(socket, isTls ? 'secureConnect' : 'connect');
  socket.write(push(sensor, 0));
  await once(socket, 'data');
  return socket;
}

/** Keeps so many pushes outstanding, until all are answered. */
async function pushAll(socket: Socket, sensor: number): Promise<number[]> {
  const answers = answersOf(socket);
  const statuses: number[] = [];
  let sent = 0;
  const fill = () => {
    let text = '';
    for (; sent < count && sent - statuses.length < depth; sent += 1) text += push(sensor, sent + 1);
    if (text !== '') socket.write(text);
  };
  fill();
  while (statuses.length < count) {
    const { value, done } = await answers.next();
    if (done === true) break;
    statuses.push(...statusesOf(value));
    fill();
  }
  return statuses;
}

for (const { over, settings, isTls } of [
  { over: 'plain HTTP', settings: {}, isTls: false },
  { over: 'TLS', settings: tls, isTls: true },
  { over: 'connections of a proxy', settings: { DUNDUN_TRUST_PROXY: '127.0.0.1' }, isTls: false },
])
  suite(`over ${over}, connections that are read in turns`, () => {
    let server: TestServer;
    before(async () => {
      server = await startWithDevice(settings);
    });
    after(() => server.stop());

    test('have each push stored and answered once, in its order', async () => {
      const sockets = await Promise.all(upTo(connections).map((n) => openKnown(server, n - 1, isTls)));
      const statuses = await Promise.all(sockets.map((socket, n) => pushAll(socket, n)));
      for (const [n, socket] of sockets.entries()) {
        assert.deepEqual(statuses[n], Array(count).fill(204));
        assert.deepEqual(await valuesOf(server, n), [0, ...upTo(count)]);
        socket.destroy();
      }
    });

    test('that are cut meanwhile hold up nobody', async () => {
      const sockets = await Promise.all(upTo(connections).map((n) => openKnown(server, n - 1, isTls)));
      const [stay, ...go] = sockets as [Socket, ...Socket[]];
      for (const [n, socket] of go.entries()) socket.write(push(n + 1, -1).repeat(count));
      for (const socket of go) void once(socket, 'data').then(() => socket.destroy());
      assert.deepEqual(await pushAll(stay, 0), Array(count).fill(204));
      stay.destroy();
    });
  });

suite('where a service reads connections in turns', () => {
  test('what else comes behind pushes is answered in its order, and the end of the half behind it', async (t) => {
    const server = await startWithDevice({});
    t.after(() => server.stop());
    const others = await Promise.all(upTo(10).map((n) => openKnown(server, n, false)));
    const pushing = Promise.all(others.map((socket, n) => pushAll(socket, n + 1)));
    const mixed = await openKnown(server, 0, false);
    const answers = readAll(mixed);
    mixed.write(push(0, 1));
    await until(async () => (await valuesOf(server, 0)).length === 2);
    mixed.end(push(0, 2) + get + push(0, 3) + post('/devices', { id: 'made' }) + push(0, 4));
    assert.deepEqual(statusesOf(await answers), [204, 204, 200, 204, 204, 204]);
    assert.deepEqual(await valuesOf(server, 0), [0, 1, 2, 3, 4]);
    for (const statuses of await pushing) assert.deepEqual(statuses, Array(count).fill(204));
    for (const socket of others) socket.destroy();
  });

  test('it stops in time: what was acknowledged is stored, and no connection hangs', async () => {
    const server = await startWithDevice({});
    const sockets = await Promise.all(upTo(connections).map((n) => openKnown(server, n - 1, false)));
    const pushing = Promise.all(sockets.map((socket, n) => pushAll(socket, n).catch(() => [])));
    await until(async () => (await valuesOf(server, 3)).length > 10);
    const beganMs = performance.now();
    await server.running.close();
    assert.ok(performance.now() - beganMs < 5_000, 'it waited for connections');
    const acknowledged = (await pushing).map((statuses) => statuses.filter((status) => status === 204).length);
    await server.restart();
    for (const [n, most] of acknowledged.entries()) {
      const values = await valuesOf(server, n);
      assert.deepEqual(values, [0, ...upTo(values.length - 1)]);
      assert.ok(values.length - 1 >= most, `${most} were acknowledged, ${values.length - 1} are stored`);
    }
    await server.stop();
  });
});
