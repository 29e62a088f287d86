// The only source of time of the service (I8), so that tests can set the clock.

/** The present time; passed to every part that needs it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
}

/** The clock of the machine. */
export const systemClock: Clock = { now: () => Date.now() };

/** A clock that changes only when it is advanced; for tests. */
export class TurnedClock implements Clock {
  #nowMs: number;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  /** Advances the time by `ms`. */
  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
