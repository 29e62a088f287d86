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

export async function readPostgresRows(url: string, engine: Engine): Promise<Rows> {
  const client = new pg.Client(connectionSettings(url, 'tests'));
  await client.connect();
  try {
    const { rows: tables } = await client.query(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename",
    );
    const names = tables
      .map(({ name }) => String(name))
      .filter((name) => !movingTables.has(name) && !moving.test(name));
    const rows: Record<string, readonly unknown[]> = {};
    for (const name of names) rows[name] = (await client.query(`SELECT * FROM "${name}" AS one ORDER BY one`)).rows;
    const { rows: sensors } = await client.query('SELECT key FROM sensor ORDER BY key');
    const datapoints = [];
    for (const { key } of sensors) datapoints.push(...(await datapointsOf(engine, Number(key))));
    return { ...rows, datapoints };
  } finally {
    await client.end();
  }
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
