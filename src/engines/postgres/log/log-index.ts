// Which rows of the log hold which positions, in memory: this process numbers the datapoints of all writers in the order in
// which it follows them, and the database knows rows by their writer and number. Has the rows from the first that sealing or
// the watcher of rules still needs.
import type { RowPlace } from './log-row.ts';

/** A row of the log, and the seq of its first datapoint as this process numbers them. */
export interface IndexedRow extends RowPlace {
  readonly firstSeq: number;
  readonly count: number;
}

/** Numbers of one row: writer, seq, seq of its first datapoint. */
export const rowFields = 3;
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

  /** Adds a row whose first datapoint is the next one. */
  add({ writer, seq }: RowPlace, count: number): void {
    if (this.#to * rowFields === this.#rows.length) this.#makeRoom();
    this.#rows.set([writer, seq, this.#nextSeq], this.#to * rowFields);
    this.#to += 1;
    this.#nextSeq += count;
  }

  at(index: number): IndexedRow {
    const at = (this.#from + index) * rowFields;
    const [writer, seq, firstSeq] = [this.#rows[at], this.#rows[at + 1], this.#rows[at + 2]] as [number, number, number];
    return { writer, seq, firstSeq, count: this.#firstSeqAt(index + 1) - firstSeq };
  }

  /** Index of the first row that has a datapoint behind a seq; `size` where none has. */
  firstBehind(seq: number): number {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#firstSeqAt(middle + 1) - 1 > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Index behind the last row whose datapoints are all up to a seq, with the rows without datapoints that follow it. */
  endUpTo(seq: number): number {
    let end = this.firstBehind(seq);
    while (end < this.size && this.#firstSeqAt(end + 1) - 1 <= seq) end += 1;
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

  /** The rows of some indexes, `rowFields` numbers each; a copy. */
  slice(from: number, to: number): Float64Array<ArrayBuffer> {
    return this.#rows.slice((this.#from + from) * rowFields, (this.#from + to) * rowFields);
  }

  /** Drops so many rows, the oldest. */
  drop(count: number): void {
    this.#from += count;
  }

  #firstSeqAt(index: number): number {
    if (index >= this.size) return this.#nextSeq;
    return this.#rows[(this.#from + index) * rowFields + 2] as number;
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
