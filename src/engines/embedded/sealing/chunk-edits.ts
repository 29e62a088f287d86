// Removes and corrects datapoints in chunks, inside the caller's transaction: a chunk is replaced by a new one with what
// is left, or goes as a whole where nothing is. Chunks of a sensor stay in order and never overlap. Called by
// datapoint-removal.ts and datapoint-correction.ts, in the writer thread and at start.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Columns, valueAt } from '../../../domain/datapoints/columns.ts';
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { SeriesCorrection, SeriesRemoval } from '../../../domain/ports/series.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { decodeChunk } from '../../shared/codec/chunk-codec.ts';
import { gather } from '../../shared/codec/gathering.ts';
import { cutForChunks } from '../../shared/sealing/chunk-plan.ts';
import { indexesOf, keptOf, lastReceivedIndex, withValue } from '../../shared/sealing/column-edits.ts';
import { writeChunk } from '../../shared/sealing/written-chunk.ts';
import { writeFailureOf } from '../database/database-error.ts';
import { toColumn } from '../database/value-column.ts';
import { ChunkWriter, chunkColumns, chunkParameters } from './chunk-writer.ts';

/** A place between two chunks of a sensor, in their order. */
export interface ChunkPlace {
  readonly first: number;
  readonly last: number;
  readonly id: number;
}

/** A datapoint in a chunk. */
export interface FoundDatapoint {
  readonly chunk: ChunkPlace;
  readonly columns: Columns;
  readonly index: number;
}

/** What became of one chunk. */
export interface ChunkRemoval {
  readonly removed: number;
  /** Datapoints that may have to be removed, and cannot be read. */
  readonly unreadable: number;
  readonly place: ChunkPlace;
}

/**
 * The page of a chunk is damaged. SQLite then refuses the rest of the transaction: it has to be rolled back, and can be made
 * again without this chunk.
 */
export class DamagedPage extends Error {
  readonly chunk: number;
  /** Datapoints of the chunk; 1 where that cannot be read. */
  readonly count: number;

  constructor(chunk: number, count: number, cause: unknown) {
    super(`The page of chunk ${chunk} is damaged.`, { cause });
    this.chunk = chunk;
    this.count = count;
  }
}

/** Datapoints of chunks whose pages are damaged, by the ids of the chunks. */
export type UnreadableChunks = ReadonlyMap<number, number>;

/** A chunk has to keep its id, which a pass of sealing may have read with other bytes: try again when that has ended. */
export class PassUnderWay extends Error {}

const beforeAll: ChunkPlace = { first: Number.MIN_SAFE_INTEGER, last: Number.MIN_SAFE_INTEGER, id: 0 };

export class ChunkEdits {
  readonly #chunks: ChunkWriter;
  readonly #next: StatementSync;
  readonly #count: StatementSync;
  readonly #bytes: StatementSync;
  readonly #remove: StatementSync;
  readonly #aside: StatementSync;
  readonly #removeAside: StatementSync;
  readonly #newest: StatementSync;
  readonly #latest: StatementSync;
  readonly #setLatest: StatementSync;
  readonly #forgetLatest: StatementSync;
  readonly #followers: StatementSync;
  readonly #update: StatementSync;
  readonly #copy: StatementSync;
  readonly #isSealing: () => boolean;

  /** @param isSealing whether a pass of sealing is under way. */
  constructor(database: DatabaseSync, isSealing: () => boolean) {
    this.#isSealing = isSealing;
    this.#followers = database.prepare(
      'SELECT id FROM chunk WHERE sensor = ?1 AND first = ?2 AND last = ?2 AND id > ?3 ORDER BY id',
    );
    const names = chunkColumns.join(', ');
    this.#update = database.prepare(
      `UPDATE chunk SET (${names}) = (${chunkColumns.map(() => '?').join(', ')}) WHERE id = ?`,
    );
    this.#copy = database.prepare(`INSERT INTO chunk (${names}) SELECT ${names} FROM chunk WHERE id = ?`);
    this.#chunks = new ChunkWriter(database);
    // The last chunk that begins before the range may reach into it. Read from the index alone: where the page of a chunk
    // is damaged, the others are found.
    this.#next = database.prepare(
      `SELECT id, first, last FROM chunk WHERE sensor = ?1
        AND first >= coalesce((SELECT max(first) FROM chunk WHERE sensor = ?1 AND first < ?2), ?2) AND first <= ?3
        AND last >= ?2 AND (first, last, id) > (?4, ?5, ?6) ORDER BY first, last, id LIMIT 1`,
    );
    this.#count = database.prepare('SELECT count FROM chunk WHERE id = ?');
    this.#bytes = database.prepare('SELECT bytes FROM chunk WHERE id = ?');
    this.#remove = database.prepare('DELETE FROM chunk WHERE id = ?1');
    this.#aside = database.prepare(
      'SELECT total(count) AS count FROM damaged_chunk WHERE sensor = ? AND first <= ? AND last >= ?',
    );
    this.#removeAside = database.prepare(
      'DELETE FROM damaged_chunk WHERE sensor = ? AND first >= ? AND last <= ? RETURNING count',
    );
    this.#newest = database.prepare('SELECT id FROM chunk WHERE sensor = ? ORDER BY first DESC, last DESC, id DESC');
    this.#latest = database.prepare('SELECT at, received, value FROM latest WHERE sensor = ?');
    this.#setLatest = database.prepare(
      'UPDATE latest SET at = ?, stamped = ?, received = ?, value = ? WHERE sensor = ?',
    );
    this.#forgetLatest = database.prepare('DELETE FROM latest WHERE sensor = ?');
  }

  /**
   * Removes datapoints from the next chunk of the range.
   * @param from where to look: chunks that end at or after `fromMs`, behind a place.
   * @returns undefined where no chunk is left. @throws DamagedPage
   */
  removeFromNext(
    removal: SeriesRemoval,
    {
      fromMs,
      after = beforeAll,
      unreadable,
    }: {
      readonly fromMs: number;
      readonly after?: ChunkPlace | undefined;
      readonly unreadable: UnreadableChunks;
    },
  ): ChunkRemoval | undefined {
    const { sensor, toMs } = removal;
    const chunk = this.#next.get(sensor, fromMs, toMs, after.first, after.last, after.id) as unknown as
      | ChunkPlace
      | undefined;
    if (chunk === undefined) return undefined;
    const damaged = unreadable.get(chunk.id);
    if (damaged !== undefined) return { removed: 0, unreadable: damaged, place: chunk };
    let count = 1;
    try {
      count = Number(this.#count.get(chunk.id)?.['count']);
      const removed = this.#removeFrom(chunk, { ...removal, count });
      return { removed: removed ?? 0, unreadable: removed === undefined ? count : 0, place: chunk };
    } catch (error) {
      throw isDamage(error) ? new DamagedPage(chunk.id, count, error) : error;
    }
  }

  /** @returns how many datapoints were removed; undefined where the chunk cannot be read. */
  #removeFrom(chunk: ChunkPlace, removal: SeriesRemoval & { readonly count: number }): number | undefined {
    const { sensor, fromMs, toMs, count } = removal;
    if (removal.value === undefined && chunk.first >= fromMs && chunk.last <= toMs) {
      this.#remove.run(chunk.id);
      return count;
    }
    const columns = this.#decode(chunk.id);
    if (columns === undefined) return undefined;
    const kept = keptOf(columns, removal);
    const left = kept.reduce((sum, { from, to }) => sum + to - from, 0);
    if (left < columns.count) this.#replace(sensor, chunk, left === 0 ? undefined : gather(kept));
    return columns.count - left;
  }

  /** Removes what was set aside as damaged and lies wholly in the range. */
  removeAside({ sensor, fromMs, toMs, value }: SeriesRemoval): Pick<ChunkRemoval, 'removed' | 'unreadable'> {
    const gone = value === undefined ? this.#removeAside.all(sensor, fromMs, toMs) : [];
    const removed = gone.reduce((sum, { count }) => sum + Number(count), 0);
    return { removed, unreadable: Number(this.#aside.get(sensor, toMs, fromMs)?.['count']) };
  }

  /** Where the sensor's last datapoint was one of those removed, that is now the one received last in its last chunk. */
  followLatest({ sensor, fromMs, toMs, value }: SeriesRemoval, unreadable: UnreadableChunks): void {
    const latest = this.#latest.get(sensor) as { at: number; value: StoredValue } | undefined;
    if (latest === undefined || latest.at < fromMs || latest.at > toMs) return;
    if (value !== undefined && !isSameColumn(latest.value, toColumn(value))) return;
    const last = this.#lastReceived(sensor, unreadable);
    if (last === undefined) {
      this.#forgetLatest.run(sensor);
      return;
    }
    const { columns, index } = last;
    const stamped = columns.stamped[index] as number;
    const value_ = toColumn(valueAt(columns, index));
    this.#setLatest.run(columns.at[index] as number, stamped, columns.received[index] as number, value_, sensor);
  }

  /** The datapoints that fit the description, in all chunks. @throws CorruptChunk where a chunk cannot be read. */
  find({ sensor, atMs, receivedMs }: SeriesCorrection): FoundDatapoint[] {
    const found = [];
    let after = beforeAll;
    for (;;) {
      const chunk = this.#next.get(sensor, atMs, atMs, after.first, after.last, after.id) as unknown as
        | ChunkPlace
        | undefined;
      if (chunk === undefined) break;
      after = chunk;
      const columns = decodeChunk(this.#bytes.get(chunk.id)?.['bytes'] as Uint8Array);
      for (const index of indexesOf(columns, { atMs, receivedMs })) found.push({ chunk, columns, index });
    }
    if (Number(this.#aside.get(sensor, atMs, atMs)?.['count']) > 0) throw new CorruptChunk('It was set aside.');
    return found;
  }

  /** Sets the value of a datapoint that `find` has found, also where it is the sensor's last one. */
  correct(sensor: SensorKey, { chunk, columns, index }: FoundDatapoint, value: StoredValue): void {
    const latest = this.#latest.get(sensor) as { at: number; received: number; value: StoredValue } | undefined;
    const isOfThen = latest?.at === columns.at[index] && latest?.received === columns.received[index];
    if (latest !== undefined && isOfThen && isSameColumn(latest.value, toColumn(valueAt(columns, index)))) {
      const stamped = columns.stamped[index] as number;
      this.#setLatest.run(latest.at, stamped, latest.received, toColumn(value), sensor);
    }
    this.#replace(sensor, chunk, withValue(columns, index, value));
  }

  #lastReceived(
    sensor: SensorKey,
    unreadable: UnreadableChunks,
  ): { readonly columns: Columns; readonly index: number } | undefined {
    for (const { id } of this.#newest.iterate(sensor)) {
      const columns = unreadable.has(Number(id)) ? undefined : this.#decodeWhole(Number(id));
      if (columns === undefined) continue;
      return { columns, index: lastReceivedIndex(columns) };
    }
    return undefined;
  }

  /**
   * Replaces a chunk. Those of a single time are in order of their ids alone: where others follow it, a new one of that
   * time keeps the id. Reads do not cache such chunks, and no pass of sealing may have read it.
   */
  #replace(sensor: SensorKey, { id, last }: Pick<ChunkPlace, 'id' | 'last'>, columns: Columns | undefined): void {
    const slices = columns === undefined ? [] : cutForChunks(columns);
    const chunks = slices.map((slice) => ({ sensor, ...writeChunk(gather([slice])) }));
    const followers = chunks.at(-1)?.summary.first === last ? this.#followers.all(sensor, last, id) : [];
    if (followers.length > 0 && this.#isSealing()) throw new PassUnderWay();
    const [only, ...others] = chunks;
    if (followers.length > 0 && only !== undefined && others.length === 0) {
      this.#update.run(...chunkParameters(only), id);
      return;
    }
    this.#remove.run(id);
    for (const chunk of chunks) this.#chunks.add(chunk);
    for (const follower of followers) {
      this.#copy.run(follower['id'] as number);
      this.#remove.run(follower['id'] as number);
    }
  }

  /** Undefined where the chunk is damaged. @throws DamagedPage */
  #decodeWhole(id: number): Columns | undefined {
    try {
      return this.#decode(id);
    } catch (error) {
      throw isDamage(error) ? new DamagedPage(id, 1, error) : error;
    }
  }

  /** Undefined where the chunk is damaged. */
  #decode(id: number): Columns | undefined {
    try {
      return decodeChunk(this.#bytes.get(id)?.['bytes'] as Uint8Array);
    } catch (error) {
      if (error instanceof CorruptChunk) return undefined;
      throw error;
    }
  }
}

/** True for the errors by which SQLite tells that a page is damaged. */
function isDamage(error: unknown): boolean {
  return writeFailureOf(error).isDamaged === true;
}

/** Compares values as a column has them; those that no column type carries are blobs. */
function isSameColumn(one: StoredValue | Uint8Array, other: StoredValue | Uint8Array): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return one === other;
  return Buffer.compare(one, other) === 0;
}
