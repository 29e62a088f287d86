// Datapoints of one sensor in columns. Stores handle so many that an object for each would cost more than everything
// else done with it. Made by engines, used by readers of history.
import { doubleOfText } from '../../base/text/exact-number.ts';
import { type Datapoint, orderOf, type StoredValue } from './datapoint.ts';

/** Datapoints of one sensor in the order (time, arrival), or in reverse order where the read asked for that. */
export interface Columns {
  readonly count: number;
  /**
   * The time that orders them: the timestamp, or the time of receiving where there is none; milliseconds since 1970
   * UTC.
   */
  readonly at: Float64Array;
  /** When the service received each, milliseconds since 1970 UTC; empty where the read did not ask for it. */
  readonly received: Float64Array;
  /**
   * 1 where the datapoint has a timestamp; 0 where `at` is the time of receiving. Empty where the read did not ask
   * for it.
   */
  readonly stamped: Uint8Array;
  /** The double; NaN for other values, whose JSON text is in `texts` under the same index. */
  readonly values: Float64Array;
  /** JSON texts of the values that no double carries, by index; undefined where there are none. */
  readonly texts: ReadonlyMap<number, string> | undefined;
  /**
   * Order of arrival over all sensors; 0 where a datapoint's is no longer known, absent where it is unknown for all.
   */
  readonly seqs?: Float64Array;
}

/** The datapoints of `columns` from index `from` up to, but without, index `to`. */
export interface Slice {
  readonly columns: Columns;
  readonly from: number;
  readonly to: number;
}

/** The stored value at an index. */
export function valueAt({ values, texts }: Pick<Columns, 'values' | 'texts'>, index: number): StoredValue {
  const number = values[index] as number;
  return Number.isNaN(number) && texts !== undefined ? (texts.get(index) as string) : number;
}

/** The double to compute with: also that nearest to a number which is kept as its text; NaN for other values. */
export function doubleAt({ values, texts }: Pick<Columns, 'values' | 'texts'>, index: number): number {
  const number = values[index] as number;
  return Number.isNaN(number) && texts !== undefined ? doubleOfText(texts.get(index)) : number;
}

/** The datapoint at an index. */
export function datapointAt(columns: Columns, index: number): Datapoint {
  const at = columns.at[index] as number;
  return {
    timestampMs: columns.stamped[index] === 1 ? at : undefined,
    receivedMs: columns.received[index] as number,
    value: valueAt(columns, index),
  };
}

/** Copies columns into objects, in the same order. */
export function datapointsOf(columns: Columns): Datapoint[] {
  const points: Datapoint[] = new Array(columns.count);
  for (let index = 0; index < columns.count; index++) points[index] = datapointAt(columns, index);
  return points;
}

/** Estimated bytes in memory. */
export function bytesOfColumns({ count, texts }: Columns): number {
  let bytes = count * bytesOfRow;
  if (texts !== undefined) for (const text of texts.values()) bytes += text.length * 2 + 50;
  return bytes;
}

/** Bytes of a datapoint without its text. */
export const bytesOfRow = 25;

/** Copies datapoints into columns, in the order given. */
export function columnsOf(points: readonly Datapoint[]): Columns {
  const columns = makeColumns(points.length);
  const texts = new Map<number, string>();
  for (const [index, point] of points.entries()) {
    columns.at[index] = orderOf(point);
    columns.received[index] = point.receivedMs;
    columns.stamped[index] = point.timestampMs === undefined ? 0 : 1;
    columns.values[index] = typeof point.value === 'number' ? point.value : Number.NaN;
    if (typeof point.value === 'string') texts.set(index, point.value);
  }
  return { ...columns, texts: texts.size === 0 ? undefined : texts };
}

/** Columns for so many datapoints. */
export function makeColumns(count: number): Omit<Columns, 'texts'> {
  return {
    count,
    at: new Float64Array(count),
    received: new Float64Array(count),
    stamped: new Uint8Array(count),
    values: new Float64Array(count),
  };
}

/** The buffers of columns that own them, for transfer to another thread. */
export function buffersOf({ at, received, stamped, values, seqs }: Columns): ArrayBuffer[] {
  const arrays = seqs === undefined ? [at, received, stamped, values] : [at, received, stamped, values, seqs];
  return arrays.map(({ buffer }) => buffer as ArrayBuffer);
}
