// What is still in the log, held in memory by sensor, so that reads see it without searching the log.
// Bounded by `headRowsMax`: the writer settles before it lets the log grow beyond.
import type { Datapoint, StoredValue } from '../../domain/datapoints/datapoint.ts';
import { type DatapointBatch, rowNumbers } from '../../domain/datapoints/datapoint-batch.ts';
import type { RangeQuery } from '../../domain/datapoints/datapoint-store.ts';
import type { SensorKey } from '../../domain/sensors/sensor.ts';

/** Columns of one sensor's datapoints, in order of arrival. */
class Series {
  readonly seqs: number[] = [];
  readonly timestamps: number[] = [];
  readonly received: number[] = [];
  readonly values: StoredValue[] = [];

  push(seq: number, timestampMs: number, receivedMs: number, value: StoredValue): void {
    this.seqs.push(seq);
    this.timestamps.push(timestampMs);
    this.received.push(receivedMs);
    this.values.push(value);
  }

  at(index: number): Datapoint {
    const timestampMs = this.timestamps[index] as number;
    return {
      seq: this.seqs[index] as number,
      timestampMs: Number.isNaN(timestampMs) ? undefined : timestampMs,
      receivedMs: this.received[index] as number,
      value: this.values[index] as StoredValue,
    };
  }

  order(index: number): number {
    const timestampMs = this.timestamps[index] as number;
    return Number.isNaN(timestampMs) ? (this.received[index] as number) : timestampMs;
  }

  /** Drops what has a seq of at most `seq`. */
  dropUpTo(seq: number): void {
    let count = 0;
    while (count < this.seqs.length && (this.seqs[count] as number) <= seq) count += 1;
    if (count === 0) return;
    for (const column of [this.seqs, this.timestamps, this.received, this.values]) column.splice(0, count);
  }
}

export class Head {
  readonly #series = new Map<SensorKey, Series>();
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  add({ rows, texts }: Pick<DatapointBatch, 'rows' | 'texts'>, firstSeq: number): void {
    let seq = firstSeq;
    let text = 0;
    for (let at = 0; at < rows.length; at += rowNumbers) {
      const key = rows[at] as SensorKey;
      const number = rows[at + 3] as number;
      let series = this.#series.get(key);
      if (series === undefined) {
        series = new Series();
        this.#series.set(key, series);
      }
      const value = Number.isNaN(number) ? (texts[text++] as string) : number;
      series.push(seq, rows[at + 1] as number, rows[at + 2] as number, value);
      seq += 1;
    }
    this.#rows += seq - firstSeq;
  }

  /** Forgets what has settled: it is in the clustered table now. */
  settled(seq: number): void {
    this.#rows = 0;
    for (const [key, series] of this.#series) {
      series.dropUpTo(seq);
      if (series.seqs.length === 0) this.#series.delete(key);
      this.#rows += series.seqs.length;
    }
  }

  latest(sensor: SensorKey): Datapoint | undefined {
    const series = this.#series.get(sensor);
    return series?.at(series.seqs.length - 1);
  }

  /** The datapoint that came last among those up to this seq. */
  latestUpTo(sensor: SensorKey, seq: number): Datapoint | undefined {
    const series = this.#series.get(sensor);
    const index = series?.seqs.findLastIndex((one) => one <= seq) ?? -1;
    return index < 0 ? undefined : series?.at(index);
  }

  /** The sensor's datapoints that the query asks for, in the query's order. */
  read(query: RangeQuery): Datapoint[] {
    const series = this.#series.get(query.sensor);
    if (series === undefined) return [];
    const indices: number[] = [];
    for (let i = 0; i < series.seqs.length; i++) if (matches(series, i, query)) indices.push(i);
    const direction = query.descending ? -1 : 1;
    indices.sort((a, b) => direction * (series.order(a) - series.order(b) || a - b));
    return indices.slice(0, query.limit).map((index) => series.at(index));
  }
}

function matches(series: Series, index: number, query: RangeQuery): boolean {
  const order = series.order(index);
  if (query.fromMs !== undefined && order < query.fromMs) return false;
  if (query.toMs !== undefined && order > query.toMs) return false;
  if (query.after === undefined) return true;
  const past = order - query.after.order || (series.seqs[index] as number) - query.after.seq;
  return query.descending ? past < 0 : past > 0;
}
