// One removal of datapoints from chunks, in steps of one transaction each. Its row of the log, from which the log's own datapoints
// are gone, was stored before, and with it a note in the table `deletion`: a removal that a stop has cut off is completed at the
// next start (decision 37). Runs in the store thread.
import { limits } from '../../../config/limits.ts';
import { valueAt } from '../../../domain/datapoints/columns.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { SeriesRemoval } from '../../../domain/ports/series.ts';
import { gather } from '../../shared/codec/gathering.ts';
import { isSameValue } from '../../shared/log/piece-edits.ts';
import { keptOf, lastReceivedIndex } from '../../shared/sealing/column-edits.ts';
import type { EditResult } from '../../shared/sealing/edit-order.ts';
import type { Connection, PostgresDatabase } from '../database/postgres-database.ts';
import { fromColumns, toColumns } from '../database/value-column.ts';
import type { RowPlace } from '../log/log-row.ts';
import { forgetRepeatedBodies } from '../log/receipts.ts';
import { beforeAll, type ChunkPlace, decode, type FoundChunk, nextChunks, replace } from './chunk-edits.ts';
import { creditSql, lockSeries, removeChunks } from './chunk-table.ts';

/** Chunks looked at in one transaction. */
const stepChunks = 50;

/** How far a removal has come; replaced with each step. */
interface Progress {
  readonly removed: number;
  /** Chunks that cannot be read, by their ids. */
  readonly unreadable: ReadonlyMap<number, FoundChunk>;
  /** Datapoints that cannot be read and were set aside. */
  readonly aside: number;
  /** Chunks are done up to this one, as long as the sensor has this version. */
  readonly after: ChunkPlace;
  readonly version: number | undefined;
  readonly fromMs: number;
  readonly isDone: boolean;
}

export async function removeFromChunks(
  database: PostgresDatabase,
  { removal, note }: { readonly removal: SeriesRemoval; readonly note: RowPlace },
): Promise<EditResult> {
  const { fromMs } = removal;
  let progress: Progress = {
    ...{ removed: 0, unreadable: new Map(), aside: 0, after: beforeAll, version: undefined, fromMs, isDone: false },
  };
  while (!progress.isDone) {
    const before = progress;
    progress = await database.transaction((connection) => step(connection, removal, { before, note }));
    if (!progress.isDone) await new Promise(setImmediate);
  }
  const unreadable = [...progress.unreadable.values()].reduce((sum, { count }) => sum + count, progress.aside);
  return [progress.removed, unreadable];
}

async function step(
  connection: Connection,
  removal: SeriesRemoval,
  { before, note }: { readonly before: Progress; readonly note: RowPlace },
): Promise<Progress> {
  const { sensor, toMs } = removal;
  // This process may have stood still, and another one completed the removal: what was pushed since then is none of it.
  if ((await connection.query(noteSql, [note.writer, note.seq])).rows.length === 0) return { ...before, isDone: true };
  const locked = await lockSeries(connection, sensor);
  // Where others have replaced chunks meanwhile, those at the place that was reached are looked at once more.
  const isUnchanged = before.version === undefined || locked?.former === before.version;
  const after = isUnchanged ? before.after : beforeAll;
  const range = { sensor, fromMs: before.fromMs, toMs };
  const chunks = locked === undefined ? [] : await nextChunks(connection, range, { after, limit: stepChunks });
  const unreadable = new Map(before.unreadable);
  const endMs = performance.now() + limits.editStepMs;
  let [removed, seen, hasMoved] = [0, 0, false];
  for (const chunk of chunks) {
    const gone = await removeFrom(connection, chunk, removal);
    removed += gone?.removed ?? 0;
    if (gone === undefined) unreadable.set(chunk.id, chunk);
    seen += 1;
    hasMoved = gone?.hasMoved === true;
    if (hasMoved || performance.now() > endMs) break;
  }
  // Those behind it have other ids: all of its time are looked at once more.
  const last = chunks[seen - 1];
  if (hasMoved) for (const [id, one] of unreadable) if (one.last === last?.last) unreadable.delete(id);
  const isDone = !hasMoved && seen === chunks.length && chunks.length < stepChunks;
  const aside = isDone ? await finish(connection, removal, note) : { removed: 0, unreadable: 0 };
  removed += aside.removed;
  await connection.query(forgetRepeatedBodies, [sensor]);
  if (removed > 0) await connection.query(creditSql, [removed, sensor]);
  return {
    removed: before.removed + removed,
    unreadable,
    aside: aside.unreadable,
    after: hasMoved ? beforeAll : (last ?? after),
    version: locked?.version,
    fromMs: Math.max(before.fromMs, last?.last ?? before.fromMs),
    isDone,
  };
}

async function finish(connection: Connection, removal: SeriesRemoval, { writer, seq }: RowPlace) {
  const aside = await removeAside(connection, removal);
  await followLatest(connection, removal);
  await connection.query('DELETE FROM deletion WHERE writer = $1 AND seq = $2', [writer, seq]);
  return aside;
}

/**
 * @returns how many datapoints were removed, and whether chunks of the same time behind it have new ids; undefined where the
 *   chunk cannot be read.
 */
async function removeFrom(connection: Connection, chunk: FoundChunk, removal: SeriesRemoval) {
  if (removal.value === undefined && chunk.first >= removal.fromMs && chunk.last <= removal.toMs) {
    await removeChunks(connection, [chunk]);
    return { removed: chunk.count, hasMoved: false };
  }
  const columns = await decode(connection, chunk);
  if (columns === undefined) return undefined;
  const kept = keptOf(columns, removal);
  const left = kept.reduce((sum, { from, to }) => sum + to - from, 0);
  if (left === columns.count) return { removed: 0, hasMoved: false };
  const hasMoved = await replace(connection, chunk, left === 0 ? undefined : gather(kept));
  return { removed: columns.count - left, hasMoved };
}

/** Removes what was set aside as damaged and lies wholly in the range. */
async function removeAside(connection: Connection, { sensor, fromMs, toMs, value }: SeriesRemoval) {
  const gone =
    value === undefined ? (await connection.query<Counted>(removeAsideSql, [sensor, fromMs, toMs])).rows : [];
  const { rows } = await connection.query<Counted>(asideSql, [sensor, toMs, fromMs]);
  return { removed: gone.reduce((sum, { count }) => sum + count, 0), unreadable: rows[0]?.count ?? 0 };
}

interface Counted {
  readonly count: number;
}

const noteSql = 'SELECT 1 FROM deletion WHERE writer = $1 AND seq = $2 FOR UPDATE';
const removeAsideSql = 'DELETE FROM damaged_chunk WHERE sensor = $1 AND first >= $2 AND last <= $3 RETURNING count';
export const asideSql =
  'SELECT coalesce(sum(count), 0) AS count FROM damaged_chunk WHERE sensor = $1 AND first <= $2 AND last >= $3';

interface Latest {
  readonly at: number | null;
  readonly number: number | null;
  readonly text: string | null;
}

/** Where the sensor's last datapoint was one of those removed, that is now the one received last in its last readable chunk. */
async function followLatest(connection: Connection, { sensor, fromMs, toMs, value }: SeriesRemoval): Promise<void> {
  const { rows } = await connection.query<Latest>('SELECT at, number, text FROM series WHERE sensor = $1', [sensor]);
  const [latest] = rows;
  if (latest === undefined || latest.at === null || latest.at < fromMs || latest.at > toMs) return;
  if (!isSameValue(fromColumns(latest), value)) return;
  await connection.query(setLatestSql, [...(await lastReceived(connection, sensor)), sensor]);
}

/** Parameters of `setLatestSql`. */
async function lastReceived(connection: Connection, sensor: SensorKey): Promise<readonly unknown[]> {
  for (let skip = 0; ; skip++) {
    const { rows } = await connection.query<FoundChunk>(newestSql, [sensor, skip]);
    const [chunk] = rows;
    if (chunk === undefined) return [null, null, null, null, null];
    const columns = await decode(connection, { ...chunk, sensor });
    if (columns === undefined) continue;
    const index = lastReceivedIndex(columns);
    const { number, text } = toColumns(valueAt(columns, index));
    return [columns.at[index], columns.stamped[index], columns.received[index], number, text];
  }
}

const newestSql =
  'SELECT id, first, last, count FROM chunk WHERE sensor = $1 ORDER BY first DESC, last DESC, id DESC LIMIT 1 OFFSET $2';
export const setLatestSql =
  'UPDATE series SET at = $1, stamped = $2, received = $3, number = $4, text = $5 WHERE sensor = $6';
