// Bounds the time that many small pieces of work of one kind, such as short reads, take together in each turn of the
// event loop, so that other work comes between.
import { yieldToEventLoop } from '../in-batches.ts';

export class EventLoopSlices {
  readonly #msMax: number;
  /** Milliseconds used in this turn. */
  #takenMs = 0;

  /** @param options.msMax milliseconds of each turn; a piece that exceeds them is still finished. */
  constructor(options: { readonly msMax: number }) {
    this.#msMax = options.msMax;
  }

  /** Runs the work at once, or in a later turn where this one's time is used up. */
  async run<T>(work: () => T): Promise<T> {
    while (this.#takenMs >= this.#msMax) await yieldToEventLoop();
    const fromMs = performance.now();
    try {
      return work();
    } finally {
      // Resets in the next turn, before the pieces that wait, because those are scheduled after this.
      if (this.#takenMs === 0) setImmediate(() => (this.#takenMs = 0));
      this.#takenMs += performance.now() - fromMs;
    }
  }
}
