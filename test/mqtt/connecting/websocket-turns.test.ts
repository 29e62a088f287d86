// Frames of WebSockets are parsed in turns: who sends very many small ones delays only itself, all of them are handled
// in their order, and they do not gather in memory.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { generate, type Packet, parser } from 'mqtt-packet';
import { limits } from '../../../src/config/limits.ts';
import { setLimits } from '../../support/limits.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

// One small piece in each turn of the event loop, so that the test measures no time.
setLimits({ turnMsMax: 1e-6, turnMsMin: 1e-6, framePieceBytesMax: limits.framePieceBytesMin });

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const binary = 2;
const ping = 9;
/** Bytes of its answer. */
const pong = 2;

/** A frame with the mask 0, which leaves its bytes as they are. */
function frame(kind: number, bytes: Buffer = Buffer.alloc(0)): Buffer {
  const length =
    bytes.length < 126 ? [0x80 | bytes.length] : [0x80 | 126, Math.floor(bytes.length / 256), bytes.length % 256];
  return Buffer.concat([Buffer.from([0x80 | kind, ...length, 0, 0, 0, 0]), bytes]);
}

/** Bytes of a frame of the server, and of its head; they have no mask and fewer than 65 536 bytes. Undefined: not known yet. */
function sizeOf(bytes: Buffer): { readonly head: number; readonly whole: number } | undefined {
  if (bytes.length < 4)
    return bytes.length >= 2 && (bytes[1] ?? 0) < 126 ? { head: 2, whole: 2 + (bytes[1] ?? 0) } : undefined;
  const length = bytes[1] ?? 0;
  return length < 126 ? { head: 2, whole: 2 + length } : { head: 4, whole: 4 + bytes.readUInt16BE(2) };
}

const signIn = generate({
  ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId: '', clean: true, keepalive: 600 },
});

/** A WebSocket whose bytes are seen as they are. */
class RawWebSocket {
  readonly socket: Socket;
  /** Of all frames since the handshake. */
  bytes = 0;
  readonly packets: Packet[] = [];

  constructor(socket: Socket) {
    this.socket = socket;
    const incoming = parser({ protocolVersion: 4 });
    incoming.on('packet', (packet: Packet) => this.packets.push(packet));
    let rest = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      this.bytes += bytes.length;
      rest = Buffer.concat([rest, bytes]);
      for (let size = sizeOf(rest); size !== undefined && rest.length >= size.whole; size = sizeOf(rest)) {
        if (((rest[0] ?? 0) & 15) === binary) incoming.parse(rest.subarray(size.head, size.whole));
        rest = rest.subarray(size.whole);
      }
    });
  }

  static async open(from: string): Promise<RawWebSocket> {
    const socket = connect({ host: '127.0.0.1', port: server.running.ports.http, localAddress: from, noDelay: true });
    const handshake = ['GET /mqtt HTTP/1.1', 'Host: d', 'Connection: Upgrade', 'Upgrade: websocket'];
    const more = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
    socket.write(`${[...handshake, ...more, 'Sec-WebSocket-Protocol: mqtt'].join('\r\n')}\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    const opened = new RawWebSocket(socket);
    socket.write(frame(binary, signIn));
    await until(() => opened.packets.length === 1, { everyMs: 1 });
    opened.packets.length = 0;
    opened.bytes = 0;
    return opened;
  }
}

suite('frames of WebSockets take turns:', () => {
  test('who sends one is answered before the last of eight thousand that another sent first', async () => {
    const heavy = await RawWebSocket.open('127.0.0.2');
    const quiet = await RawWebSocket.open('127.0.0.3');
    const between = Array.from({ length: 8_000 }, () => frame(binary));
    heavy.socket.write(Buffer.concat([frame(ping), ...between, frame(ping)]));
    await until(() => heavy.bytes > 0, { everyMs: 1 });
    const answered = new Promise<number>((resolve) => quiet.socket.once('data', () => resolve(heavy.bytes / pong)));
    quiet.socket.write(frame(ping));
    assert.equal(await answered, 1, 'the last of the other had not been answered by then');
    await until(() => heavy.bytes === 2 * pong);
    for (const { socket } of [heavy, quiet]) socket.destroy();
  });

  test('packets sent a byte a frame are all handled, in their order, also where the connection ends behind them', async () => {
    const listener = await RawWebSocket.open('127.0.0.3');
    await server.call('guest', 'POST', '/devices', { json: { id: 'bytes', sensors: [{ id: 's' }] } });
    listener.socket.write(
      frame(
        binary,
        generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'devices/bytes/#', qos: 0 }] }),
      ),
    );
    await until(() => listener.packets.length === 1, { everyMs: 1 });
    const publish = { cmd: 'publish', topic: 'devices/bytes/sensors/s/value', qos: 0, dup: false, retain: false } as const; // biome-ignore format: one line
    const values = Array.from({ length: 200 }, (_, n) => n);
    const bytes = Buffer.concat(values.map((n) => generate({ ...publish, payload: `{"value":${n}}` })));
    const sender = await RawWebSocket.open('127.0.0.2');
    sender.socket.end(Buffer.concat([...bytes].map((byte) => frame(binary, Buffer.from([byte])))));
    await until(() => listener.packets.length === 201, { otherwise: () => listener.packets.length });
    const heard = listener.packets.slice(1).map((packet) => packet.cmd === 'publish' && `${packet.payload}`);
    assert.deepEqual(
      heard,
      values.map((n) => `{"value":${n}}`),
    );
    listener.socket.destroy();
  });

  test('a message of a megabyte comes through', async () => {
    const texts = Array.from({ length: 30_000 }, (_, n) => `{"value":"${'x'.repeat(30)}${n}"}`);
    const payload = `[${texts.join(',')}]`;
    await server.call('guest', 'POST', '/devices', { json: { id: 'large', sensors: [{ id: 's' }] } });
    const topic = 'devices/large/sensors/s/values';
    const packet = generate({ cmd: 'publish', topic, payload, qos: 1, messageId: 7, dup: false, retain: false });
    const sender = await RawWebSocket.open('127.0.0.2');
    // In frames of 50 000 bytes, each a message.
    for (let at = 0; at < packet.length; at += 50_000)
      sender.socket.write(frame(binary, packet.subarray(at, at + 50_000)));
    await until(() => sender.packets.length === 1);
    assert.equal(sender.packets[0]?.cmd, 'puback');
    sender.socket.destroy();
  });
});
