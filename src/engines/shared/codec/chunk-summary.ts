// The summary of a chunk's datapoints in its table row: span and count for reads, extremes and sum for people who look
// into the file and for `dundun check`. Computed when the chunk is written.
import type { Columns } from '../../../domain/datapoints/columns.ts';

export interface ChunkSummary {
  /** Number of datapoints. */
  readonly count: number;
  /** The earliest and the latest time, in milliseconds since 1970 UTC. */
  readonly first: number;
  readonly last: number;
  /** Of the values that are numbers: their count, minimum, maximum, and sum (added in the order of the datapoints). */
  readonly numbers: number;
  /** NaN where the chunk has no numbers; likewise `max`. */
  readonly min: number;
  readonly max: number;
  readonly sum: number;
}

/** `first` and `last` are the earliest and the latest time, NaN where there are no datapoints. */
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
    // Negated, so that the first number replaces NaN.
    if (!(value >= min)) min = value;
    if (!(value <= max)) max = value;
    sum += value;
    numbers += 1;
  }
  return { count, first, last, numbers, min, max, sum };
}
