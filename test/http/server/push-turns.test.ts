// Usual pushes over HTTP beyond what one turn of the event loop allows wait as they were received, and callers are served in
// turns. The time of a turn ends after each connection here, so that the test measures no time.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { setLimits } from '../../support/limits.ts';
import { Client, open, readAll } from '../../support/peers/http-connection.ts';
import { password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

setLimits({ pushTurnMsMax: 1e-6 });

const connections = 20;
let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const sensors = Array.from({ length: connections }, (_, n) => ({ id: `s${n}` }));
  const json = { id: 'd', visibility: 'public', sensors };
  assert.equal((await server.call('guest', 'POST', '/devices', { json })).status, 204);
});
after(() => server.stop());

const post = (path: string, body: object) => {
  const json = JSON.stringify(body);
  return `POST /api/v2${path} HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
};
const push = (sensor: number, value: number) => post(`/devices/d/sensors/s${sensor}/values`, { value });
const get = 'GET /api/v2/devices/d HTTP/1.1\r\nHost: d\r\n\r\n';
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);
const statusesOf = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

const valuesOf = async (sensor: number): Promise<number[]> => {
  const answer = await server.call('guest', 'GET', `/devices/d/sensors/s${sensor}/values?limit=1000&sort=asc`);
  return (answer.body as { value: number }[]).map(({ value }) => value);
};

/** A connection that is known: its pushes go past the framework. */
async function openKnown(): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: server.running.ports.http, allowHalfOpen: true }).setNoDelay();
  await once(socket, 'connect');
  socket.write('GET /health/live HTTP/1.1\r\nHost: d\r\n\r\n');
  await once(socket, 'data');
  return socket;
}

suite('usual pushes over HTTP take turns:', () => {
  test('of many connections each is stored and answered once, in its order, however they are cut', async () => {
    const count = 200;
    const clients = await Promise.all(
      Array.from({ length: connections }, () => Client.connect(server.running.ports.http)),
    );
    const answers = await Promise.all(
      clients.map((client, n) =>
        client.askAtOnce(
          upTo(count).map((value) => Buffer.from(push(n, value))),
          [0.013 + n / 100, 0.31, 0.77],
        ),
      ),
    );
    for (const [n, client] of clients.entries()) {
      assert.ok(answers[n]?.every((answer) => answer?.startsWith('HTTP/1.1 204')));
      assert.deepEqual(await valuesOf(n), upTo(count));
      client.end();
    }
  });

  test('where a turn has no time for them they wait, while all else is answered', async () => {
    const socket = await openKnown();
    let text = '';
    const answered = new Promise<void>((resolve) =>
      socket.on('data', (piece) => {
        text += piece.toString('latin1');
        if (statusesOf(text).length === 2) resolve();
      }),
    );
    const other = await Client.connect(server.running.ports.http);
    const { pushTurnMsMax } = limits;
    Object.assign(limits, { pushTurnMsMax: 0 });
    try {
      socket.write(push(3, 1_000) + push(3, 1_001));
      for (let n = 0; n < 20; n += 1) assert.match((await other.ask(Buffer.from(get))) ?? '', /^HTTP\/1\.1 200/);
      // Whoever signs in on a new connection waits for no push either.
      const fresh = await open(server.running.ports.http);
      const signedIn = readAll(fresh);
      fresh.end(post('/auth/token', { username: 'owner', password }));
      assert.deepEqual(statusesOf(await signedIn), [200]);
      assert.equal(text, '');
      assert.ok(!(await valuesOf(3)).includes(1_000));
    } finally {
      Object.assign(limits, { pushTurnMsMax });
    }
    await answered;
    assert.deepEqual(statusesOf(text), [204, 204]);
    assert.deepEqual((await valuesOf(3)).slice(-2), [1_000, 1_001]);
    socket.destroy();
    other.end();
  });

  test('what else was sent on the connection is answered in its order, the end of its half behind it', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, openKnown));
    for (const [n, other] of others.entries()) other.write(push(n, 2_000).repeat(100));
    const mixed = await openKnown();
    mixed.end(push(7, 3_000) + get + push(7, 3_001) + post('/devices', { id: 'made' }) + push(7, 3_002));
    const answers = readAll(mixed);
    const alone = await openKnown();
    alone.end(post('/devices', { id: 'alone' }));
    assert.deepEqual(statusesOf(await readAll(alone)), [204]);
    assert.deepEqual(statusesOf(await answers), [204, 200, 204, 204, 204]);
    assert.deepEqual((await valuesOf(7)).slice(-3), [3_000, 3_001, 3_002]);
    for (const other of others) other.destroy();
  });

  test('a request that is cut by the end of the half behind pushes is refused, and ends the connection', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, openKnown));
    for (const [n, other] of others.entries()) other.write(push(n, 4_000).repeat(100));
    const whole = push(9, 4_000) + push(9, 4_001);
    for (const [cut, statuses] of [
      [whole.length - 5, [204, 400]],
      [whole.length - 60, [204, 400]],
    ] as const) {
      const socket = await openKnown();
      socket.end(whole.slice(0, cut));
      assert.deepEqual(statusesOf(await readAll(socket)), statuses);
    }
    for (const other of others) other.destroy();
  });

  test('pushes that wait for their turn when the service stops are answered, if only with a refusal', async () => {
    const own = await TestServer.start();
    const json = { id: 'd', visibility: 'public', sensors: [{ id: 's0' }] };
    assert.equal((await own.call('guest', 'POST', '/devices', { json })).status, 204);
    const socket = connect({ host: '127.0.0.1', port: own.running.ports.http }).setNoDelay();
    await once(socket, 'connect');
    // Known, and its device in memory.
    socket.write(push(0, 1));
    await once(socket, 'data');
    const { pushTurnMsMax } = limits;
    Object.assign(limits, { pushTurnMsMax: 0 });
    try {
      const answer = readAll(socket);
      socket.write(push(0, 2));
      const other = await Client.connect(own.running.ports.http);
      for (let n = 0; n < 3; n += 1) await other.ask(Buffer.from(get));
      other.end();
      await own.stop();
      assert.deepEqual(statusesOf(await answer), [503]);
    } finally {
      Object.assign(limits, { pushTurnMsMax });
    }
  });
});
