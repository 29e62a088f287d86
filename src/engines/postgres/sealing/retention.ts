// Deletes sealed datapoints that are too old, and those of removed sensors, in bounded steps: whole chunks, and the older part
// of the chunk that reaches over the bound. Runs in the store thread.
import { lowerBound } from '../../../base/sorted-numbers.ts';
import { limits } from '../../../config/limits.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { gather } from '../../shared/codec/gathering.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';
import { forgetRepeatedBodies } from '../log/receipts.ts';
import { decode, type FoundChunk, replace } from './chunk-edits.ts';
import { creditSql, lockSeries, removeChunks } from './chunk-table.ts';
import { lockSensors } from './series-table.ts';

export function removeBefore(
  database: PostgresDatabase,
  { sensor, beforeMs }: { readonly sensor: SensorKey; readonly beforeMs: number },
): Promise<number> {
  return database.transaction(async (connection) => {
    if ((await lockSeries(connection, sensor)) === undefined) return 0;
    const { rows } = await connection.query<FoundChunk>(oldSql, [sensor, beforeMs, limits.retentionChunksMax]);
    const old = rows.map((row) => ({ ...row, sensor }));
    const whole = old.filter(({ last }) => last < beforeMs);
    await removeChunks(connection, whole);
    let removed = whole.reduce((sum, { count }) => sum + count, 0);
    const cut = old.find(({ last }) => last >= beforeMs);
    if (cut !== undefined) removed += await cutOff(connection, cut, beforeMs);
    removed += await removeAside(connection, sensor, beforeMs);
    if (removed === 0) return 0;
    await connection.query(forgetRepeatedBodies, [sensor]);
    await connection.query(creditSql, [removed, sensor]);
    return removed;
  });
}

const oldSql =
  'SELECT id, first, last, count FROM chunk WHERE sensor = $1 AND first < $2 ORDER BY first, last, id LIMIT $3';

/** Replaces a chunk by its younger part. A damaged one stays until all of it is too old. */
async function cutOff(connection: Connection, chunk: FoundChunk, beforeMs: number): Promise<number> {
  const columns = await decode(connection, chunk);
  if (columns === undefined) return 0;
  const from = lowerBound(columns.at, beforeMs, 0, columns.count);
  if (from > 0) await replace(connection, chunk, gather([{ columns, from, to: columns.count }]));
  return from;
}

async function removeAside(connection: Connection, sensor: SensorKey, beforeMs: number): Promise<number> {
  const sql = 'DELETE FROM damaged_chunk WHERE sensor = $1 AND last < $2 RETURNING count';
  const { rows } = await connection.query<{ count: number }>(sql, [sensor, beforeMs]);
  return rows.reduce((sum, { count }) => sum + count, 0);
}

/** @returns true when nothing is left of removed sensors. */
export function purgeSome(
  database: PostgresDatabase,
  { sensors }: { readonly sensors: readonly number[] },
): Promise<boolean> {
  if (database.isByShard) return purgeByShard(database, sensors);
  return database.transaction(async (connection) => {
    let isDone = true;
    for (const sql of purgeSql) if ((await connection.query(sql, [])).count >= limits.purgeChunksMax) isDone = false;
    if (isDone && sensors.length > 0) await connection.query('DELETE FROM purge WHERE sensor = ANY ($1)', [sensors]);
    return isDone;
  });
}

/** One sensor after the other: its row of `series` goes last, and says that something may be left. */
async function purgeByShard(database: PostgresDatabase, sensors: readonly number[]): Promise<boolean> {
  const purged = await database.query<{ sensor: number }>('SELECT sensor FROM purge');
  const parameters = [purged.map(({ sensor }) => sensor), limits.purgeChunksMax];
  const left = purged.length === 0 ? [] : await database.query<{ sensor: number }>(leftSql, parameters);
  let count = 0;
  for (const { sensor } of left) {
    count += 1 + (await database.transaction((connection) => purgeOne(connection, sensor)));
    if (count >= limits.purgeChunksMax) return false;
  }
  if (sensors.length > 0) await database.query('DELETE FROM purge WHERE sensor = ANY ($1)', [sensors]);
  return true;
}

async function purgeOne(connection: Connection, sensor: number): Promise<number> {
  // A unit of sealing that is under way adds chunks: they are looked for behind it.
  await lockSensors(connection, [sensor]);
  const { rows } = await connection.query<FoundChunk>(someSql, [sensor, limits.purgeChunksMax]);
  await removeChunks(
    connection,
    rows.map((row) => ({ ...row, sensor })),
  );
  if (rows.length === limits.purgeChunksMax) return rows.length;
  await connection.query('DELETE FROM damaged_chunk WHERE sensor = $1', [sensor]);
  await connection.query('DELETE FROM series WHERE sensor = $1', [sensor]);
  return rows.length;
}

const leftSql = 'SELECT sensor FROM series WHERE sensor = ANY(CAST($1 AS bigint[])) LIMIT $2';
const someSql = 'SELECT id, first, last, count FROM chunk WHERE sensor = $1 ORDER BY first, last, id LIMIT $2';

const purgeSql = ['chunk', 'damaged_chunk', 'series'].map(
  (table) =>
    `DELETE FROM ${table} WHERE ctid IN (SELECT ${table}.ctid FROM purge JOIN ${table} USING (sensor) LIMIT ${limits.purgeChunksMax})`,
);
