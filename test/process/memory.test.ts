// Ceilings of the memory are kept. Strangers at six addresses fill bodies, packets, answers,
// live streams, subscribers, filters and the log at once (config/memory-budget.ts); then one load after another that once
// took far more (support/memory/loads.ts). What a load has taken is given back within 20 s.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { generate } from 'mqtt-packet';
import { limits } from '../../src/config/limits.ts';
import { memoryBytesDefault } from '../../src/config/memory-profile.ts';
import { memoryLoads } from '../support/memory/loads.ts';
import { adminPassword, call, type Dundun, login, root, startDundun } from '../support/process.ts';
import { until } from '../support/until.ts';

const addresses = Array.from({ length: 6 }, (_, n) => `127.0.0.${40 + n}`);
const each = { bodies: 8, answers: 30, streams: 30, subscribers: 30, filterers: 8, connects: 60 };
const bodyBytes = 16_000_000;
const filters = 1_000;
const pushes = 150;
/** Near the longest value that is taken; no Latin-1, so that a character takes two bytes. */
const longText = 'ж'.repeat(30_000);
const device = 'filled';
/** By how much all that fills the memory of the process at least, or it would not be filled. */
const filledBytesMin = 100 * 2 ** 20;

const connections = new Set<Socket>();

/** A connection of an address that is not read; refused and cut it may be. */
async function open(port: number | undefined, from: string): Promise<Socket> {
  const socket = connect({ port: port ?? 0, host: '127.0.0.1', localAddress: from });
  connections.add(socket);
  socket.on('error', () => {});
  await new Promise<void>((resolve) => {
    socket.once('connect', () => resolve());
    socket.once('close', () => resolve());
  });
  socket.pause();
  return socket;
}

async function stallBodies({ ports }: Dundun, from: string): Promise<void> {
  const most = Buffer.alloc(bodyBytes - 1_000, '[');
  for (let n = 0; n < each.bodies; n += 1) {
    const socket = await open(ports.http, from);
    const head = 'Host: a\r\nContent-Type: application/json';
    const path = `/api/v2/devices/${device}/sensors/s/values`;
    socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\nContent-Length: ${bodyBytes}\r\n\r\n`);
    socket.write(most);
  }
}

async function leaveUnread({ ports }: Dundun, from: string): Promise<void> {
  const paths = [
    ...Array.from({ length: each.answers }, () => `sensors/s/values?limit=${limits.datapointListMax}`),
    ...Array.from({ length: each.streams }, () => 'live'),
  ];
  for (const path of paths) {
    const socket = await open(ports.http, from);
    socket.write(`GET /api/v2/devices/${device}/${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  }
}

function connectPacket(clientId: string, more: object = {}): Buffer {
  const protocol = { protocolId: 'MQTT', protocolVersion: 4 } as const;
  return generate({ cmd: 'connect', clientId, ...protocol, clean: true, keepalive: 60, ...more });
}

async function subscribe({ ports }: Dundun, from: string): Promise<void> {
  for (let n = 0; n < each.subscribers + each.filterers; n += 1) {
    const socket = await open(ports.mqtt, from);
    socket.write(connectPacket(`filled-${from}-${n}`));
    const topics =
      n < each.subscribers
        ? [`devices/${device}/#`]
        : Array.from({ length: filters }, (_, k) => `devices/${'+/'.repeat(k % 20)}${from}-${n}-${k}/#`);
    const subscriptions = topics.map((topic) => ({ topic, qos: 0 as const }));
    socket.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions }));
  }
}

/** A CONNECT that never comes whole. */
async function stallConnects({ ports }: Dundun, from: string): Promise<void> {
  const will = { topic: 'w', payload: Buffer.alloc(60_000), qos: 0, retain: false };
  const packet = connectPacket('stalled', { username: 'x', password: Buffer.alloc(60_000), will });
  for (let n = 0; n < each.connects; n += 1) (await open(ports.mqtt, from)).write(packet.subarray(0, -1));
}

async function push(dundun: Dundun): Promise<void> {
  for (let n = 0; n < pushes; n += 1) {
    const values = [{ value: longText }, { value: longText }];
    const answer = await call(dundun, `/api/v2/devices/${device}/sensors/s/values`, { json: values });
    assert.ok([204, 503].includes(answer.status), String(answer.status));
    await answer.arrayBuffer();
    assert.equal((await call(dundun, '/health/live')).status, 200);
  }
}

const launcher = [process.execPath, join(root, 'bin/dundun.js'), 'serve'];
const mib = (bytes: number) => Math.round(bytes / 2 ** 20);

test('strangers who fill all that is bounded at once stay below the memory of the process', async (t) => {
  const dundun = await startDundun({ command: launcher });
  assert.equal((await call(dundun, '/api/v2/devices', { json: { id: device, sensors: [{ id: 's' }] } })).status, 204);
  const array = Array.from({ length: limits.pushDatapointsMax }, (_, n) => ({
    value: n + 0.123456,
    timestamp: new Date(1_700_000_000_000 + n * 1_000).toISOString(),
  }));
  const stored = await call(dundun, `/api/v2/devices/${device}/sensors/s/values`, { json: array });
  assert.equal(stored.status, 204);
  const restBytes = dundun.takenBytes();
  let mostBytes = restBytes;
  const watch = setInterval(() => {
    mostBytes = Math.max(mostBytes, dundun.takenBytes());
  }, 25);
  await Promise.all([
    ...addresses.flatMap((from) =>
      [stallBodies, leaveUnread, subscribe, stallConnects].map((fill) => fill(dundun, from)),
    ),
    push(dundun),
    push(dundun),
  ]);
  clearInterval(watch);
  t.diagnostic(`${mib(restBytes)} MiB before, ${mib(mostBytes)} MiB at most`);
  assert.ok(mostBytes - restBytes >= filledBytesMin, 'the memory was not filled');
  assert.ok(mostBytes <= memoryBytesDefault, `memory reached ${mib(mostBytes)} MiB`);
  for (const socket of connections) socket.destroy();
  assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
});

/**
 * What stays of a load is what is remembered of stored data, three threads that the load started, and what malloc keeps of
 * small blocks for the next one.
 */
const ceilings = [
  { setting: '512MiB', bytes: 512 * 2 ** 20, staysBytesMax: 170 * 2 ** 20 },
  { setting: '256MB', bytes: 256e6, staysBytesMax: 100 * 2 ** 20 },
];
const size =
  process.env['DUNDUN_TEST_LONG'] === '1'
    ? { history: 20_000_000, sensors: 100_000, ms: 20_000 }
    : { history: 300_000, sensors: 10_000, ms: 2_500 };
const givenBackMsMax = 20_000;

for (const { setting, bytes, staysBytesMax } of ceilings) {
  test(`no load passes a ceiling of ${mib(bytes)} MiB, and what it took is given back`, async (t) => {
    const dundun = await startDundun({ command: launcher, settings: { DUNDUN_MEMORY_MAX: setting } });
    // Where a load fails nobody else would end it, and the tests would wait for it.
    t.after(() => dundun.child.kill('SIGKILL'));
    const { http, mqtt = 0 } = dundun.ports;
    const token = await login(dundun);
    assert.ok(typeof token === 'string');
    const target = { http, mqtt, token, login: { username: 'admin', password: adminPassword } };
    const restBytes = dundun.takenBytes();
    for (const load of memoryLoads) {
      let mostBytes = 0;
      const watch = setInterval(() => {
        // That it ended by itself is told below.
        if (dundun.child.exitCode === null && dundun.child.signalCode === null)
          mostBytes = Math.max(mostBytes, dundun.takenBytes());
      }, 10);
      try {
        await load.prepare?.(target, size);
        await load.run(target, size);
      } finally {
        clearInterval(watch);
      }
      const endedMs = performance.now();
      const isBack = () => dundun.takenBytes() <= restBytes + staysBytesMax;
      await until(isBack, { msMax: givenBackMsMax }).catch(() => {});
      const [most, left, seconds] = [mib(mostBytes), mib(dundun.takenBytes()), Math.round((performance.now() - endedMs) / 1_000)]; // biome-ignore format: one line
      t.diagnostic(`${load.name}: ${most} MiB at most, ${left} MiB after ${seconds} s; ${mib(restBytes)} at rest`);
      assert.ok(mostBytes <= bytes, `${load.name}: memory reached ${most} MiB`);
      assert.ok(isBack(), `${load.name}: ${left} MiB stay`);
    }
    assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
  });
}
