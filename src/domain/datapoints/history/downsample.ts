// Chooses at most N datapoints that draw the same line chart, by the method M4 (Jugel, Jerzak, Hackenbroich, Markl:
// "M4: a visualization-oriented time series data aggregation", VLDB 2014). The span is cut into N/4 columns of equal
// time, and the first, lowest, highest and last datapoint of each column are kept. A line through them covers the
// same pixels of a chart with that many columns, and keeps the extremes and both ends. One pass, constant memory. A
// value that is not a number is never lowest or highest, but may be first or last. Of equal extremes the earliest is
// kept.
import { type Columns, datapointAt, doubleAt, type Slice } from '../columns.ts';
import type { Datapoint } from '../datapoint.ts';

/** Fewer points could not include the extremes and both ends. */
export const pointsMin = 4;

export interface Span {
  /** Times of the first and the last datapoint. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** A chosen datapoint and its position within its column. */
interface Chosen {
  readonly point: Datapoint;
  readonly position: number;
}

/** A column that may get more datapoints. Plain data, so that it can be sent to another thread. */
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

/**
 * Chooses datapoints from slices. Slices come in ascending order of time or, if `descending`, the latest slice first.
 */
export class Downsampling {
  /** Datapoints chosen from finished columns, in the order of the answer. */
  readonly points: Datapoint[] = [];
  readonly #isDescending: boolean;
  readonly #span: Span;
  readonly #columns: number;
  readonly #widthMs: number;
  #open: OpenColumn | undefined;

  /** @param query `points`: how many to choose at most; `open`: the unfinished column of the previous step. */
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

  /** The last column, which the next step may continue. */
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

  /**
   * The column of a time. Datapoints that arrive during the read may lie outside the span; they go to its outer
   * columns.
   */
  #numberOf(ms: number): number {
    return Math.max(0, Math.min(this.#columns - 1, Math.floor((ms - this.#span.fromMs) / this.#widthMs)));
  }

  /** The index behind the datapoints of this column that begin at `from`; `to` where they reach it. */
  #endOf(number: number, { at }: Columns, { from, to }: { readonly from: number; readonly to: number }): number {
    return firstWhere(from + 1, to, (index) => this.#numberOf(at[index] as number) > number);
  }

  /** The first index of this column among the datapoints before `to`. */
  #beginOf(number: number, { at }: Columns, { from, to }: { readonly from: number; readonly to: number }): number {
    return firstWhere(from, to - 1, (index) => this.#numberOf(at[index] as number) >= number);
  }
}

/** The chosen datapoints of a column, one to four, in the order of the answer. */
export function selectedPoints({ first, lowest, highest, last }: OpenColumn, descending: boolean): Datapoint[] {
  const isSwapped = lowest !== undefined && highest !== undefined && lowest.position > highest.position;
  const points: Datapoint[] = [];
  let position = Number.NEGATIVE_INFINITY;
  for (const chosen of isSwapped ? [first, highest, lowest, last] : [first, lowest, highest, last]) {
    // One datapoint may have several roles.
    if (chosen === undefined || chosen.position === position) continue;
    position = chosen.position;
    points.push(chosen.point);
  }
  return descending ? points.reverse() : points;
}

/** Binary search for the first index at which `holds` is true; `to` where there is none. */
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

/** Adds datapoints that follow those of the column. */
function addBehind(open: OpenColumn, { columns, from, to }: Slice): OpenColumn {
  const chosen = (index: number) => ({ point: datapointAt(columns, index), position: open.count + index - from });
  const { low, high } = extremesOf({ columns, from, to });
  if (low >= 0 && doubleAt(columns, low) < open.min) {
    open.min = doubleAt(columns, low);
    open.lowest = chosen(low);
  }
  if (high >= 0 && doubleAt(columns, high) > open.max) {
    open.max = doubleAt(columns, high);
    open.highest = chosen(high);
  }
  if (open.count === 0) open.first = chosen(from);
  open.last = chosen(to - 1);
  open.count += to - from;
  return open;
}

/** Adds datapoints that precede those of the column. Of equal extremes the new one is kept, because it is earlier. */
function addBefore(open: OpenColumn, { columns, from, to }: Slice): OpenColumn {
  const chosen = (index: number) => ({ point: datapointAt(columns, index), position: index - to - open.count });
  const { low, high } = extremesOf({ columns, from, to });
  if (low >= 0 && doubleAt(columns, low) <= open.min) {
    open.min = doubleAt(columns, low);
    open.lowest = chosen(low);
  }
  if (high >= 0 && doubleAt(columns, high) >= open.max) {
    open.max = doubleAt(columns, high);
    open.highest = chosen(high);
  }
  if (open.count === 0) open.last = chosen(to - 1);
  open.first = chosen(from);
  open.count += to - from;
  return open;
}

/** Indexes of the lowest and the highest number, the earliest of each; -1 where there is no number. */
function extremesOf({ columns, from, to }: Slice): { readonly low: number; readonly high: number } {
  const { values, texts } = columns;
  let [low, high] = [-1, -1];
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let index = from; index < to; index++) {
    // NaN, which stands for other values, compares as neither below nor above.
    const value = texts === undefined ? (values[index] as number) : doubleAt(columns, index);
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
