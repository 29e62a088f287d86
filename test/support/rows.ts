// Everything a data folder holds, to say "rows unchanged": what a refused request must leave as it was.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { databaseFile } from '../../src/storage/sqlite/connection.ts';
import { readLog } from '../../src/storage/sqlite/log.ts';
import { seriesOf } from '../../src/storage/sqlite/settling.ts';
import type { ValueColumn } from '../../src/storage/sqlite/value-column.ts';

export type Rows = Readonly<Record<string, readonly unknown[]>>;

/** What housekeeping moves on its own, whatever is asked of the service; the use of a key is noted with every call. */
const moving = new Set([
  ...[
    'log',
    'datapoint',
    'latest',
    'counter',
    'purge',
    'kept_log',
    'quiet_run',
    'kysely_migration',
    'kysely_migration_lock',
  ],
  'api_key_use',
]);

/** All rows by table; datapoints as one table, in the log or settled, without those that wait to be purged. */
export function readRows(folder: string): Rows {
  return withDatabase(folder, (database) => {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
    const names = tables.map((table) => String(table['name'])).filter((name) => !/^sqlite_/.test(name));
    const rows = names
      .filter((name) => !moving.has(name))
      .map((name) => [name, database.prepare(`SELECT * FROM "${name}"`).all()] as const);
    const sensors = new Set(
      database
        .prepare('SELECT key FROM sensor')
        .all()
        .map(({ key }) => key),
    );
    const datapoints = readDatapoints(database)
      .filter(({ sensor }) => sensors.has(sensor))
      .toSorted((a, b) => a.seq - b.seq);
    return { ...Object.fromEntries(rows), datapoints };
  });
}

/** Datapoints on disk, those of removed sensors included until they are purged. */
export function countDatapoints(folder: string): number {
  return withDatabase(folder, (database) => {
    const count = 'SELECT (SELECT total(datapoints) FROM log) + (SELECT count(*) FROM datapoint) AS n';
    return Number(database.prepare(count).get()?.['n']);
  });
}

/** A datapoint as it lies on disk. */
export interface StoredDatapoint {
  readonly seq: number;
  readonly sensor: number;
  readonly at: number;
  readonly stamped: number;
  readonly received: number;
  readonly value: ValueColumn;
}

/** What is in the log and what has settled. */
export function readDatapoints(database: DatabaseSync): StoredDatapoint[] {
  const settled = database.prepare('SELECT seq, sensor, at, stamped, received, value FROM datapoint').all();
  // Plain objects, so that a datapoint compares equal before and after it settles.
  return [...readLoggedDatapoints(database), ...settled.map((row) => ({ ...row }) as unknown as StoredDatapoint)];
}

export function readLoggedDatapoints(database: DatabaseSync): StoredDatapoint[] {
  return seriesOf(readLog(database)).flatMap((series) =>
    series.map(([sensor, at, seq, stamped, received, value]) => ({ seq, sensor, at, stamped, received, value })),
  );
}

export function withDatabase<T>(folder: string, read: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(folder, databaseFile), { readOnly: true, timeout: 10_000 });
  try {
    database.exec('BEGIN');
    return read(database);
  } finally {
    database.close();
  }
}
