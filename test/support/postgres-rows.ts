// All rows of a server on PostgreSQL, as rows.ts has those of a folder: tests hold them against one another before and after calls.
import pg from 'pg';
import { Caller } from '../../src/domain/callers/caller.ts';
import { valueAt } from '../../src/domain/datapoints/columns.ts';
import type { Engine } from '../../src/domain/ports/engine.ts';
import { connectionSettings } from '../../src/engines/postgres/database/connection-settings.ts';
import { movingTables, type Rows } from './rows.ts';

/** What processes and the log move on their own here, beside what rows.ts leaves out. */
const moving = /^(node|mqtt_node|mqtt_usage|lease|registry_writer|shared_count|heard|series|seal_pass|log_\w+|claim)$/;

const tests = new Caller('tests');

/**
 * Reads all rows of a database, and anew only where something was committed since the last time: tests ask before and after most calls,
 * and most calls change nothing.
 */
export class PostgresRowsReader {
  #client: pg.Client | undefined;
  #url: string | undefined;
  #snapshot: unknown;
  #rows: Rows = {};

  async read(url: string, engine: Engine): Promise<Rows> {
    const client = await this.#connect(url);
    // Which transactions it sees: the same ones, the same rows. Asked first, so that what is committed meanwhile has the rows read again.
    const { rows: seen } = await client.query('SELECT pg_current_snapshot()::text AS snapshot');
    const snapshot = seen[0]?.snapshot;
    if (snapshot !== this.#snapshot) this.#rows = await readRows(client, engine);
    this.#snapshot = snapshot;
    return this.#rows;
  }

  /** Before the database is taken away, or another server begins with it; a later read connects anew. */
  close(): void {
    void this.#client?.end().catch(() => {});
    this.#client = undefined;
    this.#snapshot = undefined;
  }

  async #connect(url: string): Promise<pg.Client> {
    if (this.#client !== undefined && url === this.#url) return this.#client;
    this.close();
    const client = new pg.Client(connectionSettings(url, 'tests'));
    // Tests cut connections off.
    client.on('error', () => {
      if (this.#client === client) this.close();
    });
    await client.connect();
    this.#client = client;
    this.#url = url;
    return client;
  }
}

async function readRows(client: pg.Client, engine: Engine): Promise<Rows> {
  const { rows: tables } = await client.query(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename",
  );
  const names = tables.map(({ name }) => String(name)).filter((name) => !movingTables.has(name) && !moving.test(name));
  // In one message: a way there and back for each table takes longer than the rows.
  const all = [
    ...names.map((name) => `SELECT * FROM "${name}" AS one ORDER BY one`),
    'SELECT key FROM sensor ORDER BY key',
  ];
  const results = (await client.query(all.join(';'))) as unknown as readonly pg.QueryResult[];
  const rows = Object.fromEntries(names.map((name, at) => [name, results[at]?.rows ?? []]));
  const datapoints = [];
  for (const { key } of results.at(-1)?.rows ?? []) datapoints.push(...(await datapointsOf(engine, Number(key))));
  return { ...rows, datapoints };
}

async function datapointsOf({ series }: Engine, sensor: number): Promise<unknown[]> {
  const { columns } = await series.range({ sensor, descending: false, limit: 1_000_000 }, { caller: tests });
  return Array.from({ length: columns.count }, (_, index) => ({
    sensor,
    at: columns.at[index],
    stamped: columns.stamped[index],
    received: columns.received[index],
    value: valueAt(columns, index),
  }));
}
