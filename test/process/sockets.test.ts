// Every kind of connection at every port, broken off at every stage: reset, half-closed, closed or stalled. The
// process lives on, answers, closes every descriptor, ends stalled connections by itself, and stops in its usual time.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { generate, type Packet } from 'mqtt-packet';
import { type Dundun, root, startDundun, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const certFile = join(root, 'test/support/tls/cert.pem');
const ca = readFileSync(certFile, 'utf8');
const pair = { DUNDUN_TLS_CERT: certFile, DUNDUN_TLS_KEY: join(root, 'test/support/tls/key.pem') };
/** What ends a stalled connection, in milliseconds that a test can wait. */
const tight = {
  headMsMax: 1_500,
  requestMsMax: 2_500,
  requestsCheckedMs: 200,
  tlsHandshakeMsMax: 1_500,
  mqttConnectMsMax: 1_500,
  lastWordsMs: 300,
  drainMsMax: 1_500,
};
const stopMsMax = 8_000;

type Ending = 'reset' | 'half-close' | 'close' | 'stall';
const endings: readonly Ending[] = ['reset', 'half-close', 'close', 'stall'];

/** A conversation of the client's, in the pieces after each of which, and within each of which, it may break off. */
interface Script {
  readonly what: string;
  readonly pieces: readonly Buffer[];
  /** True where a client that stalls is not idle but owes something, at every stage: the service cuts it. */
  readonly owes?: boolean;
}

const http = (head: string, body = '') => Buffer.from(`${head.trim().replaceAll(/\n */g, '\r\n')}\r\n\r\n${body}`);
const body = '{"value":1}';
const json = `Content-Type: application/json\nContent-Length: ${body.length}`;
const values = '/api/v2/devices/d/sensors/s/values';
const live = http('GET /health/live HTTP/1.1\nHost: x');
const push = http(`POST ${values} HTTP/1.1\nHost: x\n${json}`, body);
const upgradeTo = (path: string) =>
  http(`GET ${path} HTTP/1.1\nHost: x\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13
    Sec-WebSocket-Protocol: mqtt\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==`);

const httpScripts: readonly Script[] = [
  { what: 'a request', pieces: [live] },
  { what: 'a head that does not end', pieces: [Buffer.from('GET / HTTP/1.1\r\nHost: x\r\nX-')], owes: true },
  { what: 'a push', pieces: [http(`POST ${values} HTTP/1.1\nHost: x\n${json}`), Buffer.from(body)] },
  { what: 'pushes in the fast path', pieces: [live, Buffer.concat([push, push, push]), push] },
  { what: 'a push behind another request', pieces: [Buffer.concat([live, push]), Buffer.concat([push, live])] },
  {
    what: 'a body in chunks',
    pieces: [
      http(`POST ${values} HTTP/1.1\nHost: x\nContent-Type: application/json\nTransfer-Encoding: chunked`, 'b\r\n'),
    ],
    owes: true,
  },
  {
    what: 'a bad chunk',
    pieces: [http(`POST ${values} HTTP/1.1\nHost: x\nTransfer-Encoding: chunked`, 'zz\r\n'), push],
  },
  { what: 'what expects to go on', pieces: [http(`POST ${values} HTTP/1.1\nHost: x\nExpect: 100-continue\n${json}`)] },
  { what: 'an unmet expectation', pieces: [http('GET / HTTP/1.1\nHost: x\nExpect: 200-ok'), push] },
  { what: 'no Host', pieces: [http('GET / HTTP/1.1'), push] },
  { what: 'CONNECT', pieces: [http('CONNECT x:1 HTTP/1.1\nHost: x'), Buffer.from('bytes behind it')], owes: true },
  { what: 'an upgrade to nowhere', pieces: [upgradeTo('/x'), Buffer.from('bytes behind it')] },
  { what: 'no HTTP', pieces: [Buffer.from('\x00\x01drum\r\n\r\n')], owes: true },
  { what: 'a live stream', pieces: [http('GET /api/v2/devices/d/live HTTP/1.1\nHost: x')] },
];

/** Packets of a client after its CONNECT, of every kind. */
const packets: readonly Packet[] = [
  ...([0, 1, 2] as const).map((qos) => {
    const publish = { cmd: 'publish', topic: 'devices/d/sensors/s/value', payload: body, dup: false, retain: false };
    return { ...publish, qos, messageId: qos === 0 ? undefined : 1 } as Packet;
  }),
  { cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 'devices/d/#', qos: 2 }] } as Packet,
  { cmd: 'unsubscribe', messageId: 3, unsubscriptions: ['devices/d/#'] } as Packet,
  ...(['puback', 'pubrec', 'pubrel', 'pubcomp'] as const).map((cmd) => ({ cmd, messageId: 1 }) as Packet),
  { cmd: 'pingreq' } as Packet,
  { cmd: 'disconnect' } as Packet,
  { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId: 'again', clean: true, keepalive: 1 } as Packet,
];
let clients = 0;
const mqttConnect = () => {
  clients += 1;
  const will = { topic: 'devices/d/sensors/s/value', payload: Buffer.from(body), qos: 1, retain: false } as const;
  const packet = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 1, will } as const;
  return generate({ ...packet, clientId: `c${clients}` } as Packet);
};
const mqttScripts = (frame: (bytes: Buffer) => Buffer, before: readonly Buffer[]): readonly Script[] =>
  packets.map((packet) => ({
    what: `${packet.cmd}${'qos' in packet ? ` of QoS ${packet.qos}` : ''} over MQTT`,
    get pieces() {
      return [...before, frame(mqttConnect()), frame(generate(packet))];
    },
    // With a keep-alive of a second nobody may be silent for long.
    owes: true,
  }));

/** A frame of WebSocket from a client, with a mask of zeros (RFC 6455 section 5.2). */
function webSocketFrame(bytes: Buffer): Buffer {
  assert.ok(bytes.length < 126);
  return Buffer.concat([Buffer.from([0x82, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]);
}

const plain: readonly Script[] = mqttScripts((bytes) => bytes, []);
const webSocket: readonly Script[] = [
  ...mqttScripts(webSocketFrame, [upgradeTo('/mqtt')]),
  { what: 'a frame that is none', pieces: [upgradeTo('/mqtt'), Buffer.from([0xff, 0xff, 0xff, 0xff])], owes: true },
];
/** The first bytes of a TLS client, said to a port without TLS or never continued. */
const hello: Script = {
  what: 'half a TLS handshake',
  pieces: [Buffer.from('\x16\x03\x01\x00\xf0\x01\x00\x00\xec\x03\x03', 'latin1')],
  owes: true,
};

interface Door {
  readonly name: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly scripts: readonly Script[];
}

suite('a connection that breaks off harms nobody', { timeout: 1_200_000 }, () => {
  for (const isTls of [false, true]) {
    test(`${isTls ? 'over TLS' : 'in plain text'}: reset, half-closed, closed or stalled, at every stage`, async () => {
      const dundun = await startDundun(withLimits(tight, isTls ? pair : {}));
      await makeDevice(dundun, isTls);
      const doors = doorsOf(dundun, isTls);
      // The first round has threads and files opened that stay.
      await attackAll(dundun, doors);
      const before = await settledDescriptors(dundun);
      await attackAll(dundun, doors);
      const after = await settledDescriptors(dundun);
      assert.ok(after <= before + 2, `descriptors: ${before}, then ${after}`);
      const open = await Promise.all(doors.flatMap((door) => stagesOf(door).map((stage) => begin(door, stage))));
      await askAlive(dundun, isTls);
      const beganMs = performance.now();
      assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
      const tookMs = performance.now() - beganMs;
      assert.ok(tookMs < stopMsMax, `stopping took ${tookMs} ms`);
      for (const socket of open) socket.destroy();
      assert.doesNotMatch(dundun.stderr, /"level":[56]0/, 'no client is a fault of the service');
    });
  }
});

function doorsOf({ ports }: Dundun, isTls: boolean): readonly Door[] {
  const mqtt = ports.mqtt ?? 0;
  const doors: Door[] = [
    { name: 'HTTP', port: ports.http, isTls, scripts: [...httpScripts, ...webSocket] },
    { name: 'MQTT', port: mqtt, isTls: false, scripts: [...plain, hello] },
  ];
  if (!isTls) return [...doors, { name: 'TLS to HTTP', port: ports.http, isTls: false, scripts: [hello] }];
  return [
    ...doors,
    { name: 'MQTTS', port: ports.mqtts ?? 0, isTls, scripts: plain },
    { name: 'a handshake of HTTPS', port: ports.http, isTls: false, scripts: [hello, ...httpScripts.slice(0, 1)] },
    { name: 'a handshake of MQTTS', port: ports.mqtts ?? 0, isTls: false, scripts: [hello, ...plain.slice(0, 1)] },
  ];
}

interface Stage {
  readonly what: string;
  readonly bytes: readonly Buffer[];
  /** True where the service must end it by itself. */
  readonly isBounded: boolean;
}

/** Where a conversation may break off: before it, within each piece and behind each. */
function stagesOf(door: Door): Stage[] {
  const stages: Stage[] = [{ what: `${door.name}: nothing`, bytes: [], isBounded: true }];
  for (const { what, pieces, owes = false } of door.scripts) {
    const all = [...pieces];
    for (const [n, piece] of all.entries()) {
      const place = `${door.name}: ${what}, piece ${n + 1}`;
      const half = piece.subarray(0, Math.ceil(piece.length / 2));
      stages.push({ what: `${place}, half`, bytes: [...all.slice(0, n), half], isBounded: owes });
      stages.push({ what: place, bytes: all.slice(0, n + 1), isBounded: owes });
    }
  }
  return stages;
}

/** Every stage with every ending; resolves when those that stalled have been cut. */
async function attackAll(dundun: Dundun, doors: readonly Door[]): Promise<void> {
  for (const door of doors) {
    for (const ending of endings) {
      const stages = stagesOf(door);
      const sockets = await Promise.all(stages.map((stage) => begin(door, stage)));
      await askAlive(dundun, doors[0]?.isTls === true);
      const closed = sockets.map(whenLetGo);
      for (const socket of sockets) end(socket, ending);
      if (ending === 'stall') {
        for (const [n, { what, isBounded }] of stages.entries()) {
          if (isBounded) await withTime(closed[n] as Promise<unknown>, `${what}: stalled, and never cut`);
        }
      }
      for (const socket of sockets) if (ending !== 'half-close') socket.destroy();
      // Who has half-closed is let go, whatever it has sent.
      if (ending === 'half-close') {
        for (const [n, { what }] of stages.entries())
          await withTime(closed[n] as Promise<unknown>, `${what}: half-closed`);
      }
    }
  }
  await askAlive(dundun, doors[0]?.isTls === true);
}

/** Resolves when the service has ended its side, by a reset too; a client that stalls does nothing about it. */
function whenLetGo(socket: Socket): Promise<unknown> {
  if (socket.destroyed || socket.readableEnded) return Promise.resolve();
  return new Promise((resolve) => socket.once('close', resolve).once('end', resolve));
}

async function withTime(promise: Promise<unknown>, what: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(what)), 40_000);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

/** Opens a connection and says what belongs to the stage, piece by piece. */
async function begin({ port, isTls }: Door, { bytes }: Stage): Promise<Socket> {
  const tcp = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  tcp.on('error', () => {});
  const socket = isTls ? connectTls({ socket: tcp, ca, servername: 'localhost', rejectUnauthorized: false }) : tcp;
  underlying.set(socket, tcp);
  socket.on('error', () => {});
  socket.resume();
  await new Promise((resolve) => socket.once(isTls ? 'secureConnect' : 'connect', resolve).once('close', resolve));
  for (const piece of bytes) {
    if (!socket.writable) break;
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return socket;
}

/** The TCP connection under one of TLS, which alone can be reset. */
const underlying = new WeakMap<Socket, Socket>();

function end(socket: Socket, ending: Ending): void {
  if (ending === 'reset') underlying.get(socket)?.resetAndDestroy();
  else if (ending === 'close') socket.destroy();
  else if (ending === 'half-close') socket.end();
}

/** The process lives, and has had a turn to read what came before. */
async function askAlive(dundun: Dundun, isTls: boolean): Promise<void> {
  assert.equal(dundun.child.exitCode, null, `The process ended.\n${dundun.stderr}`);
  assert.match(await ask(dundun, isTls, live), /^HTTP\/1\.1 200 /);
}

async function makeDevice(dundun: Dundun, isTls: boolean): Promise<void> {
  const device = JSON.stringify({ id: 'd', sensors: [{ id: 's' }] });
  const head = `POST /api/v2/devices HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: ${device.length}`;
  assert.match(await ask(dundun, isTls, http(head, device)), /^HTTP\/1\.1 204 /);
}

async function ask(dundun: Dundun, isTls: boolean, bytes: Buffer): Promise<string> {
  const door = { name: '', port: dundun.ports.http, isTls, scripts: [] };
  const socket = await begin(door, { what: '', bytes: [], isBounded: false });
  const answer = once(socket, 'data');
  socket.write(bytes);
  const [data] = (await Promise.race([answer, once(socket, 'close').then(() => [''])])) as [Buffer | string];
  socket.destroy();
  return String(data);
}

/** The number of descriptors when it no longer falls. */
async function settledDescriptors(dundun: Dundun): Promise<number> {
  const count = () => readdirSync(`/proc/${dundun.child.pid}/fd`).length;
  let last = count();
  let looks = 0;
  await until(
    () => {
      const now = count();
      looks = now === last ? looks + 1 : 0;
      last = now;
      return looks >= 15;
    },
    { everyMs: 200, msMax: 60_000 },
  );
  return last;
}
