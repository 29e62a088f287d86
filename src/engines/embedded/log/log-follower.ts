// Reads datapoints of all sensors in order of arrival, for the watcher when it has fallen behind the feed or comes back
// after a stop: from the log, and from rows that were kept when the log was sealed (replay-backlog.ts). Runs on the
// main thread, only reads, and publishes its position in shared memory.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { LogEntry } from '../../../domain/ports/commit-log.ts';
import { GatheredEntries, keyOf, logEntriesOf, type RemovedEntry } from '../../shared/log/log-entries.ts';
import { countInBounds, DamagedRow, type LogRow, logColumns, toPiece } from './log.ts';

/** Log rows read in one step; each may hold a single datapoint. */
const rowsAtOnce = 500;
/** Log rows searched backwards for a sensor's previous datapoint. */
const rowsLookedBack = 100;

/** The follower's position, shared with the writer thread; initially the one stored on disk. */
export function sharedFollowedSeq(reader: DatabaseSync): SharedArrayBuffer {
  const row = reader
    .prepare(
      `SELECT coalesce((SELECT value FROM counter WHERE name = 'followed_seq'),
        CASE WHEN EXISTS (SELECT 1 FROM notification) THEN 0 ELSE -1 END) AS seq`,
    )
    .get();
  const followed = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  new BigInt64Array(followed)[0] = BigInt(row?.['seq'] as number);
  return followed;
}

export class LogFollower {
  readonly #followed: BigInt64Array;
  readonly #pieces: StatementSync;
  readonly #rowsDescending: StatementSync;
  readonly #rulesSkipped: StatementSync;
  readonly #last: StatementSync;
  readonly #mark: StatementSync;

  constructor(reader: DatabaseSync, followed: SharedArrayBuffer) {
    this.#followed = new BigInt64Array(followed);
    // A row may contain datapoints after `seq` although it begins before; it begins at most `logRowDatapointsMax`
    // earlier.
    const rows = (table: string) =>
      `SELECT ${logColumns} FROM ${table} WHERE first_seq > ?1 - ${limits.logRowDatapointsMax} AND first_seq + ${countInBounds} - 1 > ?1`;
    this.#pieces = reader.prepare(`${rows('replay_backlog')} UNION ALL ${rows('log')} ORDER BY 1 LIMIT ${rowsAtOnce}`);
    const before = (table: string) => `SELECT ${logColumns} FROM ${table} WHERE first_seq <= ?1`;
    this.#rowsDescending = reader.prepare(
      `${before('replay_backlog')} UNION ALL ${before('log')} ORDER BY 1 DESC LIMIT ${rowsLookedBack}`,
    );
    this.#rulesSkipped = reader.prepare(
      'SELECT last_seq FROM rules_skipped WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1',
    );
    this.#last = reader.prepare(
      `SELECT max(coalesce((SELECT max(first_seq) FROM log), 0), coalesce((SELECT value + 1 FROM counter WHERE name = 'sealed_seq'), 1)) AS first,
        (SELECT ${countInBounds} FROM log ORDER BY first_seq DESC LIMIT 1) AS datapoints`,
    );
    this.#mark = reader.prepare("SELECT value FROM counter WHERE name = 'followed_seq'");
  }

  confirm(seq: number | undefined): void {
    Atomics.store(this.#followed, 0, BigInt(seq ?? -1));
  }

  confirmedSeq(): number | undefined {
    return this.#mark.get()?.['value'] as number | undefined;
  }

  lastSeq(): number {
    const { first, datapoints } = this.#last.get() as { first: number; datapoints: number | null };
    return first + (datapoints ?? 0) - 1;
  }

  /** When the datapoint with this seq was received; undefined where it is no longer kept. */
  receivedMsOf(seq: number): number | undefined {
    const row = this.#pieces.get(seq - 1) as LogRow | undefined;
    if (row === undefined || row.firstSeq > seq) return undefined;
    const piece = toPiece(row);
    return piece instanceof DamagedRow ? undefined : piece.rows[(seq - row.firstSeq) * rowNumbers + 2];
  }

  /** A sensor's last datapoint up to a seq, searched only in the last `rowsLookedBack` rows. */
  latestUpTo(sensor: SensorKey, seq: number): LogEntry | undefined {
    for (const row of this.#rowsDescending.iterate(seq) as Iterable<unknown>) {
      const found = [...this.#pointsOf(row as LogRow)].findLast((point) => point.sensor === sensor && point.seq <= seq);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The next datapoints after a seq; an empty list at the end of the log. Damaged rows are passed over. */
  readAfter(seq: number): LogEntry[] {
    const gathered = new GatheredEntries(seq);
    for (let behind = seq; ; ) {
      let rows = 0;
      for (const row of this.#pieces.iterate(behind) as Iterable<unknown>) {
        rows += 1;
        behind = Math.max(behind, (row as LogRow).firstSeq);
        gathered.add(this.#entriesOf(row as LogRow));
        if (gathered.points.length >= limits.readStepRows) break;
      }
      if (gathered.points.length > 0 || rows < rowsAtOnce) return gathered.points;
    }
  }

  /** Counts a sensor's datapoints after a seq, by `keyOf`. */
  countBehind(sensor: SensorKey, seq: number): Map<string, number> {
    const counts = new Map<string, number>();
    let points = this.readAfter(seq);
    for (let last = points.at(-1); last !== undefined; last = points.at(-1)) {
      for (const point of points) {
        if (point.sensor === sensor) counts.set(keyOf(point), (counts.get(keyOf(point)) ?? 0) + 1);
      }
      points = this.readAfter(last.seq);
    }
    return counts;
  }

  *#pointsOf(row: LogRow): Generator<LogEntry> {
    for (const entry of this.#entriesOf(row)) if ('sensor' in entry) yield entry;
  }

  *#entriesOf(row: LogRow): Generator<LogEntry | RemovedEntry> {
    const piece = toPiece(row);
    if (piece instanceof DamagedRow) return;
    yield* logEntriesOf(piece, (seq) => Number(this.#rulesSkipped.get(seq)?.['last_seq'] ?? 0) >= seq);
  }
}
