// Bounds work on the main thread of which a caller may bring a lot, such as MQTT packets: all of it together takes a
// limited time of each turn of the event loop. The rest waits, callers in turns, so a caller with much work waits for
// itself. Work of one caller keeps its order; without a queue nothing is delayed. The queue is bounded by its users:
// each connection waits for one piece at a time and is not read meanwhile (I4).
import type { Caller } from './caller.ts';

export class CallerTurns {
  readonly #msMax: number;
  /** Milliseconds used in this turn of the event loop. */
  #takenMs = 0;
  /** Waiting work by caller; the first caller is next. */
  readonly #waiting = new Map<Caller, (() => void)[]>();
  #isNextAsked = false;

  /** @param options.msMax milliseconds of each turn; a piece that exceeds them is still finished. */
  constructor(options: { readonly msMax: number }) {
    this.#msMax = options.msMax;
  }

  /** Whether there is time left in this turn and nobody waits. */
  get isOpen(): boolean {
    return this.#takenMs < this.#msMax;
  }

  /** Runs a piece of work and counts its time. To be called when `isOpen`, or from `wait`'s callback. */
  do<T>(work: () => T): T {
    const fromMs = performance.now();
    try {
      return work();
    } finally {
      this.#takenMs += performance.now() - fromMs;
      this.#askNext();
    }
  }

  /** Calls `resume` in a later turn, when it is the caller's turn; the work then goes through `do`. */
  wait(caller: Caller, resume: () => void): void {
    const ofCaller = this.#waiting.get(caller);
    if (ofCaller === undefined) this.#waiting.set(caller, [resume]);
    else ofCaller.push(resume);
    this.#askNext();
  }

  #askNext(): void {
    if (this.#isNextAsked) return;
    this.#isNextAsked = true;
    setImmediate(() => this.#next());
  }

  #next(): void {
    this.#isNextAsked = false;
    this.#takenMs = 0;
    while (this.isOpen) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [caller, waiting] = next;
      this.#waiting.delete(caller);
      const resume = waiting.shift();
      // The caller goes to the end of the order.
      if (waiting.length > 0) this.#waiting.set(caller, waiting);
      resume?.();
    }
  }
}
