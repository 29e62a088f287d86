// Work of one kind on the main thread that comes in many small pieces, such as short reads: together they take a bounded
// part of each turn of the event loop, so that other work comes between however many there are.
import { yieldToEventLoop } from '../in-batches.ts';

export class EventLoopSlices {
  readonly #msMax: number;
  /** Milliseconds of this turn that have been taken. */
  #takenMs = 0;

  /** @param options.msMax milliseconds of a turn that this work may take; the piece that passes them is still done. */
  constructor(options: { readonly msMax: number }) {
    this.#msMax = options.msMax;
  }

  /** Does the work at once, or in a later turn where this one has had enough of its kind. */
  async run<T>(work: () => T): Promise<T> {
    while (this.#takenMs >= this.#msMax) await yieldToEventLoop();
    const fromMs = performance.now();
    try {
      return work();
    } finally {
      // What waits was asked for behind this, and so goes on behind it too.
      if (this.#takenMs === 0) setImmediate(() => (this.#takenMs = 0));
      this.#takenMs += performance.now() - fromMs;
    }
  }
}
