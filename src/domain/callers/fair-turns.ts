// Work on the main thread that outsiders bring in many pieces, such as requests: together they begin for a bounded time in
// each turn of the event loop, so that sockets are accepted and read between however many there are; what has to wait
// begins by caller in turns. Used by http/server/request-order.ts. Keeps true: the pieces of one caller keep their order.
import type { Caller } from './caller.ts';

export class FairTurns {
  readonly #msMax: number;
  /** Callers with waiting work, whose turn it is first. */
  readonly #waiting = new Map<Caller, (() => void)[]>();
  /** When the first piece of this turn of the event loop began; undefined before that. */
  #sinceMs: number | undefined;

  /** @param options.msMax milliseconds of a turn, whatever else goes on in them, after which no further piece begins in it. */
  constructor(options: { readonly msMax: number }) {
    this.#msMax = options.msMax;
  }

  /**
   * Does the work at once, or in a later turn where this one has had enough.
   * @param callerOf asked only where it has to wait.
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

  /** In each turn in which work began or waits. */
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
      // What the piece has set off in promises belongs to its time.
      await undefined;
    } while (this.#waiting.size > 0 && performance.now() - sinceMs < this.#msMax);
  }

  #takeNext(): (() => void) | undefined {
    const [next] = this.#waiting;
    if (next === undefined) return undefined;
    const [caller, works] = next;
    const work = works.shift();
    this.#waiting.delete(caller);
    // Behind all others, if it has more.
    if (works.length > 0) this.#waiting.set(caller, works);
    return work;
  }
}
