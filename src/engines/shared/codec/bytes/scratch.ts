// Temporary columns for encoding one chunk, cut from one array that all chunks share: for a chunk of a few datapoints,
// allocating them would cost more than everything else.

const doubles = 1 << 17;

class Scratch {
  readonly #array = new Float64Array(doubles);
  #used = 0;

  /** Frees all columns that were taken. */
  clear(): void {
    this.#used = 0;
  }

  /** A column with undefined content; a new array where the shared one is too small. */
  take(count: number): Float64Array {
    const from = this.#used;
    if (from + count > doubles) return new Float64Array(count);
    this.#used = from + count;
    return this.#array.subarray(from, from + count);
  }
}

/** One for all chunks of a thread, because encoding is synchronous; cleared when a chunk begins. */
export const scratch = new Scratch();
