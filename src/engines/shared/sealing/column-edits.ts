// Removes and corrects datapoints in the columns of a chunk. Pure.
import { lowerBound, upperBound } from '../../../base/sorted-numbers.ts';
import { type Columns, type Slice, valueAt } from '../../../domain/datapoints/columns.ts';
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import type { SeriesCorrection, SeriesRemoval } from '../../../domain/ports/series.ts';
import { isSameValue } from '../log/piece-edits.ts';

/** The datapoints that stay, as slices. */
export function keptOf(columns: Columns, { fromMs, toMs, value }: SeriesRemoval): Slice[] {
  const { at, count } = columns;
  const start = lowerBound(at, fromMs, 0, count);
  const end = upperBound(at, toMs, start, count);
  const kept: Slice[] = [];
  let from = 0;
  for (let index = start; index < end; index++) {
    if (!isSameValue(valueAt(columns, index), value)) continue;
    if (index > from) kept.push({ columns, from, to: index });
    from = index + 1;
  }
  if (from < count) kept.push({ columns, from, to: count });
  return kept;
}

/** The indexes of the datapoints that a correction may mean. */
export function indexesOf(
  columns: Columns,
  { atMs, receivedMs }: Pick<SeriesCorrection, 'atMs' | 'receivedMs'>,
): number[] {
  const found: number[] = [];
  const end = upperBound(columns.at, atMs, 0, columns.count);
  for (let index = lowerBound(columns.at, atMs, 0, end); index < end; index++) {
    if (receivedMs === undefined || columns.received[index] === receivedMs) found.push(index);
  }
  return found;
}

/** The columns with another value at an index. */
export function withValue(columns: Columns, index: number, value: StoredValue): Columns {
  const values = columns.values.slice();
  const texts = new Map(columns.texts);
  texts.delete(index);
  values[index] = typeof value === 'number' ? value : Number.NaN;
  if (typeof value === 'string') texts.set(index, value);
  return { ...columns, values, texts: texts.size === 0 ? undefined : texts };
}

/** The index of the datapoint that was received last; of those received at once, the last one. */
export function lastReceivedIndex({ received, count }: Columns): number {
  let index = 0;
  for (let n = 1; n < count; n++) if ((received[n] as number) >= (received[index] as number)) index = n;
  return index;
}
