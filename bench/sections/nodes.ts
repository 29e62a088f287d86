// Several servers on one PostgreSQL database: what it costs that all their commits take their place in one order, beside commits of which each
// writer has an order of its own. Statements alone, on a PostgreSQL server of its own that waits for the disk.
import pg from 'pg';
import { PostgresDatabase } from '../../src/engines/postgres/database/postgres-database.ts';
import { LogWriter } from '../../src/engines/postgres/log/log-writer.ts';
import { PostgresServer, withoutPostgres } from '../../test/support/postgres.ts';
import type { BenchOptions } from '../arguments.ts';
import { Latencies, median, shown, table } from '../figures.ts';
import type { Section } from '../section.ts';

const datapoints = 1_000;
/** Of a packed row of so many datapoints. */
const row = Buffer.alloc(22 * datapoints, 7);
const nodes = ['one', 'two'] as const;

/** Makes one commit of a writer; resolves when it is on disk. */
type Commit = (writer: number) => Promise<unknown>;

interface Side {
  readonly name: string;
  readonly writers: number;
  readonly commit: Commit;
  readonly perS: number[];
  readonly latencies: Latencies;
  commits: number;
}

export async function measureNodes({ rounds, seconds }: BenchOptions): Promise<Section> {
  const title = 'Several servers on PostgreSQL';
  if (withoutPostgres !== false)
    return { title, how: `Not measured: ${withoutPostgres}.`, tables: [], verdicts: [], faults: [] };
  const server = await PostgresServer.start({ isDurable: true });
  try {
    return { title, ...(await measureOn(await server.createDatabase(), { rounds, seconds })) };
  } finally {
    server.remove();
  }
}

async function measureOn(
  url: string,
  { rounds, seconds }: Pick<BenchOptions, 'rounds' | 'seconds'>,
): Promise<Omit<Section, 'title'>> {
  const database = new PostgresDatabase(url);
  const own = await ownOrder(url, database);
  const one = await oneOrder(database);
  const sides = [1, 2].flatMap((writers) => [
    sideOf(`each its own order, ${writers}`, writers, own.commit),
    sideOf(`one order, ${writers}`, writers, one.commit),
  ]);
  // The first round warms up.
  for (let round = 0; round <= rounds; round++)
    for (const side of sides) await measure(side, { seconds, isCounted: round > 0 });
  const faults: string[] = [];
  for (const [table, name] of Object.entries({ bare: 'each', log: 'one' })) {
    const made = sides.filter((side) => side.name.startsWith(name)).reduce((sum, { commits }) => sum + commits, 0);
    const [found] = await database.query<{ n: number }>(`SELECT count(*) AS n FROM ${table}`);
    if (found?.n !== made) faults.push(`${made} commits were made, and ${found?.n} rows are in ${table}.`);
  }
  await own.close();
  await one.close();
  await database.close();
  return {
    how: `Commits of ${shown(datapoints)} datapoints (${shown(row.length)} bytes) by one and by two writers at once, in turns, each of them with one commit under way; in PostgreSQL with the disk waited for, on the same machine.`,
    tables: [tableOf(sides)],
    verdicts: [],
    faults,
  };
}

function sideOf(name: string, writers: number, commit: Commit): Side {
  return { name, writers, commit, perS: [], latencies: new Latencies(), commits: 0 };
}

/** As it would be if each writer numbered its own rows: behind its fence, and nothing that writers share. */
async function ownOrder(url: string, database: PostgresDatabase): Promise<{ commit: Commit; close(): Promise<void> }> {
  await database.query(
    'CREATE TABLE bare (writer bigint, seq bigint, position bigint, count integer, bytes bytea, PRIMARY KEY (writer, seq))',
  );
  await database.query('ALTER TABLE bare ALTER COLUMN bytes SET STORAGE EXTERNAL');
  const clients = nodes.map(() => new pg.Client(url));
  for (const client of clients) await client.connect();
  for (const node of nodes) await database.query('INSERT INTO log_writer (node) VALUES ($1)', [`bare ${node}`]);
  let seq = 0;
  return {
    commit: async (writer) =>
      clients[writer]?.query({
        name: 'append',
        text: `WITH fence AS (SELECT writer FROM log_writer WHERE node = $4 FOR KEY SHARE)
          INSERT INTO bare SELECT CAST($1 AS bigint), CAST($2 AS bigint), CAST($2 AS bigint), ${datapoints}, CAST($3 AS bytea) FROM fence`,
        values: [writer, seq++, row, `bare ${nodes[writer]}`],
      }),
    close: async () => {
      for (const client of clients) await client.end();
    },
  };
}

/** As it is. */
async function oneOrder(database: PostgresDatabase): Promise<{ commit: Commit; close(): Promise<void> }> {
  for (const node of nodes)
    for (const id of [node, `bare ${node}`]) await database.query('INSERT INTO node (id) VALUES ($1)', [id]);
  const writers = nodes.map(() => new LogWriter(database));
  for (const [n, writer] of writers.entries()) await writer.start(nodes[n] as string);
  return {
    commit: async (n) => {
      const writer = writers[n] as LogWriter;
      await writer.append({ seq: writer.next.seq, count: datapoints, bytes: row });
    },
    close: async () => {
      for (const writer of writers) await writer.close();
    },
  };
}

async function measure(
  side: Side,
  { seconds, isCounted }: { readonly seconds: number; readonly isCounted: boolean },
): Promise<void> {
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  let commits = 0;
  const work = async (writer: number) => {
    while (performance.now() < endMs) {
      const beginMs = performance.now();
      await side.commit(writer);
      commits += 1;
      if (isCounted) side.latencies.add(performance.now() - beginMs);
    }
  };
  await Promise.all(Array.from({ length: side.writers }, (_, writer) => work(writer)));
  side.commits += commits;
  if (isCounted) side.perS.push((commits * 1_000) / (performance.now() - startMs));
  console.error(`nodes: ${side.name}`);
}

function tableOf(sides: readonly Side[]): string {
  return table(
    ['writers', 'commits/s', 'datapoints/s', 'p50 ms', 'p99 ms'],
    sides.map(({ name, perS, latencies }) => {
      const rate = median(perS);
      const [p50, p99] = latencies.percentiles(50, 99);
      return [name, shown(rate), shown(rate * datapoints), shown(p50 ?? Number.NaN), shown(p99 ?? Number.NaN)];
    }),
  );
}
