// How much time of the main thread a caller used lately, in milliseconds. Past use counts half after each half-life
// (`recentWorkHalfLifeMs`). Read and changed by loop-turns.ts.
import { limits } from '../../config/limits.ts';

export class RecentWork {
  #ms = 0;
  #atMs = 0;

  add(ms: number, nowMs: number): void {
    this.#ms = this.#msAt(nowMs) + ms;
    this.#atMs = nowMs;
  }

  /** Whether the caller used so much that callers with less go first. */
  isMuch(nowMs: number): boolean {
    return this.#ms > limits.recentWorkMsMax && this.#msAt(nowMs) > limits.recentWorkMsMax;
  }

  #msAt(nowMs: number): number {
    return this.#ms * 2 ** ((this.#atMs - nowMs) / limits.recentWorkHalfLifeMs);
  }
}
