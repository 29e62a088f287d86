// Removes and corrects datapoints in the rows of the log, inside the caller's transaction. A removed datapoint leaves an
// entry of no sensor behind, so that the seqs of the log go on without a gap; whoever reads the log passes over it. Called
// by sealing/datapoint-edits.ts in the writer thread, never while a pass of sealing has read these rows.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import type { SeriesRemoval } from '../../../domain/ports/series.ts';
import { correctInPiece, type LoggedDatapoint, removeFromPiece, type SeqSpan } from '../../shared/log/piece-edits.ts';
import { countInBounds, DamagedRow, type LogRow, LogWriter, logColumns, toPiece } from './log.ts';

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
    const { removed, left } = removeFromPiece(piece, removal, span);
    if (removed > 0) this.#log.replace(left);
    return { removed, nextSeq };
  }

  /** Sets the value of the datapoint of a seq. @returns false where it is not there as described, or not readable. */
  correct(which: LoggedDatapoint, value: StoredValue): boolean {
    const row = this.#rows.get(which.seq, which.seq) as LogRow | undefined;
    const piece = row && toPiece(row);
    if (piece === undefined || piece instanceof DamagedRow) return false;
    const corrected = correctInPiece(piece, which, value);
    if (corrected !== undefined) this.#log.replace(corrected);
    return corrected !== undefined;
  }
}
