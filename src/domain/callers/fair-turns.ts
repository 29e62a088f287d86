// Bounds the time in each turn of the event loop in which work from outside, such as requests, may begin, so that
// sockets are accepted and read in between however many there are. Work that has to wait begins by caller in turns.
// Used by http/server/request-order.ts. Work of one caller keeps its order.
import type { Caller } from './caller.ts';

export class FairTurns {
  readonly #msMax: number;
  /** Waiting work by caller; the first caller is next. */
  readonly #waiting = new Map<Caller, (() => void)[]>();
  /** When the first piece of this turn began; undefined before. */
  #sinceMs: number | undefined;

  /** @param options.msMax milliseconds after the first piece of a turn in which further ones may begin. */
  constructor(options: { readonly msMax: number }) {
    this.#msMax = options.msMax;
  }

  /**
   * Runs the work at once, or in a later turn where this one is used up.
   * @param callerOf called only where the work has to wait.
   */
  run(callerOf: () => Caller, work: () => void): void {
    if (this.#sinceMs === undefined) {
      this.#sinceMs = performance.now();
      setImmediate(() => this.#nextTurn());
      work();
    } else if (this.#waiting.size === 0 && performance.now() - this.#sinceMs < this.#msMax) work();
    else {
      const caller = callerOf();
      const ofCaller = this.#waiting.get(caller);
      if (ofCaller === undefined) this.#waiting.set(caller, [work]);
      else ofCaller.push(work);
    }
  }

  /** Runs in each turn in which work began or waits. */
  #nextTurn(): void {
    this.#sinceMs = undefined;
    if (this.#waiting.size > 0) void this.#takeWaiting();
  }

  async #takeWaiting(): Promise<void> {
    setImmediate(() => this.#nextTurn());
    const sinceMs = performance.now();
    this.#sinceMs = sinceMs;
    do {
      this.#takeNext()?.();
      // Includes what the piece has queued as microtasks in its time.
      await undefined;
    } while (this.#waiting.size > 0 && performance.now() - sinceMs < this.#msMax);
  }

  #takeNext(): (() => void) | undefined {
    const [next] = this.#waiting;
    if (next === undefined) return undefined;
    const [caller, works] = next;
    const work = works.shift();
    this.#waiting.delete(caller);
    // The caller goes to the end of the order.
    if (works.length > 0) this.#waiting.set(caller, works);
    return work;
  }
}
