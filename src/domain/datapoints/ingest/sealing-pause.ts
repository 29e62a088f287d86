// Leaves time to sealing while it is behind: it has a low priority, and gets next to none of a core that pushes keep busy.
// Without a pause the log would grow until it is full, and every push would wait until a whole pass has ended. Called by the
// writer around each commit.

/** Time in milliseconds; tests provide their own. */
export interface BusyTimer {
  now(): number;
  /** How long this thread has been busy since it began. */
  activeMs(): number;
  sleep(ms: number): Promise<void>;
}

const timer: BusyTimer = {
  now: () => performance.now(),
  activeMs: () => performance.eventLoopUtilization().active,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

export class SealingPause {
  readonly #msMax: number;
  readonly #timer: BusyTimer;
  /**
   * From when on time is shared, how long the thread had been busy then, and how long commits have been under way since while it
   * was not.
   */
  #sinceMs = Number.NEGATIVE_INFINITY;
  #activeMs = 0;
  #storingMs = 0;

  /** @param msMax of a pause, in milliseconds. */
  constructor(msMax: number, time = timer) {
    this.#msMax = msMax;
    this.#timer = time;
  }

  /** Stores a commit: that is no rest. */
  async storing<T>(work: () => Promise<T>): Promise<T> {
    const beganMs = this.#timer.now();
    const activeMs = this.#timer.activeMs();
    try {
      return await work();
    } finally {
      this.#storingMs += this.#timer.now() - beganMs - (this.#timer.activeMs() - activeMs);
    }
  }

  /**
   * Waits before a commit, until sealing has had its share of the time since the last pause. What neither this thread nor the
   * disk was busy for it has had already.
   * @param debt how far sealing is behind, from 0 to 1: its share.
   */
  async wait(debt: number): Promise<void> {
    let workedMs = 0;
    if (debt > 0) {
      const elapsedMs = this.#timer.now() - this.#sinceMs;
      const busyMs = Math.min(elapsedMs, this.#timer.activeMs() - this.#activeMs + this.#storingMs);
      const pauseMs = Math.min(this.#msMax, (busyMs * debt) / Math.max(1 - debt, Number.EPSILON));
      const leftMs = pauseMs - (elapsedMs - busyMs);
      if (leftMs >= 1) workedMs = await this.#sleep(leftMs);
    }
    this.#sinceMs = this.#timer.now() - workedMs;
    this.#activeMs = this.#timer.activeMs() - workedMs;
    this.#storingMs = 0;
  }

  /** @returns for how much of it the thread was busy. */
  async #sleep(ms: number): Promise<number> {
    const activeMs = this.#timer.activeMs();
    await this.#timer.sleep(ms);
    return this.#timer.activeMs() - activeMs;
  }
}
