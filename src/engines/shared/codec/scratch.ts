// Columns that encoding needs for the length of one chunk, cut from one array that all chunks use: for a chunk of a few
// datapoints, arrays of its own would cost more than everything else.

const doubles = 1 << 17;

class Scratch {
  readonly #array = new Float64Array(doubles);
  #used = 0;

  /** Whatever was taken before is free again. */
  clear(): void {
    this.#used = 0;
  }

  /** A column of whatever numbers were left in it; beyond the room, an array of its own. */
  take(count: number): Float64Array {
    const from = this.#used;
    if (from + count > doubles) return new Float64Array(count);
    this.#used = from + count;
    return this.#array.subarray(from, from + count);
  }
}

/** Encoding is synchronous: one for all chunks of a thread, cleared when a chunk begins. */
export const scratch = new Scratch();
