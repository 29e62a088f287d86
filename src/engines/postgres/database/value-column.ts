// A value as two columns store it: a number as a double, anything else as JSON text.
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';

/** A value as two columns have it: a number, or a text. As a parameter, -0 would become 0. */
export function toColumns(value: StoredValue): { readonly number: number | '-0' | null; readonly text: string | null } {
  if (typeof value !== 'number') return { number: null, text: value };
  return { number: Object.is(value, -0) ? '-0' : value, text: null };
}

export function fromColumns({ number, text }: { number: number | null; text: string | null }): StoredValue {
  return text ?? (number as number);
}
