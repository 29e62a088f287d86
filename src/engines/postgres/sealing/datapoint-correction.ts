// Corrections of a datapoint's value in its chunk, in one transaction. Run in the store thread; a datapoint that is in the log
// is corrected by a row of the log instead (datapoint-edits.ts).
import { type Columns, valueAt } from '../../../domain/datapoints/columns.ts';
import type { SeriesCorrection } from '../../../domain/ports/series.ts';
import { indexesOf, withValue } from '../../shared/sealing/column-edits.ts';
import type { EditResult } from '../../shared/sealing/edit-order.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';
import { fromColumns, toColumns } from '../database/value-column.ts';
import { forgetRepeatedBodies } from '../log/receipts.ts';
import { beforeAll, decode, type FoundChunk, nextChunks, replace } from './chunk-edits.ts';
import { lockSeries } from './chunk-table.ts';
import { asideSql, setLatestSql } from './datapoint-removal.ts';

interface Found {
  readonly chunk: FoundChunk;
  readonly columns: Columns;
  readonly index: number;
}

/** Chunks of one time that are looked at: there are several only where more datapoints have it than a chunk holds. */
const chunksMax = 1_000;

export function findInChunks(database: PostgresDatabase, correction: SeriesCorrection): Promise<EditResult> {
  return database.transaction(async (connection) => {
    const found = await find(connection, correction);
    return found === undefined ? [0, 1] : [found.length, 0];
  });
}

export function correctInChunks(
  database: PostgresDatabase,
  { correction, writer }: { readonly correction: SeriesCorrection; readonly writer: number },
): Promise<EditResult> {
  return database.transaction(async (connection) => {
    // A server that stood still would put an old value over one that another has set meanwhile.
    if ((await connection.query(fenceSql, [writer])).rows.length === 0)
      throw new Error('Another process has taken this one for dead.');
    if ((await lockSeries(connection, correction.sensor)) === undefined) return [0, 0];
    const found = await find(connection, correction);
    if (found === undefined) return [0, 1];
    const [only, ...others] = found;
    if (only === undefined || others.length > 0) return [found.length, 0];
    await correct(connection, only, correction);
    await connection.query(forgetRepeatedBodies, [correction.sensor]);
    return [1, 0];
  });
}

const fenceSql = 'SELECT 1 FROM log_writer WHERE writer = $1 FOR KEY SHARE';

/** Undefined where some cannot be read. */
async function find(connection: Connection, correction: SeriesCorrection): Promise<Found[] | undefined> {
  const { sensor, atMs } = correction;
  const range = { sensor, fromMs: atMs, toMs: atMs };
  const found: Found[] = [];
  for (const chunk of await nextChunks(connection, range, { after: beforeAll, limit: chunksMax })) {
    const columns = await decode(connection, chunk);
    if (columns === undefined) return undefined;
    for (const index of indexesOf(columns, correction)) found.push({ chunk, columns, index });
  }
  const aside = await connection.query<{ count: number }>(asideSql, [sensor, atMs, atMs]);
  return (aside.rows[0]?.count ?? 0) > 0 ? undefined : found;
}

/** Sets the value, also where it is the sensor's last one. */
async function correct(
  connection: Connection,
  { chunk, columns, index }: Found,
  { sensor, value }: SeriesCorrection,
): Promise<void> {
  const { rows } = await connection.query<{ at: number; received: number; number: number | null; text: string | null }>(
    'SELECT at, received, number, text FROM series WHERE sensor = $1',
    [sensor],
  );
  const [latest] = rows;
  const isOfThen = latest?.at === columns.at[index] && latest?.received === columns.received[index];
  if (latest !== undefined && isOfThen && fromColumns(latest) === valueAt(columns, index)) {
    const { number, text } = toColumns(value);
    await connection.query(setLatestSql, [latest.at, columns.stamped[index], latest.received, number, text, sensor]);
  }
  await replace(connection, chunk, withValue(columns, index, value));
}
