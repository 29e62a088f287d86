// What long use does: about half of what the service can take, over REST and MQTT, with reads, sign-ins and rules beside it, and
// connections that are made anew each interval. Memory, descriptors and p99 must not rise.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { BenchOptions } from '../arguments.ts';
import { median, shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { HttpLoad } from '../load/http-load.ts';
import type { LoadResult } from '../load/load.ts';
import { MqttLoad } from '../load/mqtt-load.ts';
import { Others, type Question, usualQuestions } from '../load/others.ts';
import { pushHead } from '../load/push-head.ts';
import { currentReadingText } from '../load/readings.ts';
import { judgeCounts, type Section, type Verdict } from '../section.ts';
import { fitTrend, isRising, type Trend } from '../trend.ts';

/** Measurements in all, whatever the length. */
const intervals = 60;
/** The first of them are not looked at: caches fill, the compiler learns, the heap finds its size. */
const warmIntervals = 15;
const restConnections = 50;
const mqttClients = 50;
const mqttWindow = 100;
const bestSeconds = 10;
/** Sensors with a rule that fires; each rests so long afterwards, seconds. */
const watched = 20;
const throttlingS = 10;

const questions = ['health', 'GET', 'sign-in', 'values', 'aggregates'];

interface Interval {
  readonly minute: number;
  readonly memoryMib: number;
  readonly descriptors: number;
  readonly restP99Ms: number;
  readonly mqttP99Ms: number;
  readonly readP99Ms: number;
  readonly acknowledged: number;
  readonly sent: number;
  readonly unanswered: number;
  readonly cpu: number;
  readonly told: number;
}

type Measure = 'memoryMib' | 'descriptors' | 'restP99Ms' | 'mqttP99Ms' | 'readP99Ms';

const measures: readonly (readonly [Measure, string])[] = [
  ['memoryMib', 'memory, MiB'],
  ['descriptors', 'descriptors'],
  ['restP99Ms', 'REST p99, ms'],
  ['mqttP99Ms', 'MQTT p99, ms'],
  ['readP99Ms', 'reads p99, ms'],
];

export async function measureSoak(options: BenchOptions, dataDir: string): Promise<Section> {
  const env = { DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1' };
  const fleet = await Fleet.start({ dataDir, devices: 100, sensorsEach: 2, profile: options.profile, env });
  const provider = new Provider();
  try {
    const key = await fleet.key();
    await makeRules(fleet, key, await provider.open());
    const load = new SoakLoad(fleet, key);
    const best = options.rates === undefined ? await load.run({ seconds: bestSeconds }) : undefined;
    const [restPerS, mqttPerS] =
      options.rates ?? (best ?? []).map((result) => result.acknowledgedInTime / bestSeconds / 2);
    const rates = { restPerS: Math.round(restPerS ?? 0), mqttPerS: Math.round(mqttPerS ?? 0) };
    const others = new Others(fleet.server.httpPort, questionsOf(fleet, key));
    const seen: Interval[] = [];
    const seconds = Math.max(2, options.minutes);
    for (let n = 0; n < intervals; n++) {
      seen.push(await measureInterval({ fleet, load, others, provider }, { n, seconds, rates }));
      console.error(`soak: ${progressOf(seen.at(-1) as Interval)}`);
    }
    await others.close();
    const all = [...(best ?? []), ...seen];
    const counts = judgeCounts(all, await fleet.count());
    return report(seen, { seconds, rates, isBest: best !== undefined, counts });
  } finally {
    await fleet.server.stop();
    provider.close();
  }
}

interface Rates {
  readonly restPerS: number;
  readonly mqttPerS: number;
}

/** Pushes and publishes at once, over connections of their own each time. */
class SoakLoad {
  readonly #fleet: Fleet;
  readonly #key: string;

  constructor(fleet: Fleet, key: string) {
    this.#fleet = fleet;
    this.#key = key;
  }

  /** As fast as it goes where no rates are said. */
  run({ seconds, rates }: { readonly seconds: number; readonly rates?: Rates }): Promise<LoadResult[]> {
    const { server, sensors } = this.#fleet;
    let turn = 0;
    const length = currentReadingText().length;
    const heads = sensors.map((sensor) => pushHead(sensor, { token: this.#key, length }));
    const rest = new HttpLoad({
      port: server.httpPort,
      connections: restConnections,
      next: () => `${heads[turn++ % heads.length]}${currentReadingText()}`,
      ...(rates && { perS: rates.restPerS }),
    });
    const mqtt = new MqttLoad({
      port: server.mqttPort,
      clients: mqttClients,
      window: mqttWindow,
      topics: sensors.map((sensor) => `${sensor}/value`),
      login: Fleet.login,
      reading: currentReadingText,
      ...(rates && { perS: rates.mqttPerS }),
    });
    return Promise.all([rest.run(seconds), mqtt.run(seconds)]);
  }
}

interface Site {
  readonly fleet: Fleet;
  readonly load: SoakLoad;
  readonly others: Others;
  readonly provider: Provider;
}

async function measureInterval(
  { fleet, load, others, provider }: Site,
  { n, seconds, rates }: { readonly n: number; readonly seconds: number; readonly rates: Rates },
): Promise<Interval> {
  const memories: number[] = [];
  const descriptors: number[] = [];
  const cpuBeforeS = fleet.server.cpuS();
  let isOver = false;
  const watching = (async () => {
    for (await pause(1_000); !isOver; await pause(1_000)) {
      memories.push(fleet.server.rssMib());
      descriptors.push(fleet.server.descriptors());
    }
  })();
  const [rest, mqtt] = (await load.run({ seconds, rates })) as [LoadResult, LoadResult];
  isOver = true;
  await watching;
  const answered = await others.take();
  return {
    minute: ((n + 1) * seconds) / 60,
    memoryMib: median(memories),
    descriptors: median(descriptors),
    restP99Ms: rest.latencies.percentiles(99)[0] ?? Number.NaN,
    mqttP99Ms: mqtt.latencies.percentiles(99)[0] ?? Number.NaN,
    readP99Ms: Math.max(...questions.map((name) => answered.p99Ms(name))),
    acknowledged: rest.acknowledged + mqtt.acknowledged,
    sent: rest.sent + mqtt.sent,
    unanswered: answered.failed,
    cpu: (fleet.server.cpuS() - cpuBeforeS) / seconds,
    told: provider.told,
  };
}

/** The usual ones; the last minute of a sensor, and a day of it in hours. */
function questionsOf(fleet: Fleet, key: string): Question[] {
  const values = `/api/v2/${fleet.sensors[0]}/values`;
  const headers = { authorization: `Bearer ${key}`, connection: 'close' };
  return [
    ...usualQuestions(fleet, key),
    { name: 'values', path: `${values}?limit=1000&dateFrom=`, sinceMs: 60_000, headers },
    { name: 'aggregates', path: `${values}?bucket=1h&dateFrom=`, sinceMs: 86_400_000, headers },
  ];
}

async function makeRules(fleet: Fleet, key: string, address: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const token = { ...headers, authorization: `Bearer ${await fleet.token()}` };
  const { id } = (await (await fleet.send('GET', 'users/me', { headers: token })).json()) as { readonly id: string };
  await fleet.send('PUT', `users/${id}`, { headers: token, body: JSON.stringify({ webhook: [address] }) });
  for (const path of fleet.sensors.slice(0, watched)) {
    const [, device = '', , sensor = ''] = path.split('/');
    const condition = { devices: [device], sensors: [sensor], expression: `${sensor}>99` };
    const action = { usernames: [Fleet.login.username], channels: ['webhook'], message: `{id} is at {${sensor}} °C` };
    const body = JSON.stringify({ condition, action, throttling: throttlingS });
    await fleet.send('POST', 'notifications', { headers: token, body });
  }
}

/** Whom the rules tell. */
class Provider {
  readonly #server: Server;
  told = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      request.resume().on('end', () => {
        this.told += 1;
        response.writeHead(204).end();
      });
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function report(
  seen: readonly Interval[],
  how: {
    readonly seconds: number;
    readonly rates: Rates;
    readonly isBest: boolean;
    readonly counts: ReturnType<typeof judgeCounts>;
  },
): Section {
  const { seconds, rates, isBest, counts } = how;
  const looked = seen.slice(warmIntervals);
  const trends = measures.map(([measure, name]) => ({ name, trend: fitTrend(looked.map((one) => one[measure])) }));
  const unanswered = seen.reduce((total, one) => total + one.unanswered, 0);
  const minutes = (intervals * seconds) / 60;
  const ofWhat = isBest ? 'half of what both reach at once' : 'as the command says';
  const verdicts: Verdict[] = trends.map(({ name, trend }) => ({
    target: `${name}: ${perHour(trend, seconds)}, target: no rise`,
    outcome: isRising(trend) ? 'missed' : 'reached',
  }));
  return {
    title: `${shown(minutes)} minutes of soak`,
    how: `${shown(rates.restPerS)} pushes a second over ${restConnections} connections of REST and ${shown(rates.mqttPerS)} over ${mqttClients} of MQTT (${ofWhat}), all made anew every ${seconds} s; health, a device, a sign-in, the last minute of a sensor and a day of it in hours asked for up to five times a second each; ${watched} rules that tell a webhook, ${shown(seen.at(-1)?.told ?? 0)} times in all. The service used ${shown(median(looked.map(({ cpu }) => cpu)) * 100)} % of a core. ${shown(unanswered)} of the questions were not answered with success. ${counts.line} Lines by least squares through ${looked.length} measurements of ${seconds} s, after ${warmIntervals} that warm up; 95 % confidence intervals (Student's t, widened for the correlation of a measurement with the next). It rises where the interval lies above zero and the whole rise is larger than the scatter about the line.`,
    tables: [
      table(
        ['', 'mean', 'scatter', 'slope an hour', '±', 'rises'],
        trends.map(({ name, trend }) => [
          name,
          shown(trend.mean),
          shown(trend.scatter),
          shown((trend.slope * 3600) / seconds),
          shown((trend.slopeError * 3600) / seconds),
          isRising(trend) ? 'yes' : 'no',
        ]),
      ),
      table(
        ['minute', ...measures.map(([, name]) => name)],
        seen
          .filter((_, n) => (n + 1) % 5 === 0)
          .map((one) => [shown(one.minute), ...measures.map(([measure]) => shown(one[measure]))]),
      ),
    ],
    verdicts,
    faults: counts.faults,
  };
}

function perHour({ slope, slopeError }: Trend, seconds: number): string {
  return `${shown((slope * 3600) / seconds)} ± ${shown((slopeError * 3600) / seconds)} an hour`;
}

function progressOf(one: Interval): string {
  const figures = measures.map(([measure, name]) => `${name} ${shown(one[measure])}`).join('; ');
  return `minute ${shown(one.minute)}: ${figures}; ${shown(one.acknowledged)} acknowledged; ${shown(one.cpu * 100)} % of a core`;
}
