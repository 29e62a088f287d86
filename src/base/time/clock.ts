// The only source of time of the service (I8), so that tests can set the clock. The wall clock may jump, whether a person,
// NTP or a sleep of the machine moves it; the monotonic one measures how much time has passed in this process.

/** The present time; passed to every part that needs it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z, by the wall clock: it may jump, ahead and back. */
  now(): number;
  /**
   * Milliseconds that have passed since some moment before the start, by the monotonic clock: it never goes back, and on
   * most systems stands still while the machine sleeps. For whatever is measured within the process.
   */
  elapsedMs(): number;
}

/** The clocks of the machine. */
export const systemClock: Clock = { now: () => Date.now(), elapsedMs: () => performance.now() };

/** A clock that changes only when it is advanced or set; for tests. */
export class TurnedClock implements Clock {
  #nowMs: number;
  #elapsedMs = 0;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** Lets so much time pass. */
  advance(ms: number): void {
    this.#nowMs += ms;
    this.#elapsedMs += ms;
  }

  /** Sets the wall clock alone ahead by `ms`, or back where that is negative: no time passes. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }
}
