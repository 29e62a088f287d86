// The readings of one push if all are numbers, in two arrays: a push may have 30 000, and an object for each would
// cost more.
import type { Reading, Readings } from './reading.ts';

export class PlainReadings implements Readings {
  readonly values: Float64Array;
  /** Milliseconds since 1970 UTC, NaN where the sender had no clock. */
  readonly timestamps: Float64Array;

  constructor(values: Float64Array, timestamps: Float64Array) {
    this.values = values;
    this.timestamps = timestamps;
  }

  get length(): number {
    return this.values.length;
  }

  at(index: number): Reading | undefined {
    if (index >= this.values.length) return undefined;
    return { value: this.values[index] as number, timestampMs: this.timestamps[index] as number };
  }

  map<T>(of: (reading: Reading, index: number) => T): T[] {
    return Array.from({ length: this.length }, (_, index) => of(this.at(index) as Reading, index));
  }

  *[Symbol.iterator](): Generator<Reading> {
    for (let index = 0; index < this.length; index++) yield this.at(index) as Reading;
  }
}
