// Bodies that are begun and not completed hold no more memory than the share of their caller, are cut, and do not
// affect other callers (I4). Over MQTT too.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { generate } from 'mqtt-packet';
import WebSocket from 'ws';
import { limits } from '../../../src/config/limits.ts';
import { setLimits } from '../../support/limits.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { open, readAll } from '../../support/peers/http-connection.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const mib = 1024 * 1024;
const waitMs = 200;
setLimits({
  ...{ receivedBytesMax: 6 * mib, receivedBytesReserve: 2 * mib, receivedWaitMs: waitMs, bodyStallLookMs: 20 },
});

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const json = { id: 'd', visibility: 'public', sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json })).status, 204);
});
after(() => server.stop());
// Nothing of the test before is counted any more.
beforeEach(() => until(async () => (await receivedBytes()) === 0));

/** A request that has sent so much of its body, and stands still. */
async function begin(bytes: number): Promise<Socket> {
  const socket = await open(server.running.ports.http);
  socket.on('error', () => {});
  const head = `POST /api/v2/devices/d/sensors/s/values HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: ${16 * mib}\r\n\r\n`;
  socket.write(head);
  socket.write(Buffer.alloc(bytes, ' '));
  return socket;
}

test('bodies of one address beyond its share are 503, another address sends its own, and what stands still is cut', async () => {
  const first = await Promise.all([begin(2.5 * mib), begin(2.5 * mib)]);
  await until(async () => (await receivedBytes()) >= 5 * mib);
  const others = await Promise.all([begin(2.5 * mib), begin(2.5 * mib)]);
  const busy = await Promise.race(others.map(readAnswer));
  assert.match(busy, /^HTTP\/1\.1 503 /);
  assert.match(busy, /retry-after: \d+/i);
  const body = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => ({ value: n })));
  const sent = await server.call('owner', 'POST', '/devices/d/sensors/s/values', {
    from: '127.0.0.2',
    body,
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(sent.status, 204, sent.text);
  const ended = Promise.all(first.map(readAll));
  server.clock.advance(limits.bodyStallMs);
  await ended;
  for (const socket of others) socket.destroy();
});

test('a body for which there is no room waits until there is, and so does an MQTT packet', async () => {
  Object.assign(limits, { receivedWaitMs: 60_000 });
  try {
    const held = await Promise.all([begin(2.5 * mib), begin(2.5 * mib)]);
    await until(async () => (await receivedBytes()) >= 5 * mib);
    const values = `[${' '.repeat(2 * mib)}{"value":1}]`;
    const headers = { 'content-type': 'application/json' };
    const body = server.send('POST', '/api/v2/devices/d/sensors/s/values', { body: values, headers });
    const client = await RawClient.connect(server, 'guest', { clientId: 'waits' });
    client.publish({ topic: 'devices/d/sensors/s/values', payload: values });
    const acknowledged = client.next('puback');
    const first = await Promise.race([body.then(({ status }) => status), acknowledged, client.closed, isFull()]);
    assert.equal(first, 'waiting');
    for (const socket of held) socket.destroy();
    assert.equal((await body).status, 204);
    assert.equal((await acknowledged).messageId, 1);
    await client.end();
  } finally {
    Object.assign(limits, { receivedWaitMs: waitMs });
  }
});

test('a body of unknown length whose last piece waits for room is taken whole', async () => {
  Object.assign(limits, { receivedWaitMs: 60_000 });
  try {
    const first = await begin(6 * mib - 45_000);
    await until(async () => (await receivedBytes()) >= 6 * mib - 45_000);
    const second = await begin(25_000);
    await until(async () => (await receivedBytes()) >= 6 * mib - 20_000);
    const line = `${JSON.stringify({ device_id: 'd', sensor_id: 's', value: 1 })}\n`;
    const lines = 600;
    const body = line.repeat(lines / 2);
    const piece = `${body.length.toString(16)}\r\n${body}\r\n`;
    const socket = await open(server.running.ports.http);
    socket.write(
      `POST /api/v2/datapoints HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n${piece}${piece}0\r\n\r\n`,
    );
    const answer = readAll(socket);
    await isFull();
    second.destroy();
    setTimeout(() => first.destroy(), 1_000);
    assert.match(String(await answer), new RegExp(`"accepted":${lines}`), `${body.length} bytes a piece`);
  } finally {
    Object.assign(limits, { receivedWaitMs: waitMs });
  }
});

test('before the sign-in an MQTT packet is small, and afterwards one that stands still is cut', async () => {
  const stranger = connect(server.running.ports.mqtt as number, '127.0.0.1').on('error', () => {});
  // A CONNECT of a megabyte.
  stranger.write(Buffer.from([0x10, 0x80, 0x80, 0x40, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 60]));
  await readAll(stranger);
  const client = await RawClient.connect(server, 'guest', { clientId: 'gathering' });
  // A PUBLISH of two megabytes, of which half comes.
  client.send(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x01]), Buffer.alloc(mib));
  await until(async () => (await receivedBytes()) >= mib);
  // Its last bytes may still be on their way, and each begins the time anew.
  await until(() => {
    server.clock.advance(limits.bodyStallMs);
    return client.socket.closed;
  });
});

test('over WebSocket a message that has not come whole is small before the sign-in, and afterwards has its share', async () => {
  const stranger = await openWebSocket();
  stranger.send(Buffer.alloc(mib), { fin: false });
  await closed(stranger);
  const clients = await Promise.all(['one', 'two', 'three', 'four'].map(signInByWebSocket));
  // In one frame, in several, and one that was to have more pieces: 2.5 MiB each, of which two have room.
  for (const [n, client] of clients.entries()) {
    client.send(Buffer.alloc((n % 2 === 0 ? 2.5 : 1) * mib), { fin: false });
    if (n % 2 === 1) client.send(Buffer.alloc(1.5 * mib), { fin: false });
  }
  await until(() => clients.filter(({ readyState }) => readyState === WebSocket.CLOSED).length >= 2);
  assert.ok((await receivedBytes()) <= limits.receivedBytesMax);
  server.clock.advance(limits.bodyStallMs);
  await Promise.all(clients.map(closed));
  await until(async () => (await receivedBytes()) === 0);
});

async function openWebSocket(): Promise<WebSocket> {
  const webSocket = new WebSocket(`ws://127.0.0.1:${server.running.ports.http}/mqtt`, 'mqtt').on('error', () => {});
  await new Promise((resolve) => webSocket.once('open', resolve));
  return webSocket;
}

async function signInByWebSocket(clientId: string): Promise<WebSocket> {
  const webSocket = await openWebSocket();
  webSocket.send(
    generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, clientId, keepalive: 0 }),
  );
  await new Promise((resolve) => webSocket.once('message', resolve));
  return webSocket;
}

async function closed(webSocket: WebSocket): Promise<void> {
  await until(() => webSocket.readyState === WebSocket.CLOSED);
}

/** As the figures tell. */
async function receivedBytes(): Promise<number> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  return Number(/^dundun_receiving_bytes (\d+)$/m.exec(text)?.[1]);
}

/** Resolves when the share of a caller is as good as full, and has been so for some looks. */
async function isFull(): Promise<string> {
  let looks = 0;
  await until(async () => {
    looks = (await receivedBytes()) > 5.9 * mib ? looks + 1 : 0;
    return looks === 10;
  });
  return 'waiting';
}

async function readAnswer(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1');
  return new Promise((resolve) => {
    socket.on('data', (piece: string) => {
      text += piece;
      if (text.includes('\r\n\r\n')) resolve(text);
    });
    socket.once('close', () => resolve(text));
  });
}
