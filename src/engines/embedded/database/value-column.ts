// A value as the engine keeps it: a number as REAL, JSON text as text. SQLite keeps -0.0 in a column of REAL as 0, so
// that one number is kept as an empty blob, which no value is otherwise.
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';

export type ValueColumn = StoredValue | Uint8Array;

const negativeZero = new Uint8Array(0);

export function toColumn(value: number): number | Uint8Array {
  return value === 0 && Object.is(value, -0) ? negativeZero : value;
}

export function fromColumn(column: ValueColumn): StoredValue {
  return typeof column === 'object' ? -0 : column;
}
