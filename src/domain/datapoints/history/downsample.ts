// A picture-true choice of at most N datapoints by the method M4 (Jugel, Jerzak, Hackenbroich, Markl: "M4: a
// visualization-oriented time series data aggregation", VLDB 2014): the span is cut into N/4 columns of equal time, and
// of each column its first, lowest, highest and last datapoint stay. A line through them covers the same pixels of a
// chart that many columns wide, and keeps the extremes and both ends. One pass, constant memory.
// A value that is no number is neither lowest nor highest; it stays as the first or last of its column. Of several that
// are the lowest, or the highest, the earliest stays.
import { type Columns, datapointAt, type Slice } from '../columns.ts';
import type { Datapoint } from '../datapoint.ts';

/** Fewer cannot hold the extremes and both ends. */
export const pointsMin = 4;

export interface Span {
  /** Times of the first and last datapoint. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** A datapoint that was chosen, and which of its column it is, by time. */
interface Chosen {
  readonly point: Datapoint;
  readonly position: number;
}

/** A column to which more may come. Plain data: one thread may begin it and another go on. */
export interface OpenColumn {
  readonly number: number;
  first: Chosen;
  last: Chosen;
  lowest: Chosen | undefined;
  highest: Chosen | undefined;
  min: number;
  max: number;
  count: number;
}

/** Chooses among datapoints that come in order of time, or, descending, the last slice first. */
export class Downsampling {
  /** Chosen of columns to which nothing comes any more, in the order in which they are to be given out. */
  readonly points: Datapoint[] = [];
  readonly #isDescending: boolean;
  readonly #span: Span;
  readonly #columns: number;
  readonly #widthMs: number;
  #open: OpenColumn | undefined;

  /** @param query `points`: how many at most; `open`: the column at which the step before has ended */
  constructor(query: {
    readonly points: number;
    readonly span: Span;
    readonly descending: boolean;
    readonly open?: OpenColumn | undefined;
  }) {
    this.#isDescending = query.descending;
    this.#span = query.span;
    this.#columns = Math.max(1, Math.floor(query.points / pointsMin));
    this.#widthMs = Math.max((query.span.toMs - query.span.fromMs) / this.#columns, Number.MIN_VALUE);
    this.#open = query.open;
  }

  /** The column that may go on. */
  get open(): OpenColumn | undefined {
    return this.#open;
  }

  add({ columns, from, to }: Slice): void {
    for (let [start, end] = [from, to]; start < end; ) {
      const number = this.#numberOf(columns.at[this.#isDescending ? end - 1 : start] as number);
      if (this.#open !== undefined && this.#open.number !== number) this.#close(this.#open);
      const run = this.#isDescending
        ? { columns, from: this.#beginOf(number, columns, { from: start, to: end }), to: end }
        : { columns, from: start, to: this.#endOf(number, columns, { from: start, to: end }) };
      this.#open = this.#isDescending
        ? addBefore(this.#open ?? openColumn(number, run), run)
        : addBehind(this.#open ?? openColumn(number, run), run);
      if (this.#isDescending) end = run.from;
      else start = run.to;
    }
  }

  #close(open: OpenColumn): void {
    this.points.push(...selectedPoints(open, this.#isDescending));
    this.#open = undefined;
  }

  /** What arrives while this is read may lie outside of the span. */
  #numberOf(ms: number): number {
    return Math.max(0, Math.min(this.#columns - 1, Math.floor((ms - this.#span.fromMs) / this.#widthMs)));
  }

  /** The first index behind `from` that is of a later column. */
  #endOf(number: number, { at }: Columns, { from, to }: { readonly from: number; readonly to: number }): number {
    return firstWhere(from + 1, to, (index) => this.#numberOf(at[index] as number) > number);
  }

  /** The first index of those before `to` that is of this column. */
  #beginOf(number: number, { at }: Columns, { from, to }: { readonly from: number; readonly to: number }): number {
    return firstWhere(from, to - 1, (index) => this.#numberOf(at[index] as number) >= number);
  }
}

/** One to four datapoints, in the order in which they are to be given out. */
export function selectedPoints({ first, lowest, highest, last }: OpenColumn, descending: boolean): Datapoint[] {
  const isSwapped = lowest !== undefined && highest !== undefined && lowest.position > highest.position;
  const points: Datapoint[] = [];
  let position = Number.NEGATIVE_INFINITY;
  for (const chosen of isSwapped ? [first, highest, lowest, last] : [first, lowest, highest, last]) {
    // One may be several of them.
    if (chosen === undefined || chosen.position === position) continue;
    position = chosen.position;
    points.push(chosen.point);
  }
  return descending ? points.reverse() : points;
}

/** The first index at which it holds, from which on it does; `to` where there is none. */
function firstWhere(from: number, to: number, holds: (index: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function openColumn(number: number, { columns, from }: Slice): OpenColumn {
  const some = { point: datapointAt(columns, from), position: 0 };
  const extremes = { min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };
  return { number, first: some, last: some, lowest: undefined, highest: undefined, ...extremes, count: 0 };
}

/** Takes in datapoints that lie behind those of the column. */
function addBehind(open: OpenColumn, { columns, from, to }: Slice): OpenColumn {
  const chosen = (index: number) => ({ point: datapointAt(columns, index), position: open.count + index - from });
  const { low, high } = extremesOf(columns.values, { from, to });
  if (low >= 0 && (columns.values[low] as number) < open.min) {
    open.min = columns.values[low] as number;
    open.lowest = chosen(low);
  }
  if (high >= 0 && (columns.values[high] as number) > open.max) {
    open.max = columns.values[high] as number;
    open.highest = chosen(high);
  }
  if (open.count === 0) open.first = chosen(from);
  open.last = chosen(to - 1);
  open.count += to - from;
  return open;
}

/** Takes in datapoints that lie before those of the column. */
function addBefore(open: OpenColumn, { columns, from, to }: Slice): OpenColumn {
  const chosen = (index: number) => ({ point: datapointAt(columns, index), position: index - to - open.count });
  const { low, high } = extremesOf(columns.values, { from, to });
  if (low >= 0 && (columns.values[low] as number) <= open.min) {
    open.min = columns.values[low] as number;
    open.lowest = chosen(low);
  }
  if (high >= 0 && (columns.values[high] as number) >= open.max) {
    open.max = columns.values[high] as number;
    open.highest = chosen(high);
  }
  if (open.count === 0) open.last = chosen(to - 1);
  open.first = chosen(from);
  open.count += to - from;
  return open;
}

/** Where the least and the greatest number are, the earliest of them; -1 where there is no number. */
function extremesOf(
  values: Float64Array,
  { from, to }: { readonly from: number; readonly to: number },
): { readonly low: number; readonly high: number } {
  let [low, high] = [-1, -1];
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let index = from; index < to; index++) {
    // What is no number is neither below nor above.
    const value = values[index] as number;
    if (value < min) {
      min = value;
      low = index;
    }
    if (value > max) {
      max = value;
      high = index;
    }
  }
  return { low, high };
}
