// Which rows of the log hold which positions, in memory. Has the rows from the first that sealing or the watcher of rules still
// needs.
import type { NumberedPlace, RowPlace } from './log-row.ts';

/** A row of the log, and the seq of its first datapoint. */
export interface IndexedRow extends NumberedPlace {
  readonly firstSeq: number;
  readonly count: number;
}

/** Numbers of one row: writer, seq, seq of its first datapoint, number of datapoints, its number. */
export const rowFields = 5;
const initialRows = 1024;

export class LogIndex {
  #rows = new Float64Array(initialRows * rowFields);
  #from = 0;
  #to = 0;
  #nextSeq = 1;

  /** Number of rows. */
  get size(): number {
    return this.#to - this.#from;
  }

  /** Empties it; the next datapoint has the seq after this one. */
  startBehind(seq: number): void {
    this.#from = 0;
    this.#to = 0;
    this.#nextSeq = seq + 1;
  }

  /** Numbers of a row of `slice`. */
  readonly fields = rowFields;

  /** The next datapoint has at least this seq. */
  skipTo(seq: number): void {
    this.#nextSeq = Math.max(this.#nextSeq, seq);
  }

  /** Seq of the next datapoint. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  /**
   * Adds a row; its first datapoint is the next one.
   * @param fromSeq at least this one: where rows are gone, later ones keep their seqs.
   * @returns the seq of its first datapoint.
   */
  add({ writer, seq, number }: NumberedPlace, count: number, fromSeq = 0): number {
    if (this.#to * rowFields === this.#rows.length) this.#makeRoom();
    const firstSeq = Math.max(this.#nextSeq, fromSeq);
    const at = this.#to * rowFields;
    this.#rows[at] = writer;
    this.#rows[at + 1] = seq;
    this.#rows[at + 2] = firstSeq;
    this.#rows[at + 3] = count;
    this.#rows[at + 4] = number;
    this.#to += 1;
    this.#nextSeq = firstSeq + count;
    return firstSeq;
  }

  at(index: number): IndexedRow {
    const at = (this.#from + index) * rowFields;
    const [writer, seq, firstSeq, count, number] = this.#rows.subarray(at, at + rowFields) as unknown as number[];
    return { writer, seq, firstSeq, count, number } as IndexedRow;
  }

  /** Index of the first row that has a datapoint behind a seq; `size` where none has. */
  firstBehind(seq: number): number {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#lastSeqAt(middle) > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Index behind the last row whose datapoints are all up to a seq, with the rows without datapoints that follow it. */
  endUpTo(seq: number): number {
    let end = this.firstBehind(seq);
    while (end < this.size && this.#lastSeqAt(end) <= seq) end += 1;
    return end;
  }

  /** The row of a writer; undefined where it is not here. */
  find({ writer, seq }: RowPlace): IndexedRow | undefined {
    for (let index = this.size - 1; index >= 0; index--) {
      const row = this.at(index);
      if (row.writer === writer && row.seq === seq) return row;
    }
    return undefined;
  }

  /** Index behind the last row up to a number, on from an index. */
  endOfRow(number: number, from: number): number {
    let end = from;
    while (end < this.size && this.at(end).number <= number) end += 1;
    return end;
  }

  /** The rows of some indexes, `rowFields` numbers each; a copy. */
  slice(from: number, to: number): Float64Array<ArrayBuffer> {
    return this.#rows.slice((this.#from + from) * rowFields, (this.#from + to) * rowFields);
  }

  /** Drops so many rows, the oldest. */
  drop(count: number): void {
    this.#from += count;
  }

  #lastSeqAt(index: number): number {
    const at = (this.#from + index) * rowFields;
    return (this.#rows[at + 2] as number) + (this.#rows[at + 3] as number) - 1;
  }

  /** Moves the rows to the beginning where half of the room is free, else takes twice as much. */
  #makeRoom(): void {
    const kept = this.#rows.subarray(this.#from * rowFields, this.#to * rowFields);
    const rows = this.size * rowFields > this.#rows.length / 2 ? new Float64Array(2 * this.#rows.length) : this.#rows;
    if (rows === this.#rows) rows.copyWithin(0, this.#from * rowFields, this.#to * rowFields);
    else rows.set(kept);
    this.#rows = rows;
    this.#to -= this.#from;
    this.#from = 0;
  }
}
