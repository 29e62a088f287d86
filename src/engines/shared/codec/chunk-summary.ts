// What a chunk's row says of its datapoints: where it lies and how many it holds, for reads; their extremes and sum, for
// whoever looks into the file, and for `dundun check`. Computed when a chunk is written; must equal what the datapoints give.
import type { Columns } from '../../../domain/datapoints/columns.ts';

/** Of the values that are numbers: how many, and their least, greatest and sum (added in the order of the datapoints). */
export interface ChunkSummary {
  readonly count: number;
  readonly first: number;
  readonly last: number;
  readonly numbers: number;
  /** NaN where there is no number; so is `max`. */
  readonly min: number;
  readonly max: number;
  readonly sum: number;
}

/** `first` and `last` are the least and the greatest time, NaN where there are no datapoints. */
export function summarize(columns: Columns): ChunkSummary {
  const { count, at, values } = columns;
  let first = Number.NaN;
  let last = Number.NaN;
  let numbers = 0;
  let min = Number.NaN;
  let max = Number.NaN;
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const time = at[i]!;
    if (!(time >= first)) first = time;
    if (!(time <= last)) last = time;
    const value = values[i]!;
    if (Number.isNaN(value)) continue;
    // Written so that the first number takes the place of NaN.
    if (!(value >= min)) min = value;
    if (!(value <= max)) max = value;
    sum += value;
    numbers += 1;
  }
  return { count, first, last, numbers, min, max, sum };
}
