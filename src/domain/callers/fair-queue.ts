// A queue for work of which only a few pieces run at once; callers take turns, so one with much work waits for itself.
// Used for password hashes and long reads. Work of one caller keeps its order; the queue is bounded and shared among
// callers.
import type { Caller } from './caller.ts';
import type { FairShare } from './fair-share.ts';

export class FairQueue {
  readonly #share: FairShare;
  readonly #atOnceMax: number;
  /** Waiting work by caller; the first caller is next. */
  readonly #waiting = new Map<Caller, (() => void)[]>();
  #running = 0;

  constructor(options: { readonly share: FairShare; readonly atOnceMax: number }) {
    this.#share = options.share;
    this.#atOnceMax = options.atOnceMax;
  }

  /**
   * Resolves when it is the caller's turn. Each `acquire` that resolves to true needs one `release`.
   * @param isBegun true for a further step of work that has begun: it is queued whatever the caller's share.
   * @returns false when too much work of the caller waits already.
   */
  async acquire(caller: Caller, { isBegun = false } = {}): Promise<boolean> {
    if (this.#running < this.#atOnceMax) {
      this.#running += 1;
      return true;
    }
    if (isBegun) this.#share.force(caller, 1);
    else if (!this.#share.take(caller, 1)) return false;
    await new Promise<void>((resolve) => {
      const ofCaller = this.#waiting.get(caller);
      if (ofCaller === undefined) this.#waiting.set(caller, [resolve]);
      else ofCaller.push(resolve);
    });
    return true;
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [caller, waiting] = next;
    this.#waiting.delete(caller);
    const resume = waiting.shift();
    // The caller goes to the end of the order.
    if (waiting.length > 0) this.#waiting.set(caller, waiting);
    this.#share.release(caller, 1);
    resume?.();
  }
}
