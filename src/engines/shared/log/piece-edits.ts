// Removes and corrects datapoints in a piece of the log. A removed datapoint leaves an entry of no sensor behind, so that the
// seqs of the log go on without a gap; whoever reads the log passes over it. Pure.
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { SeriesRemoval } from '../../../domain/ports/series.ts';
import type { LogPiece } from './log-piece.ts';
import { noSensor } from './no-sensor.ts';

/** Seqs of the log, inclusive. */
export interface SeqSpan {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** A datapoint of the log, with its time to make sure. */
export interface LoggedDatapoint {
  readonly sensor: number;
  readonly atMs: number;
  readonly seq: number;
}

/** True where a stored value is the one that is looked for. */
export function isSameValue(value: StoredValue, wanted: StoredValue | undefined): boolean {
  return wanted === undefined || value === wanted;
}

/** Removes the datapoints of a span that fit; `left` is the piece without them. */
export function removeFromPiece(
  piece: LogPiece,
  removal: SeriesRemoval,
  span: SeqSpan,
): { readonly removed: number; readonly left: LogPiece } {
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
  return { removed, left: left.piece };
}

/** Sets the value of a datapoint; undefined where it is not in the piece as described. */
export function correctInPiece(piece: LogPiece, which: LoggedDatapoint, value: StoredValue): LogPiece | undefined {
  const corrected = new Editing(piece);
  let isFound = false;
  for (const entry of entriesOf(piece)) {
    const isIt = entry.seq === which.seq && piece.rows[entry.at] === which.sensor && entry.ms === which.atMs;
    isFound ||= isIt;
    corrected.keep(entry.at, isIt ? value : entry.value);
  }
  return isFound ? corrected.piece : undefined;
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
