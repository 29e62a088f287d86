// What an overload does: from half of what the service can do to ten times as many as that takes, by each door, and a
// pause of six seconds in which nothing is answered. Goodput must stay near the best, and others must be answered.
import { setTimeout as pause } from 'node:timers/promises';
import type { BenchOptions } from '../arguments.ts';
import { Latencies, shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { type FloodInterval, type FloodLine, FloodTally } from '../load/flood.ts';
import { openMqttFlood } from '../load/mqtt-flood.ts';
import { pushHead } from '../load/push-head.ts';
import { readingText } from '../load/readings.ts';
import { openRestFlood } from '../load/rest-flood.ts';
import { judgeCounts, type Section, type Verdict } from '../section.ts';

/** Goodput at any load, as a share of the best of that door. */
const goodputMin = 0.8;
/** Others are answered within this, milliseconds. */
const othersMsMax = 1_000;
/** After a pause the service is as before within this, seconds. */
const returnSMax = 20;
const pauseS = 6;
const warmS = 3;
const arrayDatapoints = 1_000;

interface Level {
  readonly name: string;
  readonly open: (fleet: Fleet, tally: FloodTally, key: string) => FloodLine[];
}

const rest = (connections: number, depth: number): Level => ({
  name: `${shown(connections)} connections × ${depth}`,
  open: (fleet, tally, key) => openRestFlood({ ...restOf(fleet, key, 1), connections, depth }, tally),
});
const arrays = (connections: number): Level => ({
  name: `${shown(connections)} connections × ${shown(arrayDatapoints)} datapoints`,
  open: (fleet, tally, key) => openRestFlood({ ...restOf(fleet, key, arrayDatapoints), connections, depth: 1 }, tally),
});
const mqtt = (clients: number, window: number): Level => ({
  name: `${shown(clients)} clients × ${shown(window)}`,
  open: (fleet, tally) =>
    openMqttFlood(
      {
        port: fleet.server.mqttPort,
        clients,
        window,
        topics: fleet.sensors.map((sensor) => `${sensor}/value`),
        login: Fleet.login,
      },
      tally,
    ),
});

/** By door, from little to ten times and more of what keeps the service busy. */
const doors: readonly { readonly name: string; readonly levels: readonly Level[] }[] = [
  { name: 'REST', levels: [rest(50, 1), rest(200, 1), rest(500, 1), rest(2_000, 1)] },
  { name: 'pipelined REST', levels: [rest(100, 8), rest(500, 16), rest(2_000, 16), rest(2_000, 100)] },
  { name: 'arrays', levels: [arrays(5), arrays(20), arrays(50), arrays(200)] },
  { name: 'MQTT', levels: [mqtt(100, 20), mqtt(100, 200), mqtt(100, 1_000), mqtt(500, 1_000), mqtt(2_000, 100)] },
];

/** A level as it was measured. */
interface Measured {
  readonly name: string;
  readonly perS: number;
  readonly p99Ms: number;
  readonly refused: number;
  readonly cut: number;
  readonly othersMs: Others;
  readonly peakMib: number;
  /** Seconds after the pause until it was as before; undefined where it was not. */
  readonly returnS: number | undefined;
  readonly acknowledged: number;
}

export async function measureOverload(options: BenchOptions, dataDir: string): Promise<Section> {
  const fleet = await Fleet.start({ dataDir, devices: 100, sensorsEach: 2, profile: options.profile });
  try {
    const key = await fleet.key();
    const tables: string[] = [];
    const verdicts: Verdict[] = [];
    let acknowledged = 0;
    for (const { name, levels } of doors) {
      const measured: Measured[] = [];
      for (const level of levels) {
        measured.push(await measureLevel(fleet, level, { key, seconds: options.seconds }));
        console.error(`overload: ${name}, ${level.name}: ${shown(measured.at(-1)?.perS ?? Number.NaN)}/s`);
      }
      tables.push(tableOf(name, measured));
      verdicts.push(...judge(name, measured));
      for (const one of measured) acknowledged += one.acknowledged;
    }
    const counts = judgeCounts([{ sent: Number.POSITIVE_INFINITY, acknowledged }], await fleet.count());
    return {
      title: 'Overload',
      how: `Each load for ${options.seconds} s, then ${pauseS} s in which the process is stopped (SIGSTOP), then until it is as before. GET, sign-in and health are asked for five times a second beside it. ${counts.line}`,
      tables,
      verdicts,
      faults: counts.faults,
    };
  } finally {
    await fleet.server.stop();
  }
}

async function measureLevel(
  fleet: Fleet,
  level: Level,
  { key, seconds }: { readonly key: string; readonly seconds: number },
): Promise<Measured> {
  const tally = new FloodTally();
  const lines = level.open(fleet, tally, key);
  const others = new Others(fleet, key);
  await pause(warmS * 1_000);
  let acknowledged = tally.take().acknowledged;
  others.forget();
  const startMs = performance.now();
  let peakMib = 0;
  for (let s = 0; s < seconds; s += 1) {
    await pause(1_000);
    peakMib = Math.max(peakMib, fleet.server.rssMib());
  }
  const steady = tally.take();
  const perS = steady.acknowledged / ((performance.now() - startMs) / 1_000);
  const othersMs = others.end();
  const back = await comeBack(fleet, tally, perS);
  for (const line of lines) line.close();
  await fleet.server.quiet();
  acknowledged += steady.acknowledged + back.acknowledged + tally.take().acknowledged;
  return {
    name: level.name,
    perS,
    p99Ms: steady.latencies.percentiles(99)[0] ?? Number.NaN,
    refused: steady.refused,
    cut: steady.cut + back.cut,
    othersMs,
    peakMib: Math.max(peakMib, back.peakMib),
    returnS: back.returnS,
    acknowledged,
  };
}

/** Stops the process for some seconds, and looks how long it takes until it does as much as before. */
async function comeBack(fleet: Fleet, tally: FloodTally, perS: number) {
  fleet.server.signal('SIGSTOP');
  await pause(pauseS * 1_000);
  fleet.server.signal('SIGCONT');
  const startMs = performance.now();
  let acknowledged = 0;
  let cut = 0;
  let peakMib = 0;
  for (let s = 0; s < returnSMax * 2; s += 1) {
    const beganMs = performance.now();
    await pause(1_000);
    const interval: FloodInterval = tally.take();
    acknowledged += interval.acknowledged;
    cut += interval.cut;
    peakMib = Math.max(peakMib, fleet.server.rssMib());
    const nowMs = performance.now();
    if (interval.acknowledged / ((nowMs - beganMs) / 1_000) < perS * goodputMin) continue;
    return { acknowledged, cut, peakMib, returnS: (nowMs - startMs) / 1_000 };
  }
  return { acknowledged, cut, peakMib, returnS: undefined };
}

/** Asks for what others ask for, five times a second, and keeps the slowest answers. */
class Others {
  readonly #kinds: ReadonlyMap<string, () => Promise<Response>>;
  readonly latencies = new Map<string, Latencies>();
  #isOver = false;

  constructor(fleet: Fleet, key: string) {
    const base = `http://127.0.0.1:${fleet.server.httpPort}`;
    const device = fleet.sensors[0]?.split('/')[1];
    const json = { 'content-type': 'application/json' };
    this.#kinds = new Map([
      ['health', () => fetch(`${base}/health/ready`)],
      ['GET', () => fetch(`${base}/api/v2/devices/${device}`, { headers: { authorization: `Bearer ${key}` } })],
      [
        'sign-in',
        () => fetch(`${base}/api/v2/auth/token`, { method: 'POST', headers: json, body: JSON.stringify(Fleet.login) }),
      ],
    ]);
    this.forget();
    for (const [name, ask] of this.#kinds) void this.#askOn(name, ask);
  }

  forget(): void {
    for (const name of this.#kinds.keys()) this.latencies.set(name, new Latencies());
  }

  end(): this {
    this.#isOver = true;
    return this;
  }

  p99(name: string): number {
    return this.latencies.get(name)?.percentiles(99)[0] ?? Number.NaN;
  }

  async #askOn(name: string, ask: () => Promise<Response>): Promise<void> {
    while (!this.#isOver) {
      const startMs = performance.now();
      const into = this.latencies.get(name);
      const isAnswered = await isWell(ask);
      if (!this.#isOver) into?.add(isAnswered ? performance.now() - startMs : Number.POSITIVE_INFINITY);
      await pause(200);
    }
  }
}

async function isWell(ask: () => Promise<Response>): Promise<boolean> {
  try {
    const answer = await ask();
    await answer.text();
    return answer.ok;
  } catch {
    return false;
  }
}

function restOf(fleet: Fleet, token: string, weight: number) {
  let turn = 0;
  const next = () => {
    const sensor = fleet.sensors[turn++ % fleet.sensors.length] ?? '';
    const body = weight === 1 ? readingText() : `[${Array.from({ length: weight }, () => readingText()).join(',')}]`;
    return pushHead(sensor, { token, length: body.length }) + body;
  };
  return { port: fleet.server.httpPort, weight, next };
}

function tableOf(door: string, measured: readonly Measured[]): string {
  const best = bestOf(measured);
  return table(
    [door, 'per s', 'of the best', 'p99 ms', 'refused', 'cut', 'GET p99', 'sign-in p99', 'health p99', 'MiB', 'back after s'], // biome-ignore format: one line
    measured.map((one) => [
      one.name,
      shown(one.perS),
      shown(one.perS / best),
      shown(one.p99Ms),
      shown(one.refused),
      shown(one.cut),
      ...['GET', 'sign-in', 'health'].map((kind) => shown(one.othersMs.p99(kind))),
      shown(one.peakMib),
      one.returnS === undefined ? 'never' : shown(one.returnS),
    ]),
  );
}

function bestOf(measured: readonly Measured[]): number {
  return Math.max(...measured.map(({ perS }) => perS));
}

/** Less than what keeps the service busy says nothing about overload: the levels from the best one on count. */
function judge(door: string, measured: readonly Measured[]): Verdict[] {
  const best = bestOf(measured);
  const beyond = measured.slice(measured.findIndex(({ perS }) => perS === best));
  const least = Math.min(...beyond.map(({ perS }) => perS)) / best;
  const others = Math.max(
    ...beyond.flatMap(({ othersMs }) => ['GET', 'sign-in', 'health'].map((k) => othersMs.p99(k))),
  );
  const returns = measured.map(({ returnS }) => returnS ?? Number.POSITIVE_INFINITY);
  const outcome = (isReached: boolean) => (isReached ? ('reached' as const) : ('missed' as const));
  return [
    { target: `${door}: goodput beyond the best load ${shown(least)} of it, target at least ${goodputMin}`, outcome: outcome(least >= goodputMin) }, // biome-ignore format: one line
    { target: `${door}: GET, sign-in and health p99 ${shown(others)} ms, target at most ${shown(othersMsMax)}`, outcome: outcome(others <= othersMsMax) }, // biome-ignore format: one line
    { target: `${door}: as before ${shown(Math.max(...returns))} s after a pause, target at most ${returnSMax}`, outcome: outcome(Math.max(...returns) <= returnSMax) }, // biome-ignore format: one line
  ];
}
