// Pushes of many connections at once whose sender or device the service has not in memory, as after a restart: the framework has a
// few of an address at a time, the others wait, and once one is answered the fast path takes the rest.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { setLimits } from '../../support/limits.ts';
import { Client, open, openAccepted, readAll } from '../../support/peers/http-connection.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const most = 2;
const connections = 30;
const unreadPushes = 8_000;
// Nobody waits so long that it ends by that.
setLimits({ unknownPushesMax: most, pushWaitMsMax: 600_000 });

let server: TestServer;
before(async () => {
  server = await TestServer.start();
  const json = { id: 'd', sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json })).status, 204);
});
after(() => server.stop());

const push = (authorization: string, value: number, device = 'd') => {
  const body = JSON.stringify({ value });
  return `POST /api/v2/devices/${device}/sensors/s/values HTTP/1.1\r\nHost: d\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
const madeUp = 'Bearer made.up.token';
const statusesOf = (answers: string) => [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
const openAll = (of = server) => openAccepted(of.running.ports.http, connections);

/** Requests that the server of Node.js has at once while `work` runs, at most, and how many in all. */
async function counted(work: () => Promise<void>): Promise<{ atOnce: number; all: number }> {
  let [now, atOnce, all] = [0, 0, 0];
  const isOurs = (message: unknown) =>
    (message as { readonly socket: Socket }).socket.localPort === server.running.ports.http;
  const begun = (message: unknown) => {
    if (!isOurs(message)) return;
    now += 1;
    all += 1;
    atOnce = Math.max(atOnce, now);
  };
  const ended = (message: unknown) => {
    if (isOurs(message)) now -= 1;
  };
  subscribe('http.server.request.start', begun);
  subscribe('http.server.response.finish', ended);
  try {
    await work();
  } finally {
    unsubscribe('http.server.request.start', begun);
    unsubscribe('http.server.response.finish', ended);
  }
  return { atOnce, all };
}

suite('pushes of many connections at once', () => {
  test('with a key that was not used before are found out by a few of them, and all are stored once', async () => {
    const { body } = await server.call('owner', 'POST', '/auth/keys', { json: { name: 'new' } });
    let byFramework = 0;
    const note = () => {
      byFramework += 1;
    };
    const sockets = await openAll();
    subscribe('tracing:fastify.request.handler:start', note);
    const answers = sockets.map(readAll);
    for (const [n, socket] of sockets.entries()) socket.end(push(`Bearer ${body.key}`, n));
    for (const answer of await Promise.all(answers)) assert.deepEqual(statusesOf(answer), [204]);
    unsubscribe('tracing:fastify.request.handler:start', note);
    assert.ok(byFramework >= 1 && byFramework <= most, `${byFramework} in the framework`);
    const stored = await server.call('owner', 'GET', '/devices/d/sensors/s/values?limit=100');
    assert.deepEqual(
      stored.body.map(({ value }: { value: number }) => value).sort((a: number, b: number) => a - b),
      Array.from({ length: connections }, (_, n) => n),
    );
  });

  test('by nobody who is known are refused, a few at a time, and those behind them on a connection after them', async () => {
    const { atOnce, all } = await counted(async () => {
      const sockets = await openAll();
      const answers = sockets.map(readAll);
      for (const socket of sockets) socket.end(push(madeUp, 1).repeat(3));
      for (const answer of await Promise.all(answers)) assert.deepEqual(statusesOf(answer), [401, 401, 401]);
    });
    assert.equal(all, 3 * connections);
    // One that is answered makes room before its answer has left.
    assert.ok(atOnce <= 2 * most, `${atOnce} at once`);
  });

  test('leave room to others where their clients go away while they wait', async () => {
    const sockets = await openAll();
    for (const socket of sockets) socket.write(push(madeUp, 1));
    for (const socket of sockets) socket.resetAndDestroy();
    const last = await open(server.running.ports.http);
    const answer = readAll(last);
    last.end(push(madeUp, 1));
    assert.deepEqual(statusesOf(await answer), [401]);
  });

  test('whose answers are not read keep no place', async () => {
    const token = `Bearer ${await server.token('owner')}`;
    // Long ids make long answers, which soon fill what the system keeps for a client that does not read.
    const pushes = push(token, 1, 'x'.repeat(200)).repeat(unreadPushes);
    let answered = 0;
    const note = (message: unknown) => {
      const { request } = message as { readonly request: { readonly url?: string } };
      if (request.url?.includes('xxx') === true) answered += 1;
    };
    subscribe('http.server.response.finish', note);
    Object.assign(limits, { unknownPushesMax: 1 });
    const socket = await open(server.running.ports.http);
    socket.pause().write(pushes);
    const other = await Client.connect(server.running.ports.http);
    await until(async () => {
      const before = answered;
      for (let n = 0; n < 50; n += 1) await other.ask(Buffer.from('GET /health/live HTTP/1.1\r\nHost: d\r\n\r\n'));
      return answered > 0 && answered === before;
    });
    unsubscribe('http.server.response.finish', note);
    assert.ok(answered < unreadPushes, `all ${answered} were answered`);
    const last = await open(server.running.ports.http);
    const answer = readAll(last);
    last.end(push(madeUp, 1));
    assert.deepEqual(statusesOf(await answer), [401]);
    Object.assign(limits, { unknownPushesMax: most });
    socket.destroy();
    other.end();
  });

  test('that find no place in time have the answer of the framework', async () => {
    const { unknownPushesMax, pushWaitMsMax } = limits;
    Object.assign(limits, { unknownPushesMax: 0, pushWaitMsMax: 1 });
    try {
      const sockets = await openAll();
      const answers = sockets.map(readAll);
      for (const socket of sockets) socket.end(push(madeUp, 1));
      for (const answer of await Promise.all(answers)) assert.deepEqual(statusesOf(answer), [401]);
    } finally {
      Object.assign(limits, { unknownPushesMax, pushWaitMsMax });
    }
  });

  test('that wait when the service stops are refused', async () => {
    const own = await TestServer.start();
    const sockets = await openAll(own);
    const { unknownPushesMax } = limits;
    Object.assign(limits, { unknownPushesMax: 0 });
    try {
      const answers = sockets.map(readAll);
      for (const socket of sockets) socket.write(push(madeUp, 1));
      // Whoever is asked last has been read behind them.
      const other = await open(own.running.ports.http);
      other.end('GET /health/live HTTP/1.1\r\nHost: d\r\n\r\n');
      await readAll(other);
      await own.stop();
      for (const answer of await Promise.all(answers)) assert.deepEqual(statusesOf(answer), [503]);
    } finally {
      Object.assign(limits, { unknownPushesMax });
    }
    for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
  });
});
