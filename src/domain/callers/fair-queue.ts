// A queue for work of which only a few pieces run at once; callers take turns, so one with much work waits for itself.
// Used for password hashes and long reads. Work of one caller keeps its order; the queue is bounded and shared among
// callers, and where it says so nobody waits for longer than a while.
import { limits } from '../../config/limits.ts';
import type { Caller } from './caller.ts';
import type { FairShare } from './fair-share.ts';

interface QueuedWork {
  /** Called with true when it is its turn. */
  readonly resolve: (isTurn: boolean) => void;
  readonly isGone: (() => boolean) | undefined;
  readonly timer: NodeJS.Timeout | undefined;
}

export class FairQueue {
  readonly #share: FairShare;
  readonly #atOnceMax: number;
  readonly #waitMsMax: number | undefined;
  /** Waiting work by caller; the first caller is next. */
  readonly #waiting = new Map<Caller, QueuedWork[]>();
  #running = 0;
  #sweptAtMs = Number.NEGATIVE_INFINITY;

  /** @param options `waitMsMax`: how long work waits before it is turned away; undefined: until its turn comes. */
  constructor(options: { readonly share: FairShare; readonly atOnceMax: number; readonly waitMsMax?: number }) {
    this.#share = options.share;
    this.#atOnceMax = options.atOnceMax;
    this.#waitMsMax = options.waitMsMax;
  }

  /**
   * Resolves when it is the caller's turn. Each `acquire` that resolves to true needs one `release`.
   * @param options `isBegun`: true for a further step of work that has begun, which is queued whatever the caller's share;
   * `isGone`: whether nobody waits for the work any more, so that its place may be given to other work.
   * @returns false when too much work of the caller waits already, or the work has waited for too long.
   */
  async acquire(
    caller: Caller,
    { isBegun = false, isGone }: { readonly isBegun?: boolean; readonly isGone?: (() => boolean) | undefined } = {},
  ): Promise<boolean> {
    if (this.#running < this.#atOnceMax) {
      this.#running += 1;
      return true;
    }
    if (isBegun) this.#share.force(caller, 1);
    else if (!this.#takePlace(caller)) return false;
    return new Promise<boolean>((resolve) => {
      const ms = this.#waitMsMax;
      const timer = ms === undefined ? undefined : setTimeout(() => this.#drop(caller, waiting), ms).unref();
      const waiting: QueuedWork = { resolve, isGone, timer };
      const ofCaller = this.#waiting.get(caller);
      if (ofCaller === undefined) this.#waiting.set(caller, [waiting]);
      else ofCaller.push(waiting);
    });
  }

  /** Ends a piece of work and begins the next caller's. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [caller, ofCaller] = next;
    this.#waiting.delete(caller);
    const waiting = ofCaller.shift();
    // The caller goes to the end of the order.
    if (ofCaller.length > 0) this.#waiting.set(caller, ofCaller);
    this.#share.release(caller, 1);
    clearTimeout(waiting?.timer);
    waiting?.resolve(true);
  }

  #takePlace(caller: Caller): boolean {
    if (this.#share.take(caller, 1)) return true;
    // At most once in goneSweptMs: otherwise a caller with many refused requests would have the whole queue searched for
    // each of them.
    const nowMs = performance.now();
    if (nowMs - this.#sweptAtMs < limits.goneSweptMs) return false;
    this.#sweptAtMs = nowMs;
    for (const [owner, ofOwner] of this.#waiting) {
      for (const waiting of ofOwner.filter(({ isGone }) => isGone?.() === true)) this.#drop(owner, waiting);
    }
    return this.#share.take(caller, 1);
  }

  /** Removes waiting work from the queue and refuses it. */
  #drop(caller: Caller, waiting: QueuedWork): void {
    const ofCaller = this.#waiting.get(caller);
    const index = ofCaller?.indexOf(waiting) ?? -1;
    if (ofCaller === undefined || index < 0) return;
    ofCaller.splice(index, 1);
    if (ofCaller.length === 0) this.#waiting.delete(caller);
    this.#share.release(caller, 1);
    clearTimeout(waiting.timer);
    waiting.resolve(false);
  }
}
