// A year of 95 sensors, asked while more comes in, beside a plain SQLite table with an index: lasts, ranges, charts and
// days; how much memory all that takes; and how soon the server is back after it was killed with a full log.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from '../arguments.ts';
import { isPinned, serverCoreBusyS } from '../cores.ts';
import { Latencies, median, shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { HttpAsk } from '../load/http-ask.ts';
import { MqttLoad } from '../load/mqtt-load.ts';
import { currentReadingText } from '../load/readings.ts';
import { arrayDatapoints, minutesMax, questions, Targets, yearSensors } from '../load/year.ts';
import { judgeCounts, type Section, type Verdict } from '../section.ts';
import { countAll, fillFleet, fillTable, readBack } from '../series/fill.ts';
import { Memory } from '../series/memory.ts';
import { killAndRestart } from '../series/restart.ts';
import { ServerProcess } from '../server-process.ts';

const perS = 5_000;
const othersMax = 0.1;
/** As long as so many rounds: on one core, what the engine still compiles in the background is what questions wait for longest. */
const warmUpRounds = 2;
/** Seconds at the beginning of a round that do not count: the load's connections are made anew, and their code compiled. */
const openingS = 2;
const memoryMbMax = 350;
const restartMsMax = 3_000;

/** One that is asked, with more coming in beside. */
interface Asked {
  readonly name: string;
  readonly server: ServerProcess;
  /** Takes in `perS` for so many seconds; what was sent and acknowledged. */
  readonly ingest: (seconds: number) => Promise<Sent>;
  readonly ask: HttpAsk;
  readonly pathOf: (question: (typeof questions)[number]) => string;
  /** For each question. */
  readonly times: readonly Latencies[];
  readonly others: number[];
}

type Sent = { readonly sent: number; readonly acknowledged: number };

export async function measureSeries(options: BenchOptions, dataDir: string): Promise<Section> {
  const minutes = Math.min(minutesMax, Math.max(1, Math.floor(options.datapoints / yearSensors)));
  const folder = join(dataDir, 'dundun');
  let fleet = await Fleet.start({ dataDir: folder, devices: 19, sensorsEach: 5, profile: options.profile });
  const memory = new Memory(fleet.server);
  const plain = await ServerProcess.start(fileURLToPath(new URL('../baseline/table.ts', import.meta.url)), {
    args: [dataDir],
  });
  try {
    const filled = await fillFleet(fleet, minutes);
    await fillTable(plain, minutes);
    const targets = new Targets(minutes);
    const [ours, theirs] = [await askFleet(fleet, targets, options), askTable(plain, targets)];
    const beside = await askInTurns([ours, theirs], options);
    const faults = await readBack(fleet, minutes);
    memory.note();
    const restarts = await killAndRestart(fleet, { dataDir: folder, options, memory });
    fleet = restarts.fleet;
    const counts = judgeCounts([filled, ...beside, ...restarts.sent], await countAll(fleet));
    memory.note();
    return {
      title: `Questions to ${shown(minutes * yearSensors)} datapoints`,
      how: `${yearSensors} sensors with ${shown(minutes)} datapoints each, a minute apart, pushed in arrays of ${shown(arrayDatapoints)} at ${shown(filled.perS)} a second; ${shown(perS)} more a second by MQTT while it is asked, over one connection, about another sensor and another week each time. The baseline is a SQLite table with an index on sensor and time, filled in the same order, with ${shown(perS)} rows a second beside; it answers with the number of rows, without JSON. The first ${openingS} s of each round do not count: the connections that bring more in are made then. ${counts.line}`,
      tables: [questionsTable(ours, theirs), memoryTable(memory), restartsTable(restarts)],
      verdicts: [...answersVerdicts(ours), memoryVerdict(memory), restartVerdict(restarts.timesMs)],
      faults: [...faults, ...counts.faults],
    };
  } finally {
    memory.end();
    await Promise.all([fleet.server.stop(), plain.stop()]);
  }
}

async function askFleet(fleet: Fleet, targets: Targets, { mqttClients }: BenchOptions): Promise<Asked> {
  const { httpPort, mqttPort: port } = fleet.server;
  const topics = fleet.sensors.map((sensor) => `${sensor}/value`);
  const window = Math.ceil(perS / mqttClients);
  const mqtt = { port, clients: mqttClients, window, topics, login: Fleet.login, perS, reading: currentReadingText };
  return {
    name: 'Dundun',
    server: fleet.server,
    ingest: (seconds) => new MqttLoad(mqtt).run(seconds),
    // A key, because a token lasts ten minutes.
    ask: new HttpAsk(httpPort, { authorization: `Bearer ${await fleet.key()}` }),
    pathOf: (question) => {
      const { sensor, fromMs, toMs } = targets.next(question);
      const path = `/api/v2/${fleet.sensors[sensor]}/values?${question.query}`;
      if (question.path === 'last') return path;
      return `${path}&dateFrom=${new Date(fromMs).toISOString()}&dateTo=${new Date(toMs).toISOString()}`;
    },
    times: questions.map(() => new Latencies()),
    others: [],
  };
}

function askTable(server: ServerProcess, targets: Targets): Asked {
  const url = `http://127.0.0.1:${server.httpPort}`;
  return {
    name: 'SQLite table',
    server,
    ingest: async (seconds) => {
      await fetch(`${url}/ingest?perS=${perS}&seconds=${seconds}`);
      return { sent: 0, acknowledged: 0 };
    },
    ask: new HttpAsk(server.httpPort),
    pathOf: (question) => {
      const { sensor, fromMs, toMs } = targets.next(question);
      return `/${question.path}?sensor=${sensor}&from=${fromMs}&to=${toMs}`;
    },
    times: questions.map(() => new Latencies()),
    others: [],
  };
}

/** Each side in turn for so many seconds, a warm-up before; what was taken in beside. */
async function askInTurns(sides: readonly Asked[], options: BenchOptions): Promise<Sent[]> {
  const sent: Sent[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    const seconds = round === 0 ? options.seconds * warmUpRounds : options.seconds;
    for (const side of round % 2 === 0 ? sides.toReversed() : sides)
      sent.push(await askFor(side, { seconds, isWarmUp: round === 0 }));
    console.error(`series: ${round === 0 ? 'warm-up' : `round ${round} of ${options.rounds}`}`);
  }
  for (const { ask } of sides) ask.close();
  return sent;
}

async function askFor(
  { server, ingest, ask, pathOf, times, others }: Asked,
  { seconds, isWarmUp }: { readonly seconds: number; readonly isWarmUp: boolean },
): Promise<Sent> {
  await server.quiet();
  const before = { own: server.cpuS(), core: serverCoreBusyS() };
  const ingesting = ingest(openingS + seconds);
  const countedMs = performance.now() + openingS * 1000;
  const endMs = countedMs + seconds * 1000;
  // All of them at least once, however short the round.
  for (let isCounted = false; !isCounted || performance.now() < endMs; ) {
    isCounted = performance.now() >= countedMs;
    for (const [n, question] of questions.entries()) {
      const ms = await ask.time(pathOf(question));
      if (isCounted && !isWarmUp) times[n]?.add(ms);
    }
  }
  others.push((serverCoreBusyS() - before.core - (server.cpuS() - before.own)) / (openingS + seconds));
  return ingesting;
}

function questionsTable(ours: Asked, theirs: Asked): string {
  const rows = questions.map(({ name }, n) => {
    const [p50 = Number.NaN, p99 = Number.NaN] = ours.times[n]?.percentiles(50, 99) ?? [];
    const [their50 = Number.NaN, their99 = Number.NaN] = theirs.times[n]?.percentiles(50, 99) ?? [];
    return [name, ...[p50, p99, their50, their99, p50 / their50, p99 / their99].map(shown)];
  });
  const header = ['question', 'p50 ms', 'p99 ms', 'table p50 ms', 'table p99 ms', 'ratio p50', 'ratio p99'];
  return table(header, rows);
}

function answersVerdicts({ times, others }: Asked): Verdict[] {
  const isDoubtful = isPinned && median(others) > othersMax;
  return questions.map(({ name, percentile, msMax }, n) => {
    const [ms = Number.NaN] = times[n]?.percentiles(percentile) ?? [];
    const which = percentile === 50 ? 'median' : 'p99';
    return {
      target: `${name}: ${which} ${shown(ms)} ms, target under ${msMax} ms`,
      outcome: isDoubtful ? 'doubtful' : ms < msMax ? 'reached' : 'missed',
    };
  });
}

function memoryTable({ peakMb, sampledMb }: Memory): string {
  return table(
    ['memory of Dundun', 'MB'],
    [
      ['at most, as the system says (VmHWM)', shown(peakMb)],
      ['at most, as sampled', shown(sampledMb)],
    ],
  );
}

function memoryVerdict({ peakMb }: Memory): Verdict {
  return {
    target: `memory throughout: ${shown(peakMb)} MB, target under ${memoryMbMax} MB`,
    outcome: peakMb < memoryMbMax ? 'reached' : 'missed',
  };
}

function restartsTable({
  timesMs,
  logged,
}: {
  readonly timesMs: readonly number[];
  readonly logged: readonly number[];
}): string {
  return table(
    ['killed while taking in', 'datapoints in the log', 'ready after ms'],
    timesMs.map((ms, n) => [`${n + 1}.`, shown(logged[n] ?? Number.NaN), shown(ms)]),
  );
}

function restartVerdict(timesMs: readonly number[]): Verdict {
  const slowest = Math.max(...timesMs);
  return {
    target: `ready after SIGKILL: the slowest of ${timesMs.length} in ${shown(slowest)} ms, target under ${shown(restartMsMax)} ms`,
    outcome: slowest < restartMsMax ? 'reached' : 'missed',
  };
}
