// A value as a column stores it: a number as REAL, JSON as text. SQLite stores -0.0 in a REAL column as 0, so -0.0 is
// stored as an empty blob, which no other value uses.
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';

export type ValueColumn = StoredValue | Uint8Array;

const negativeZero = new Uint8Array(0);

/** A number as the column stores it. */
export function toColumn(value: number): number | Uint8Array {
  return value === 0 && Object.is(value, -0) ? negativeZero : value;
}

/** A value as it was before `toColumn`. */
export function fromColumn(column: ValueColumn): StoredValue {
  return typeof column === 'object' ? -0 : column;
}
