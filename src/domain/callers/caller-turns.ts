// Work on the main thread that one caller may bring more of than fits into a turn of the event loop, such as packets of
// MQTT: together it takes a bounded part of each turn, and what does not fit waits, callers in turns. So who brings much
// waits behind itself. Keeps true: the work of one caller keeps its order; where nobody waits, nothing is put off. What
// waits is bounded by who asks: each connection waits for one thing at a time and is not read on meanwhile (I4).
import type { Caller } from './caller.ts';

export class CallerTurns {
  readonly #msMax: number;
  /** Milliseconds of this turn of the event loop that have been taken. */
  #takenMs = 0;
  /** Callers whose work waits, whose turn it is first. */
  readonly #waiting = new Map<Caller, (() => void)[]>();
  #isNextAsked = false;

  /** @param options.msMax milliseconds of a turn of the event loop that this work may take; the piece that passes them is still done. */
  constructor(options: { readonly msMax: number }) {
    this.#msMax = options.msMax;
  }

  /** Whether there is time left in this turn; then nobody waits. */
  get isOpen(): boolean {
    return this.#takenMs < this.#msMax;
  }

  /** Does a piece of work now, and counts the time it takes: for when `isOpen`, and within a turn that was waited for. */
  do<T>(work: () => T): T {
    const fromMs = performance.now();
    try {
      return work();
    } finally {
      this.#takenMs += performance.now() - fromMs;
      this.#askNext();
    }
  }

  /** Calls back when it is the caller's turn, in a later turn of the event loop; what is done then goes through `do`. */
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
      // Behind all others, if it has more.
      if (waiting.length > 0) this.#waiting.set(caller, waiting);
      resume?.();
    }
  }
}
