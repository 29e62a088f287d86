// Leaves time to sealing while it is behind: it has a low priority, and gets next to none of a core that pushes keep busy.
// Without a pause the log would grow until it is full, and every push would wait until a whole pass has ended. Called by the
// writer between commits.
import { type PacingTimer, timer } from './commit-pacing.ts';

export class SealingPause {
  readonly #msMax: number;
  readonly #timer: PacingTimer;
  #busySinceMs = Number.NEGATIVE_INFINITY;

  /** @param msMax of a pause, in milliseconds. */
  constructor(msMax: number, time = timer) {
    this.#msMax = msMax;
    this.#timer = time;
  }

  /** Commits begin after a rest: that was no work. */
  begin(): void {
    this.#busySinceMs = this.#timer.now();
  }

  /**
   * Waits between two commits.
   * @param debt how far sealing is behind, from 0 to 1: the share of the time that it is left.
   */
  async wait(debt: number): Promise<void> {
    if (debt > 0) {
      const busyMs = this.#timer.now() - this.#busySinceMs;
      await this.#timer.sleep(Math.min(this.#msMax, (busyMs * debt) / Math.max(1 - debt, Number.EPSILON)));
    }
    this.#busySinceMs = this.#timer.now();
  }
}
