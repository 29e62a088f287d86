// A value as a column stores it: a number as REAL, JSON as text. SQLite makes a REAL of what a REAL column is given as
// the text of a number, so a number that no double carries is stored as a blob with its text; and -0.0, which SQLite
// stores as 0, as an empty blob.
import { doubleOfText } from '../../../base/text/exact-number.ts';
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';

export type ValueColumn = StoredValue | Uint8Array;

const negativeZero = new Uint8Array(0);

/** A value as the column stores it. */
export function toColumn(value: StoredValue): ValueColumn {
  if (typeof value === 'string') return Number.isNaN(doubleOfText(value)) ? value : Buffer.from(value);
  return value === 0 && Object.is(value, -0) ? negativeZero : value;
}

/** A value as it was before `toColumn`. */
export function fromColumn(column: ValueColumn): StoredValue {
  if (typeof column !== 'object') return column;
  return column.length === 0 ? -0 : Buffer.from(column).toString('latin1');
}
