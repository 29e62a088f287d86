// Removes and corrects datapoints in the rows of the log, inside the caller's transaction. A removed datapoint leaves an
// entry of no sensor behind, so that the seqs of the log go on without a gap; whoever reads the log passes over it. Called
// by sealing/datapoint-edits.ts in the writer thread, never while a pass of sealing has read these rows.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SeriesRemoval } from '../../../domain/ports/series.ts';
import { noSensor } from '../../shared/log/no-sensor.ts';
import { countInBounds, DamagedRow, type LogPiece, type LogRow, LogWriter, logColumns, toPiece } from './log.ts';

/** Seqs of the log, inclusive. */
export interface SeqSpan {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** True where a stored value is the one that is looked for. */
export function isSameValue(value: StoredValue, wanted: StoredValue | undefined): boolean {
  return wanted === undefined || value === wanted;
}

export class LogEdits {
  readonly #rows: StatementSync;
  readonly #log: LogWriter;

  constructor(database: DatabaseSync) {
    this.#log = new LogWriter(database);
    this.#rows = database.prepare(
      `SELECT ${logColumns} FROM log WHERE first_seq > ?1 - ${limits.logRowDatapointsMax} AND first_seq <= ?2
        AND first_seq + ${countInBounds} - 1 >= ?1 ORDER BY first_seq LIMIT 1`,
    );
  }

  /**
   * Removes datapoints of one row: the first one that has any seq of the span.
   * @returns how many, and the seq behind that row; undefined where no row is left. A damaged row stays as it is.
   */
  removeFromRow(
    removal: SeriesRemoval,
    span: SeqSpan,
  ): { readonly removed: number; readonly nextSeq: number } | undefined {
    const row = this.#rows.get(span.firstSeq, span.lastSeq) as LogRow | undefined;
    if (row === undefined) return undefined;
    const piece = toPiece(row);
    const nextSeq = row.firstSeq + Math.max(1, Math.min(row.datapoints, limits.logRowDatapointsMax));
    if (piece instanceof DamagedRow) return { removed: 0, nextSeq };
    const left = new Editing(piece);
    let removed = 0;
    for (const { at, seq, ms, value } of entriesOf(piece)) {
      const isMeant = piece.rows[at] === removal.sensor && seq >= span.firstSeq && seq <= span.lastSeq;
      const isWithin = isMeant && ms >= removal.fromMs && ms <= removal.toMs && isSameValue(value, removal.value);
      if (!isWithin) left.keep(at, value);
      else {
        left.blank(at);
        removed += 1;
      }
    }
    if (removed > 0) this.#log.replace(left.piece);
    return { removed, nextSeq };
  }

  /** Sets the value of the datapoint of a seq. @returns false where it is not there as described, or not readable. */
  correct(
    which: { readonly sensor: number; readonly atMs: number; readonly seq: number },
    value: StoredValue,
  ): boolean {
    const row = this.#rows.get(which.seq, which.seq) as LogRow | undefined;
    const piece = row && toPiece(row);
    if (piece === undefined || piece instanceof DamagedRow) return false;
    const corrected = new Editing(piece);
    let isFound = false;
    for (const entry of entriesOf(piece)) {
      const isIt = entry.seq === which.seq && piece.rows[entry.at] === which.sensor && entry.ms === which.atMs;
      isFound ||= isIt;
      corrected.keep(entry.at, isIt ? value : entry.value);
    }
    if (isFound) this.#log.replace(corrected.piece);
    return isFound;
  }
}

/** The datapoints of a piece: index of the first number, seq, time in milliseconds since 1970 UTC, and value. */
function* entriesOf({ firstSeq, rows, texts }: LogPiece) {
  let text = 0;
  for (let at = 0; at < rows.length; at += rowNumbers) {
    const timestamp = rows[at + 1] as number;
    const number = rows[at + 3] as number;
    yield {
      at,
      seq: firstSeq + at / rowNumbers,
      ms: Number.isNaN(timestamp) ? (rows[at + 2] as number) : timestamp,
      value: Number.isNaN(number) ? (texts[text++] as StoredValue) : number,
    };
  }
}

/** A piece that is made anew, datapoint by datapoint. */
class Editing {
  readonly #firstSeq: number;
  readonly #rows: Float64Array;
  readonly #texts: string[] = [];

  constructor({ firstSeq, rows }: LogPiece) {
    this.#firstSeq = firstSeq;
    this.#rows = rows.slice();
  }

  keep(at: number, value: StoredValue): void {
    this.#rows[at + 3] = typeof value === 'number' ? value : Number.NaN;
    if (typeof value === 'string') this.#texts.push(value);
  }

  /** The time of receiving stays, because `newestReceivedMs` may ask for it. */
  blank(at: number): void {
    this.#rows[at] = noSensor;
    this.#rows[at + 1] = Number.NaN;
    this.#rows[at + 3] = 0;
  }

  get piece(): LogPiece {
    return { firstSeq: this.#firstSeq, rows: this.#rows, texts: this.#texts };
  }
}
