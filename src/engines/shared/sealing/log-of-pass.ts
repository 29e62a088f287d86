// The datapoints of a pass of sealing, by sensor.
import { type Columns, makeColumns } from '../../../domain/datapoints/columns.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import type { LogPiece } from '../log/log-piece.ts';
import { noSensor } from '../log/no-sensor.ts';
import type { SealedLatest } from './sealed-sensor.ts';

export class LogOfPass {
  /** Number of readable datapoints. */
  readonly count: number;
  /** Ascending. */
  readonly sensors: readonly number[];
  readonly #rows: Float64Array;
  readonly #seqs: Float64Array;
  readonly #texts = new Map<number, string>();
  /** Indexes of rows grouped by sensor, within a sensor in order of arrival. */
  readonly #order: Uint32Array;
  readonly #starts = new Map<number, number>();
  readonly #counts = new Map<number, number>();

  /** @param most the highest possible number of datapoints. */
  constructor(pieces: Iterable<LogPiece>, most: number) {
    this.#rows = new Float64Array(most * rowNumbers);
    this.#seqs = new Float64Array(most);
    let at = 0;
    for (const piece of pieces) at = this.#take(piece, at);
    this.count = at;
    this.#order = new Uint32Array(at);
    this.sensors = [...this.#counts.keys()].sort((a, b) => a - b);
    let start = 0;
    for (const sensor of this.sensors) {
      this.#starts.set(sensor, start);
      start += this.#counts.get(sensor) as number;
    }
    const offsets = new Map(this.#starts);
    for (let index = 0; index < this.count; index++) {
      const sensor = this.#rows[index * rowNumbers] as number;
      const offset = offsets.get(sensor);
      if (offset === undefined) continue;
      this.#order[offset] = index;
      offsets.set(sensor, offset + 1);
    }
  }

  #take({ rows, texts, firstSeq }: LogPiece, at: number): number {
    this.#rows.set(rows, at * rowNumbers);
    let text = 0;
    const count = rows.length / rowNumbers;
    for (let n = 0; n < count; n++) {
      const sensor = rows[n * rowNumbers] as number;
      this.#counts.set(sensor, (this.#counts.get(sensor) ?? 0) + 1);
      this.#seqs[at + n] = firstSeq + n;
      if (Number.isNaN(rows[n * rowNumbers + 3] as number)) this.#texts.set(at + n, texts[text++] as string);
    }
    this.#counts.delete(noSensor);
    return at + count;
  }

  /** Sorted by time; equal times in order of arrival. */
  columnsOf(sensor: number): Columns {
    const indexes = this.#indexesOf(sensor);
    const times = new Float64Array(indexes.length);
    let isSorted = true;
    for (let n = 0; n < indexes.length; n++) {
      times[n] = this.#timeAt(indexes[n] as number);
      if (n > 0 && (times[n] as number) < (times[n - 1] as number)) isSorted = false;
    }
    return this.#fill(isSorted ? indexes : this.#sortByTime(indexes));
  }

  latestOf(sensor: number): SealedLatest {
    const index = this.#indexesOf(sensor).at(-1) as number;
    const at = index * rowNumbers;
    return {
      sensor,
      seq: this.#seqs[index] as number,
      at: this.#timeAt(index),
      stamped: Number.isNaN(this.#rows[at + 1] as number) ? 0 : 1,
      received: this.#rows[at + 2] as number,
      value: this.#texts.get(index) ?? (this.#rows[at + 3] as number),
    };
  }

  #fill(indexes: Uint32Array): Columns {
    const columns = makeColumns(indexes.length);
    const texts = new Map<number, string>();
    for (let n = 0; n < indexes.length; n++) {
      const index = indexes[n] as number;
      const at = index * rowNumbers;
      columns.at[n] = this.#timeAt(index);
      columns.stamped[n] = Number.isNaN(this.#rows[at + 1] as number) ? 0 : 1;
      columns.received[n] = this.#rows[at + 2] as number;
      const number = this.#rows[at + 3] as number;
      columns.values[n] = number;
      if (Number.isNaN(number)) texts.set(n, this.#texts.get(index) as string);
    }
    return { ...columns, texts: texts.size === 0 ? undefined : texts };
  }

  #sortByTime(indexes: Uint32Array): Uint32Array {
    return indexes.slice().sort((a, b) => this.#timeAt(a) - this.#timeAt(b) || a - b);
  }

  #indexesOf(sensor: number): Uint32Array {
    const start = this.#starts.get(sensor) as number;
    return this.#order.subarray(start, start + (this.#counts.get(sensor) as number));
  }

  #timeAt(index: number): number {
    const timestampMs = this.#rows[index * rowNumbers + 1] as number;
    return Number.isNaN(timestampMs) ? (this.#rows[index * rowNumbers + 2] as number) : timestampMs;
  }
}
