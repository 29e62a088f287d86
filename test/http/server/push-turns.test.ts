// Usual pushes over HTTP beyond what one turn of the event loop allows wait as they were received, and callers are served in
// turns. The time of a turn ends after each connection here, so that the test measures no time.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setLimits } from '../../support/limits.ts';
import { Client, readAll } from '../../support/peers/http-connection.ts';
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
const push = (sensor: number, value: number) => post(`/devices/d/sensors/s${sensor}/value`, { value });
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

  test('a turn takes no more than it has time for, whatever came', async () => {
    const sockets = await Promise.all(Array.from({ length: connections }, openKnown));
    let answered = 0;
    // How many connections were answered by each turn of the event loop, which the server shares with this test.
    let turns = 0;
    const ends = sockets.map((socket, n) => {
      socket.write(Array.from({ length: 16 }, (_, i) => push(n, 1_000 + i)).join(''));
      let text = '';
      return new Promise<void>((resolve) =>
        socket.on('data', (piece) => {
          text += piece.toString('latin1');
          if (statusesOf(text).length < 16) return;
          answered += 1;
          resolve();
        }),
      );
    });
    const count = () => {
      turns += 1;
      if (answered < connections) setImmediate(count);
    };
    setImmediate(count);
    await Promise.all(ends);
    // One connection in each turn at most.
    assert.ok(turns >= connections, `${turns} turns for ${connections} connections`);
    for (const socket of sockets) socket.destroy();
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
});
