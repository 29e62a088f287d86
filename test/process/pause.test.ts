// The process stands still for six seconds (a suspended machine, a disk that does not answer) while devices go on sending at
// their rate, whatever is answered. Afterwards all that was sent is answered, pushes are answered at once again within
// twenty seconds, and the memory stays below its ceiling (I4).
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { generate } from 'mqtt-packet';
import { memoryBytesDefault } from '../../src/config/memory-profile.ts';
import { call, makeDevice, startDundun } from '../support/process.ts';
import { until } from '../support/until.ts';

const pauseMs = 6_000;
const backMsMax = 20_000;
/** A push that is answered within this long waits for nobody. */
const promptMs = 1_000;
const tickMs = 20;
/** 500 pushes a second over REST and 5 000 over MQTT: each connection sends one, or ten, in a tick. */
const connections = { rest: 10, mqtt: 10 };
const publishesATick = 10;
const device = 'steady';

/** A sender that never waits for an answer; answers come in order, so the oldest without one is the next that is answered. */
class Sender {
  readonly #socket: Socket;
  readonly #sentMs: number[] = [];
  answered = 0;
  refused = 0;
  sent = 0;
  isCut = false;
  readonly #packet: (n: number) => string | Buffer;

  constructor(port: number, packet: (n: number) => string | Buffer) {
    this.#packet = packet;
    this.#socket = connect({ port, host: '127.0.0.1' });
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.isCut = true;
    });
  }

  get socket(): Socket {
    return this.#socket;
  }

  send(): void {
    this.sent += 1;
    this.#sentMs.push(performance.now());
    this.#socket.write(this.#packet(this.sent));
  }

  noteAnswers(count: number): void {
    this.answered += count;
  }

  /** How long the oldest push without an answer has waited. */
  get waitingMs(): number {
    const oldest = this.#sentMs[this.answered];
    return oldest === undefined ? 0 : performance.now() - oldest;
  }

  get isAnswered(): boolean {
    return this.answered === this.sent;
  }

  end(): void {
    this.#socket.destroy();
  }
}

function restSender(port: number, sensor: string): Sender {
  const head = `POST /api/v2/devices/${device}/sensors/${sensor}/value HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
  const sender = new Sender(port, (n) => {
    const body = JSON.stringify({ value: n });
    return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  });
  let rest = '';
  sender.socket.setEncoding('latin1').on('data', (text: string) => {
    const statuses = [...(rest + text).matchAll(/HTTP\/1\.1 (\d{3}) [^\r]*\r\n/g)];
    sender.noteAnswers(statuses.length);
    sender.refused += statuses.filter(([, status]) => status !== '204').length;
    // A status line that is not whole yet; bodies of refusals have no such text.
    const all = rest + text;
    const last = statuses.at(-1);
    rest = all.slice(last === undefined ? 0 : last.index + last[0].length).slice(-40);
  });
  return sender;
}

async function mqttSender(port: number, sensor: string): Promise<Sender> {
  const topic = `devices/${device}/sensors/${sensor}/value`;
  const sender = new Sender(port, (n) =>
    generate({
      ...{ cmd: 'publish', topic, qos: 1, dup: false, retain: false },
      ...{ messageId: ((n - 1) % 65_535) + 1, payload: JSON.stringify({ value: n }) },
    }),
  );
  const clientId = `steady-${sensor}`;
  sender.socket.write(generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId, clean: true }));
  let bytes = 0;
  sender.socket.on('data', (piece: Buffer) => {
    const before = Math.max(0, bytes - 4);
    bytes += piece.length;
    // A CONNACK and then PUBACKs alone, each of four bytes.
    sender.noteAnswers(Math.floor(Math.max(0, bytes - 4) / 4) - Math.floor(before / 4));
  });
  await until(() => bytes >= 4);
  return sender;
}

test('after a pause of six seconds under load all is answered, at once again, and within the memory', async (t) => {
  const dundun = await startDundun();
  const { http, mqtt = 0 } = dundun.ports;
  const restSensors = Array.from({ length: connections.rest }, (_, n) => `r${n}`);
  const mqttSensors = Array.from({ length: connections.mqtt }, (_, n) => `m${n}`);
  await makeDevice(dundun, device, [...restSensors, ...mqttSensors]);
  const rest = restSensors.map((sensor) => restSender(http, sensor));
  const publishers = await Promise.all(mqttSensors.map((sensor) => mqttSender(mqtt, sensor)));
  const senders = [...rest, ...publishers];
  let mostBytes = 0;
  const ticking = setInterval(() => {
    for (const sender of rest) sender.send();
    for (const sender of publishers) for (let n = 0; n < publishesATick; n += 1) sender.send();
    mostBytes = Math.max(mostBytes, dundun.takenBytes());
  }, tickMs);
  t.after(() => clearInterval(ticking));

  await until(() => senders.every((sender) => sender.answered > 50));
  dundun.child.kill('SIGSTOP');
  const stoppedMs = performance.now();
  await pause(pauseMs);
  dundun.child.kill('SIGCONT');
  const resumedMs = performance.now();
  // It did stand still: nothing sent after the stop is answered.
  assert.ok(senders.every(({ waitingMs }) => waitingMs >= resumedMs - stoppedMs - 2 * promptMs));
  const isPrompt = () => senders.every((sender) => sender.isCut || sender.waitingMs < promptMs);
  await until(isPrompt, { msMax: backMsMax, otherwise: () => senders.map(({ waitingMs }) => Math.round(waitingMs)) });
  const backMs = performance.now() - resumedMs;
  assert.deepEqual(
    senders.map(({ isCut }) => isCut),
    senders.map(() => false),
    'no connection was cut',
  );
  clearInterval(ticking);
  await until(() => senders.every(({ isAnswered }) => isAnswered));
  t.diagnostic(`back after ${Math.round(backMs)} ms; ${Math.round(mostBytes / 2 ** 20)} MiB at most`);
  assert.ok(mostBytes <= memoryBytesDefault, `memory reached ${Math.round(mostBytes / 2 ** 20)} MiB`);

  // What was acknowledged is there, each once; a push that waited too long was refused, and is not.
  for (const [index, sender] of senders.entries()) {
    const sensor = [...restSensors, ...mqttSensors][index];
    const buckets = await call(dundun, `/api/v2/devices/${device}/sensors/${sensor}/values?bucket=1d&aggregate=count`);
    const rows = (await buckets.json()) as readonly { count: number }[];
    const stored = rows.reduce((sum, { count }) => sum + count, 0);
    assert.equal(stored, sender.sent - sender.refused, sensor);
    sender.end();
  }
  assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
});
