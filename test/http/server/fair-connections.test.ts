// Connections are shared out by address, HTTP and MQTT together: while enough are free nobody is limited; when nearly
// all are taken, the address with the most loses its longest silent one to a new connection of another, and gets no
// more itself. The addresses are those of the loopback network.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { limits } from '../../../src/config/limits.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

// One address alone may hold nine.
Object.assign(limits, { connectionsMax: 12, connectionsReserve: 3 });

const heavy = '127.0.0.3';
const newcomers = ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14', '127.0.0.15', '127.0.0.16'] as const;
const live = 'GET /health/live HTTP/1.1\r\nHost: d\r\n\r\n';
const stalledBody =
  'POST /api/v2/auth/token HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
const pairs = join(import.meta.dirname, '../../support/tls');
const certFile = join(pairs, 'cert.pem');
const tls = { DUNDUN_TLS_CERT: certFile, DUNDUN_TLS_KEY: join(pairs, 'key.pem') };

/** A connection of HTTP, plain or in TLS. */
async function open(server: TestServer, from: string, { secure = false } = {}): Promise<Socket> {
  const plain = connect({ host: '127.0.0.1', port: server.running.ports.http, localAddress: from });
  plain.on('error', () => {});
  await once(plain, 'connect');
  if (!secure) return plain.resume();
  const secured = connectTls({ socket: plain, ca: readFileSync(certFile), servername: 'localhost' });
  secured.on('error', () => {});
  await once(secured, 'secureConnect');
  return secured.resume();
}

async function openMany(server: TestServer, count: number, options = {}): Promise<Socket[]> {
  const sockets = [];
  for (let n = 0; n < count; n++) sockets.push(await open(server, heavy, options));
  return sockets;
}

/** Resolves when an answer to a request on the socket begins; fails where the socket is cut instead. */
async function ask(socket: Socket): Promise<void> {
  assert.ok(!socket.destroyed, 'it was cut');
  const answered = Promise.race([
    once(socket, 'data').then(([bytes]) => String(bytes)),
    once(socket, 'close').then(() => 'cut'),
  ]);
  socket.write(live);
  assert.match(await answered, /^HTTP\/1\.1 200 /);
}

async function whenClosed(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket, 'close');
}

test('one address has all connections but the reserve, none of them is cut, and one more is refused', async (t) => {
  const server = await TestServer.start();
  t.after(() => server.stop());
  const sockets = await openMany(server, 9);
  await whenClosed(await open(server, heavy));
  // The test server itself may have one.
  const held = sockets.filter(({ destroyed }) => !destroyed);
  assert.ok(held.length >= 8);
  for (const socket of held) await ask(socket);
  // With room again it is let in.
  sockets[0]?.destroy();
  let again = await open(server, heavy);
  for (; ; again = await open(server, heavy)) {
    if (
      await ask(again).then(
        () => true,
        () => false,
      )
    )
      break;
  }
  for (const socket of [...sockets, again]) socket.destroy();
});

test('a newcomer takes the place of the oldest silent connection of the address that holds most', async (t) => {
  const server = await TestServer.start();
  t.after(() => server.stop());
  const active = await RawClient.open(server, heavy);
  await active.signIn('guest', { clientId: 'active' });
  const quiet = await RawClient.open(server, heavy);
  await quiet.signIn('guest', { clientId: 'quiet' });
  const busy = await open(server, heavy);
  busy.write(stalledBody);
  const webSocket = await open(server, heavy);
  webSocket.write(
    'GET /mqtt HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Protocol: mqtt\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await once(webSocket, 'data');
  const silent = await openMany(server, 5);
  const others = [];
  const expected = [...silent, quiet.socket];
  for (const [n, from] of newcomers.entries()) {
    if (n === 5) break;
    const newcomer = await open(server, from);
    await ask(newcomer);
    others.push(newcomer);
    await whenClosed(expected[n] as Socket);
    assert.deepEqual(
      expected.map(({ closed }) => closed),
      expected.map((_, i) => i <= n),
    );
    await active.roundTrip();
    // A ping of WebSocket, and its pong.
    webSocket.write(Buffer.from([0x89, 0x80, 0, 0, 0, 0]));
    await once(webSocket, 'data');
  }
  assert.deepEqual(
    [active.socket, busy, webSocket].map(({ closed }) => closed),
    [false, false, false],
  );
  await active.roundTrip();
  for (const socket of [active.socket, quiet.socket, busy, webSocket, ...others]) socket.destroy();
});

test('where everybody holds little, newcomers have the reserve, and nobody is cut', async (t) => {
  const server = await TestServer.start();
  t.after(() => server.stop());
  const sockets = [];
  for (let n = 0; n < limits.connectionsMax; n++) sockets.push(await open(server, `127.0.0.${20 + n}`));
  await whenClosed(await open(server, '127.0.0.40'));
  for (const socket of sockets) await ask(socket);
  for (const socket of sockets) socket.destroy();
});

test('over TLS an answered connection goes before one to which an answer is owed', async (t) => {
  const server = await TestServer.start(tls);
  t.after(() => server.stop());
  const [busy, ...silent] = await openMany(server, 9, { secure: true });
  busy?.write(stalledBody);
  // All have just been heard of, so that the first newcomer has a place of the reserve.
  const others = [];
  for (const from of newcomers.slice(0, 3)) {
    const newcomer = await open(server, from, { secure: true });
    await ask(newcomer);
    others.push(newcomer);
  }
  await whenClosed(silent[0] as Socket);
  await whenClosed(silent[1] as Socket);
  assert.deepEqual(
    [busy, ...silent].map((socket) => socket?.closed),
    [false, true, true, ...Array(6).fill(false)],
  );
  for (const socket of [busy, ...silent, ...others]) socket?.destroy();
});
