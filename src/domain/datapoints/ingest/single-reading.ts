// The reading of a push that has one, a number, as most have. It is its own list: an array and an object for each would be
// half of what a push leaves to the garbage collector.
import type { Reading, Readings } from './reading.ts';

export class SingleReading implements Reading, Readings {
  readonly value: number;
  readonly timestampMs: number;

  constructor(value: number, timestampMs: number) {
    this.value = value;
    this.timestampMs = timestampMs;
  }

  get length(): number {
    return 1;
  }

  at(index: number): Reading | undefined {
    return index === 0 || index === -1 ? this : undefined;
  }

  map<T>(of: (reading: Reading, index: number) => T): T[] {
    return [of(this, 0)];
  }

  [Symbol.iterator](): Iterator<Reading> {
    return [this][Symbol.iterator]();
  }
}
