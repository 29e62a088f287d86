// Aggregates a stream of datapoints by buckets of time (contract 10). Only numbers have min, max, avg and sum; `count`
// counts all values, and `first` and `last` may be of any type.
import { lowerBoundNear, lowerBoundNearEnd } from '../../../base/sorted-numbers.ts';
import { doubleAt, type Slice, valueAt } from '../columns.ts';
import type { StoredValue } from '../datapoint.ts';
import { type BucketRequest, Buckets } from './buckets.ts';

export interface Aggregate {
  /** Start of the bucket, milliseconds since 1970 UTC. */
  readonly startMs: number;
  /** Number of datapoints. */
  readonly count: number;
  readonly first: StoredValue;
  readonly last: StoredValue;
  /** These four are absent where no value is a number; sum and avg also where the sum overflows. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly sum: number | undefined;
  readonly avg: number | undefined;
}

/** A bucket that may get more datapoints. Plain data, so that it can be sent to another thread. */
export interface OpenBucket {
  readonly startMs: number;
  count: number;
  first: StoredValue;
  last: StoredValue;
  /** Count, extremes and sum of the values that are numbers. */
  numbers: number;
  min: number;
  max: number;
  sum: number;
  /** Compensation of rounding errors (Neumaier), so that a sum over many values does not drift. */
  lost: number;
}

/**
 * Makes rows of buckets from slices of datapoints. Slices come in ascending order of time or, if `descending`, the
 * latest slice first.
 */
export class Aggregation {
  /** Complete buckets, in the order in which they were finished. */
  readonly rows: Aggregate[] = [];
  readonly #buckets: Buckets;
  readonly #isDescending: boolean;
  #open: OpenBucket | undefined;

  /** @param query `open`: the unfinished bucket of the previous step. */
  constructor(query: {
    readonly buckets: BucketRequest;
    readonly descending: boolean;
    readonly open?: OpenBucket | undefined;
  }) {
    this.#buckets = Buckets.of(query.buckets);
    this.#isDescending = query.descending;
    this.#open = query.open;
  }

  /** The last bucket, which the next step may continue. */
  get open(): OpenBucket | undefined {
    return this.#open;
  }

  add({ columns, from, to }: Slice): void {
    const { at } = columns;
    if (this.#isDescending) {
      for (let end = to; end > from; ) {
        const { startMs } = this.#buckets.bucketOf(at[end - 1] as number);
        const start = lowerBoundNearEnd(at, startMs, from, end - 1);
        this.#addRun(startMs, { columns, from: start, to: end });
        end = start;
      }
      return;
    }
    for (let start = from; start < to; ) {
      const { startMs, endMs } = this.#buckets.bucketOf(at[start] as number);
      const end = lowerBoundNear(at, endMs, start + 1, to);
      this.#addRun(startMs, { columns, from: start, to: end });
      start = end;
    }
  }

  /** Adds datapoints that all belong to one bucket. */
  #addRun(startMs: number, { columns, from, to }: Slice): void {
    let open = this.#open;
    if (open !== undefined && open.startMs !== startMs) {
      this.rows.push(closeBucket(open));
      open = undefined;
    }
    if (open === undefined) {
      open = openBucket(startMs, { first: valueAt(columns, from), last: valueAt(columns, to - 1) });
      this.#open = open;
    } else if (this.#isDescending) open.first = valueAt(columns, from);
    else open.last = valueAt(columns, to - 1);
    open.count += to - from;
    addNumbers(open, { columns, from, to });
  }
}

function openBucket(startMs: number, ends: Pick<OpenBucket, 'first' | 'last'>): OpenBucket {
  const [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  return { startMs, count: 0, ...ends, numbers: 0, min, max, sum: 0, lost: 0 };
}

function addNumbers(open: OpenBucket, { columns, from, to }: Slice): void {
  const { values } = columns;
  // Local variables are faster: a year has half a million datapoints.
  let { sum, lost, min, max, numbers } = open;
  for (let index = from; index < to; index++) {
    let value = values[index] as number;
    if (Number.isNaN(value)) {
      value = doubleAt(columns, index);
      if (Number.isNaN(value)) continue;
    }
    numbers += 1;
    if (value < min) min = value;
    if (value > max) max = value;
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  Object.assign(open, { sum, lost, min, max, numbers });
}

/** The row of a finished bucket. */
export function closeBucket({ startMs, count, first, last, numbers, ...open }: OpenBucket): Aggregate {
  const any = { startMs, count, first, last };
  if (numbers === 0) return { ...any, min: undefined, max: undefined, sum: undefined, avg: undefined };
  const { min, max } = open;
  const sum = open.sum + open.lost;
  if (!Number.isFinite(sum)) return { ...any, min, max, sum: undefined, avg: undefined };
  // Rounding must not move the mean outside of the extremes.
  return { ...any, min, max, sum, avg: Math.min(max, Math.max(min, sum / numbers)) };
}
