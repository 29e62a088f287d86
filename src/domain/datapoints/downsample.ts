// A picture-true choice of at most N datapoints by the method M4 (Jugel, Jerzak, Hackenbroich, Markl: "M4: a
// visualization-oriented time series data aggregation", VLDB 2014): the span is cut into N/4 columns of equal time, and
// of each column its first, lowest, highest and last datapoint stay. A line through them covers the same pixels of a
// chart that many columns wide, and keeps the extremes and both ends. One pass, constant memory.
// A value that is no number is neither lowest nor highest; it stays as the first or last of its column.
import { type Datapoint, orderOf } from './datapoint.ts';

/** Fewer cannot hold the extremes and both ends. */
export const pointsMin = 4;

export interface Span {
  /** Times of the first and last datapoint. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Chooses among datapoints that come in order of time, ascending or descending. */
export async function* downsample(
  steps: AsyncGenerator<Datapoint[]>,
  options: { readonly points: number; readonly span: Span },
): AsyncGenerator<Datapoint[]> {
  const { fromMs, toMs } = options.span;
  const columns = Math.max(1, Math.floor(options.points / pointsMin));
  const widthMs = Math.max((toMs - fromMs) / columns, Number.MIN_VALUE);
  let column: Column | undefined;
  for await (const points of steps) {
    const chosen: Datapoint[] = [];
    for (const point of points) {
      // What arrives while this is read may lie outside of the span.
      const number = Math.max(0, Math.min(columns - 1, Math.floor((orderOf(point) - fromMs) / widthMs)));
      if (column?.number === number) column.add(point);
      else {
        if (column !== undefined) chosen.push(...column.chosen());
        column = new Column(number, point);
      }
    }
    if (chosen.length > 0) yield chosen;
  }
  if (column !== undefined) yield column.chosen();
}

class Column {
  readonly number: number;
  readonly #first: Datapoint;
  #last: Datapoint;
  #lowest: Datapoint | undefined;
  #highest: Datapoint | undefined;
  /** Places of the lowest and the highest, to give them out in order. */
  #lowestAt = 0;
  #highestAt = 0;
  #count = 0;

  constructor(number: number, point: Datapoint) {
    this.number = number;
    this.#first = point;
    this.#last = point;
    this.add(point);
  }

  add(point: Datapoint): void {
    this.#count += 1;
    this.#last = point;
    const { value } = point;
    if (typeof value !== 'number') return;
    if (this.#lowest === undefined || value < (this.#lowest.value as number)) {
      this.#lowest = point;
      this.#lowestAt = this.#count;
    }
    if (this.#highest === undefined || value > (this.#highest.value as number)) {
      this.#highest = point;
      this.#highestAt = this.#count;
    }
  }

  /** One to four datapoints in the order in which they came. */
  chosen(): Datapoint[] {
    const inner = this.#lowestAt <= this.#highestAt ? [this.#lowest, this.#highest] : [this.#highest, this.#lowest];
    const all = [this.#first, ...inner, this.#last].filter((point) => point !== undefined);
    return all.filter((point, place) => all.indexOf(point) === place);
  }
}
