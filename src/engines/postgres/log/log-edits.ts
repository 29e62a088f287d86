// Removals and corrections of datapoints in the log. A row of the log never changes: an edit is a row of its own, and applies to
// rows before it. Whoever reads such rows applies the edits, which are here in memory as long as their rows are needed.
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import type { SeriesRemoval } from '../../../domain/ports/series.ts';
import type { LogPiece } from '../../shared/log/log-piece.ts';
import { correctInPiece, type LoggedDatapoint, removeFromPiece } from '../../shared/log/piece-edits.ts';

/** An edit of the datapoints up to a seq, as this process numbers them. */
export type LogEdit =
  | { readonly upToSeq: number; readonly removal: SeriesRemoval }
  | { readonly upToSeq: number; readonly correction: LoggedDatapoint & { readonly value: StoredValue } };

/** What is left of a piece, the edits applied in their order. */
export function applyEdits(piece: LogPiece, edits: readonly LogEdit[]): LogPiece {
  let left = piece;
  for (const edit of edits) {
    if (edit.upToSeq < piece.firstSeq) continue;
    if ('removal' in edit) {
      const { removed, left: rest } = removeFromPiece(left, edit.removal, { firstSeq: 0, lastSeq: edit.upToSeq });
      if (removed > 0) left = rest;
    } else {
      const { value, ...which } = edit.correction;
      left = correctInPiece(left, which, value) ?? left;
    }
  }
  return left;
}

export class LogEdits {
  /** Bounded by the rows of the log that they are. */
  #edits: LogEdit[] = [];

  get all(): readonly LogEdit[] {
    return this.#edits;
  }

  add(edit: LogEdit): void {
    this.#edits.push(edit);
  }

  /** Datapoints up to a seq are not read from the log any more. */
  drop(upToSeq: number): void {
    if (this.#edits.length > 0) this.#edits = this.#edits.filter((edit) => edit.upToSeq > upToSeq);
  }
}
