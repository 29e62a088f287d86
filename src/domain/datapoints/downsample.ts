// A picture-true choice of at most N datapoints by the method M4 (Jugel, Jerzak, Hackenbroich, Markl: "M4: a
// visualization-oriented time series data aggregation", VLDB 2014): the span is cut into N/4 columns of equal time, and
// of each column its first, lowest, highest and last datapoint stay. A line through them covers the same pixels of a
// chart that many columns wide, and keeps the extremes and both ends. One pass, constant memory.
// A value that is no number is neither lowest nor highest; it stays as the first or last of its column.
import { type Columns, datapointAt } from './columns.ts';
import type { Datapoint } from './datapoint.ts';

/** Fewer cannot hold the extremes and both ends. */
export const pointsMin = 4;

export interface Span {
  /** Times of the first and last datapoint. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** Chooses among datapoints that come in order of time, ascending or descending. */
export async function* downsample(
  steps: AsyncGenerator<Columns>,
  options: { readonly points: number; readonly span: Span },
): AsyncGenerator<Datapoint[]> {
  const { fromMs, toMs } = options.span;
  const columnsOfTime = Math.max(1, Math.floor(options.points / pointsMin));
  const widthMs = Math.max((toMs - fromMs) / columnsOfTime, Number.MIN_VALUE);
  // What arrives while this is read may lie outside of the span.
  const numberOf = (ms: number) => Math.max(0, Math.min(columnsOfTime - 1, Math.floor((ms - fromMs) / widthMs)));
  let open: Column | undefined;
  for await (const columns of steps) {
    const chosen: Datapoint[] = [];
    for (let from = 0; from < columns.count; ) {
      const number = numberOf(columns.at[from] as number);
      let to = from + 1;
      while (to < columns.count && numberOf(columns.at[to] as number) === number) to += 1;
      if (open !== undefined && open.number !== number) {
        chosen.push(...open.chosen());
        open = undefined;
      }
      open ??= new Column(number, datapointAt(columns, from));
      open.add(columns, from, to);
      from = to;
    }
    if (chosen.length > 0) yield chosen;
  }
  if (open !== undefined) yield open.chosen();
}

/** A datapoint that was chosen, and which of its column it is, counted as they come. */
interface Chosen {
  readonly point: Datapoint;
  readonly place: number;
}

class Column {
  readonly number: number;
  readonly #first: Chosen;
  #last: Chosen;
  #lowest: Chosen | undefined;
  #highest: Chosen | undefined;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(number: number, point: Datapoint) {
    this.number = number;
    this.#first = { point, place: 0 };
    this.#last = this.#first;
  }

  /** Looks at the datapoints from one index up to another. */
  add(columns: Columns, from: number, to: number): void {
    const { values } = columns;
    let [lowest, highest, min, max] = [-1, -1, this.#min, this.#max];
    for (let index = from; index < to; index++) {
      // What is no number is neither below nor above.
      const value = values[index] as number;
      if (value < min) {
        min = value;
        lowest = index;
      }
      if (value > max) {
        max = value;
        highest = index;
      }
    }
    const chosen = (index: number) => ({ point: datapointAt(columns, index), place: this.#count + index - from });
    if (lowest >= 0) this.#lowest = chosen(lowest);
    if (highest >= 0) this.#highest = chosen(highest);
    this.#last = chosen(to - 1);
    this.#min = min;
    this.#max = max;
    this.#count += to - from;
  }

  /** One to four datapoints in the order in which they came. */
  chosen(): Datapoint[] {
    const all = [this.#first, this.#lowest, this.#highest, this.#last].filter((one) => one !== undefined);
    const byPlace = new Map(all.map(({ point, place }) => [place, point]));
    return [...byPlace].sort(([a], [b]) => a - b).map(([, point]) => point);
  }
}
