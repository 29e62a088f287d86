// Datapoints put together by buckets of time (contract 10), as they stream by. Numbers alone have a min, max, avg and
// sum; `count` counts all values, and `first` and `last` are values of any type.
import { type Columns, valueAt } from './columns.ts';
import type { StoredValue } from './datapoint.ts';

/** What `Buckets` gives. */
interface BucketsOfTime {
  startOf(ms: number): number;
}

export interface Aggregate {
  /** Start of the bucket, milliseconds since 1970 UTC. */
  readonly startMs: number;
  /** Datapoints in it. */
  readonly count: number;
  readonly first: StoredValue;
  readonly last: StoredValue;
  /** Absent where no value is a number; sum and avg too where they are beyond all numbers. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly sum: number | undefined;
  readonly avg: number | undefined;
}

/** Gives a row for each bucket that has datapoints, in the order in which they come. */
export async function* aggregateSteps(
  steps: AsyncGenerator<Columns>,
  buckets: BucketsOfTime,
  options: { readonly descending: boolean },
): AsyncGenerator<Aggregate[]> {
  let open: OpenBucket | undefined;
  for await (const columns of steps) {
    const done: Aggregate[] = [];
    for (let from = 0; from < columns.count; ) {
      const startMs = buckets.startOf(columns.at[from] as number);
      let to = from + 1;
      while (to < columns.count && buckets.startOf(columns.at[to] as number) === startMs) to += 1;
      if (open !== undefined && open.startMs !== startMs) {
        done.push(open.close(options));
        open = undefined;
      }
      open ??= new OpenBucket(startMs, valueAt(columns, from));
      open.add(columns, from, to);
      from = to;
    }
    if (done.length > 0) yield done;
  }
  if (open !== undefined) yield [open.close(options)];
}

class OpenBucket {
  readonly startMs: number;
  readonly #earliest: StoredValue;
  #latest: StoredValue;
  #count = 0;
  #numbers = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  #sum = 0;
  /** What adding has lost so far (Neumaier), so that a sum of many does not drift. */
  #lost = 0;

  constructor(startMs: number, value: StoredValue) {
    this.startMs = startMs;
    this.#earliest = value;
    this.#latest = value;
  }

  /** Adds the datapoints from one index up to another. */
  add(columns: Columns, from: number, to: number): void {
    const { values } = columns;
    this.#count += to - from;
    this.#latest = valueAt(columns, to - 1);
    // In variables, because a year has half a million of them.
    let [sum, lost, min, max, numbers] = [this.#sum, this.#lost, this.#min, this.#max, this.#numbers];
    for (let index = from; index < to; index++) {
      const value = values[index] as number;
      if (Number.isNaN(value)) continue;
      numbers += 1;
      if (value < min) min = value;
      if (value > max) max = value;
      const next = sum + value;
      lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
      sum = next;
    }
    this.#sum = sum;
    this.#lost = lost;
    this.#min = min;
    this.#max = max;
    this.#numbers = numbers;
  }

  close({ descending }: { readonly descending: boolean }): Aggregate {
    const [first, last] = descending ? [this.#latest, this.#earliest] : [this.#earliest, this.#latest];
    const any = { startMs: this.startMs, count: this.#count, first, last };
    if (this.#numbers === 0) return { ...any, min: undefined, max: undefined, sum: undefined, avg: undefined };
    const sum = this.#sum + this.#lost;
    const range = { min: this.#min, max: this.#max };
    if (!Number.isFinite(sum)) return { ...any, ...range, sum: undefined, avg: undefined };
    // Rounding must not put the mean beside the values.
    return { ...any, ...range, sum, avg: Math.min(this.#max, Math.max(this.#min, sum / this.#numbers)) };
  }
}
