// One server on PostgreSQL beside one on the embedded store, in turns: single pushes, publishes, arrays, the last value, a year by day,
// and bytes that are kept; and how soon a subscriber at a second server hears of what is pushed to the first.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectAsync } from 'mqtt';
import { PostgresDatabase } from '../../src/engines/postgres/database/postgres-database.ts';
import { PostgresServer, withoutPostgres } from '../../test/support/postgres.ts';
import type { BenchOptions } from '../arguments.ts';
import { type Side, type SideRounds, takeTurns } from '../comparison.ts';
import { Latencies, shown, table } from '../figures.ts';
import { Fleet, startDundun } from '../fleet.ts';
import { Days, datapointsEach, dayPushes } from '../load/day-bodies.ts';
import { HttpAsk } from '../load/http-ask.ts';
import { HttpLoad } from '../load/http-load.ts';
import { type Rounds, summarise } from '../load/load.ts';
import { MqttLoad } from '../load/mqtt-load.ts';
import { minutesMax, spansOf, Year } from '../load/year.ts';
import { judgeCounts, judgeRatio, roundsTable, type Section, type Verdict } from '../section.ts';
import { pushes } from './rest.ts';

const sensors = 200;
const arrayConnections = 3;
const restRatioMin = 0.8;
const mqttRatioMin = 0.7;
const arraysRatioMin = 0.7;
const lastP99MsMax = 5;
const yearRatioMax = 2;
const keptBytesMax = 3;
const heardP99MsMax = 25;
/** Sensors that get a year, a value a minute; and questions of each kind to each side. */
const yearSensors = 4;
const questionsEach = 200;
const heardPushes = 500;
const sealMsMax = 120_000;

const serverOptions = { isDurable: true, settings: { shared_buffers: '256MB' } };

interface Engine {
  readonly name: string;
  readonly fleet: Fleet;
}

export async function measureEngines(options: BenchOptions, dataDir: string): Promise<Section> {
  const title = 'PostgreSQL beside the embedded store';
  const { database } = options;
  if (withoutPostgres !== false && database === undefined)
    return { title, how: `Not measured: ${withoutPostgres}.`, tables: [], verdicts: [], faults: [] };
  const postgres = database === undefined ? await PostgresServer.start(serverOptions) : undefined;
  try {
    const url = database ?? (await (postgres as PostgresServer).createDatabase());
    const shape = { ...Fleet.shapeOf(sensors), profile: options.profile };
    const embedded = await Fleet.start({ ...shape, dataDir: join(dataDir, 'embedded') });
    const env = { DUNDUN_DATABASE_URL: url };
    const onPostgres = await Fleet.start({ ...shape, dataDir: join(dataDir, 'postgres'), env });
    try {
      const engines = [
        { name: 'on PostgreSQL', fleet: onPostgres },
        { name: 'embedded', fleet: embedded },
      ] as const;
      const ingest = await measureIngest(engines, options);
      const reads = await measureReads(engines);
      const kept = await keptBytes(url);
      const heard = await measureHeard(onPostgres, { dataDir: join(dataDir, 'second'), env, profile: options.profile });
      return {
        title,
        how: `In turns, PostgreSQL ${database === undefined ? 'on the core of the load generator, with the disk waited for' : 'at an address that was given'}. ${ingest.lines.join(' ')}`,
        tables: [...ingest.tables, reads.table, kept.table, heard.table],
        verdicts: [...ingest.verdicts, ...reads.verdicts, kept.verdict, heard.verdict],
        faults: ingest.faults,
      };
    } finally {
      await Promise.all([embedded.server.stop(), onPostgres.server.stop()]);
    }
  } finally {
    postgres?.remove();
  }
}

type Engines = readonly [onPostgres: Engine, embedded: Engine];

interface Ingest {
  readonly name: string;
  readonly ratioMin: number;
  readonly sideOf: (engine: Engine) => Side;
}

async function measureIngest(engines: Engines, options: BenchOptions) {
  const { connections, mqttClients: clients, mqttWindow: window } = options;
  const rest: Ingest = {
    name: 'single pushes over REST',
    ratioMin: restRatioMin,
    sideOf: ({ name, fleet }) => ({
      name,
      server: fleet.server,
      load: async (seconds) => {
        const next = pushes(fleet.sensors, await fleet.token());
        return new HttpLoad({ port: fleet.server.httpPort, connections, next }).run(seconds);
      },
    }),
  };
  const mqtt: Ingest = {
    name: 'MQTT publishes of QoS 1',
    ratioMin: mqttRatioMin,
    sideOf: ({ name, fleet }) => {
      const topics = fleet.sensors.map((sensor) => `${sensor}/value`);
      const load = new MqttLoad({ port: fleet.server.mqttPort, clients, window, topics, login: Fleet.login });
      return { name, server: fleet.server, load: (seconds) => load.run(seconds) };
    },
  };
  const arrays: Ingest = {
    name: `arrays of ${shown(datapointsEach)}`,
    ratioMin: arraysRatioMin,
    sideOf: ({ name, fleet }) => {
      const days = new Days(fleet.sensors.length);
      return {
        name,
        server: fleet.server,
        load: async (seconds) => {
          const next = dayPushes(fleet.sensors, { token: await fleet.token(), days });
          const port = fleet.server.httpPort;
          return new HttpLoad({ port, connections: arrayConnections, next, weight: datapointsEach }).run(seconds);
        },
      };
    },
  };
  const tables: string[] = [];
  const verdicts: Verdict[] = [];
  const taken: SideRounds[][] = [];
  for (const { name, ratioMin, sideOf } of [rest, mqtt, arrays]) {
    const rounds = await takeTurns(name, engines.map(sideOf), options);
    taken.push(rounds);
    const [ours, theirs] = rounds.map(({ measured }) => summarise(measured)) as [Rounds, Rounds];
    tables.push(
      roundsTable([
        { name: `${name}, ${engines[0].name}`, rounds: ours },
        { name: `${name}, ${engines[1].name}`, rounds: theirs },
      ]),
    );
    verdicts.push(judgeRatio(`${name} on PostgreSQL, beside the embedded store`, [ours, theirs], ratioMin));
  }
  const counts = await Promise.all(
    engines.map(async ({ fleet }, n) =>
      judgeCounts(
        taken.flatMap((rounds) => rounds[n]?.all ?? []),
        await fleet.count(),
      ),
    ),
  );
  const lines = counts.map(({ line }, n) => `${engines[n]?.name}: ${line}`);
  return { tables, verdicts, lines, faults: counts.flatMap(({ faults }) => faults) };
}

/** Questions one by one to either side in turn, about a year of minutes. */
async function measureReads(engines: Engines) {
  const startMs = Date.UTC(2025, 0, 1);
  const kinds = [
    { name: 'the last value', query: 'lastN=1' },
    { name: 'a year by day', query: 'dateTo=2025-12-31T23:59:59Z&bucket=1d&aggregate=min,max,avg' },
  ] as const;
  const times = engines.map(() => kinds.map(() => new Latencies()));
  const asks = await Promise.all(
    engines.map(async ({ fleet }) => {
      await fillYear(fleet, startMs);
      await fleet.server.quiet();
      return new HttpAsk(fleet.server.httpPort, { authorization: `Bearer ${await fleet.key()}` });
    }),
  );
  // One kind after the other: after a long read a server collects its garbage, and both have the same core. The first tenth warms up.
  for (const [k, kind] of kinds.entries())
    for (let n = -questionsEach / 10; n < questionsEach; n++)
      for (const [e, engine] of engines.entries()) {
        const sensor = engine.fleet.sensors[Math.abs(n) % yearSensors];
        const ms = await (asks[e] as HttpAsk).time(`/api/v2/${sensor}/values?${kind.query}`);
        if (n >= 0) times[e]?.[k]?.add(ms);
      }
  for (const ask of asks) ask.close();
  const of = (engine: number, kind: number, percentile: number) =>
    times[engine]?.[kind]?.percentiles(percentile)[0] ?? Number.NaN;
  const yearRatio = of(0, 1, 50) / of(1, 1, 50);
  const verdicts: Verdict[] = [
    {
      target: `the last value on PostgreSQL after ${shown(of(0, 0, 99))} ms (p99), target at most ${lastP99MsMax} ms`,
      outcome: of(0, 0, 99) <= lastP99MsMax ? 'reached' : 'missed',
    },
    {
      target: `a year by day on PostgreSQL: ${shown(yearRatio)} times the embedded store, target at most ${yearRatioMax}`,
      outcome: yearRatio <= yearRatioMax ? 'reached' : 'missed',
    },
  ];
  const rows = kinds.flatMap(({ name }, k) =>
    engines.map((engine, e) => [`${name}, ${engine.name}`, shown(of(e, k, 50)), shown(of(e, k, 99))]),
  );
  return { table: table(['question', 'p50 ms', 'p99 ms'], rows), verdicts };
}

async function fillYear(fleet: Fleet, startMs: number): Promise<void> {
  const headers = { authorization: `Bearer ${await fleet.key()}`, 'content-type': 'application/json' };
  const year = new Year(startMs);
  for (const span of spansOf(minutesMax))
    for (let n = 0; n < yearSensors; n++)
      await fleet.send('POST', `${fleet.sensors[n]}/values`, { headers, body: year.body(n, span) as never });
}

/** Of the chunks with their index, and of the rows of their sensors, once nothing more is sealed. */
async function keptBytes(url: string) {
  const database = new PostgresDatabase(url);
  const citus = await database.query("SELECT 1 FROM pg_extension WHERE extname = 'citus'");
  const size = citus.length > 0 ? 'citus_total_relation_size' : 'pg_total_relation_size';
  const ask = async () => {
    const sql = `SELECT ${size}('chunk') + ${size}('series') AS bytes, (SELECT coalesce(sum(count), 0) FROM chunk) AS datapoints`;
    const [row] = await database.query<{ bytes: number; datapoints: number }>(sql);
    return { bytes: row?.bytes ?? 0, datapoints: row?.datapoints ?? 0 };
  };
  let found = await ask();
  const untilMs = performance.now() + sealMsMax;
  for (let before = -1; before !== found.datapoints && performance.now() < untilMs; ) {
    before = found.datapoints;
    await pause(2_000);
    found = await ask();
  }
  // What sealing has replaced is room for what comes next.
  await database.query('VACUUM FULL chunk');
  const vacuumed = await ask();
  await database.close();
  const [each, packed] = [found.bytes / found.datapoints, vacuumed.bytes / vacuumed.datapoints];
  const verdict: Verdict = {
    target: `bytes kept a datapoint on PostgreSQL: ${shown(each)}, target at most ${keptBytesMax}`,
    outcome: each <= keptBytesMax ? 'reached' : 'missed',
  };
  const header = ['kept on PostgreSQL', 'datapoints', 'MB', 'bytes each'];
  const row = (name: string, { bytes, datapoints }: typeof found, bytesEach: number) => [
    name,
    shown(datapoints),
    shown(bytes / 1e6),
    shown(bytesEach),
  ];
  const rows = [row('as it is', found, each), row('after VACUUM FULL', vacuumed, packed)];
  return { table: table(header, rows), verdict };
}

/** From a publish at one server to its subscriber at another, one after the other. */
async function measureHeard(fleet: Fleet, options: Parameters<typeof startDundun>[0]) {
  const second = await startDundun(options);
  const connectTo = (port: number) => connectAsync(`mqtt://127.0.0.1:${port}`, { ...Fleet.login, keepalive: 0 });
  const publisher = await connectTo(fleet.server.mqttPort);
  const subscriber = await connectTo(second.mqttPort);
  const [topic] = fleet.sensors.map((sensor) => `${sensor}/value`) as [string];
  const latencies = new Latencies();
  try {
    await subscriber.subscribeAsync(topic, { qos: 1 });
    for (let n = -heardPushes / 10; n < heardPushes; n++) {
      const heard = new Promise((resolve) => subscriber.once('message', resolve));
      const startMs = performance.now();
      await Promise.all([publisher.publishAsync(topic, String(n), { qos: 1 }), heard]);
      if (n >= 0) latencies.add(performance.now() - startMs);
    }
  } finally {
    await Promise.all([publisher.endAsync(true), subscriber.endAsync(true)]);
    await second.stop();
  }
  const [p50 = Number.NaN, p99 = Number.NaN] = latencies.percentiles(50, 99);
  const verdict: Verdict = {
    target: `heard at another server after ${shown(p99)} ms (p99), target at most ${heardP99MsMax} ms`,
    outcome: p99 <= heardP99MsMax ? 'reached' : 'missed',
  };
  const rows = [['a publish of QoS 1, and its subscriber at another server', shown(p50), shown(p99)]];
  return { table: table(['between two servers', 'p50 ms', 'p99 ms'], rows), verdict };
}
