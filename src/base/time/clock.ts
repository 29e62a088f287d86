// Time comes into the service through here alone (I8), so that a test can turn the clock.

/** Tells the time. Every part that needs "now" is given one. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
}

/** The clock of the machine. */
export const systemClock: Clock = { now: () => Date.now() };

/** A clock that stands still until it is turned; for tests. */
export class TurnedClock implements Clock {
  #nowMs: number;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  /** Moves the hands forward by `ms`. */
  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
