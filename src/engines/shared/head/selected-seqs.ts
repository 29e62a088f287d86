// The seqs and times of the datapoints that a read takes from the head: added from newest to oldest, then sorted by
// time. One list serves all reads of a thread, so that reads allocate no arrays.

const initialCapacity = 1024;
/** An array with more entries is freed after the read. */
const capacityKeptMax = 64 * 1024;
/** Sorting by moving single entries is given up beyond so many moves per entry; usually the order is nearly right. */
const movesPerSeq = 8;

export class SelectedSeqs {
  #seqs = new Float64Array(initialCapacity);
  #times = new Float64Array(initialCapacity);
  #count = 0;
  #isInOrder = true;

  get count(): number {
    return this.#count;
  }

  /** Valid until the next `clear`. */
  get seqs(): Float64Array {
    return this.#seqs.subarray(0, this.#count);
  }

  clear(): void {
    this.#count = 0;
    this.#isInOrder = true;
    if (this.#seqs.length <= capacityKeptMax) return;
    this.#seqs = new Float64Array(initialCapacity);
    this.#times = new Float64Array(initialCapacity);
  }

  /** Adds a datapoint that arrived before all those added so far. */
  add(seq: number, ms: number): void {
    if (this.#count === this.#seqs.length) {
      this.#seqs = enlarged(this.#seqs);
      this.#times = enlarged(this.#times);
    }
    if (this.#count > 0 && ms > (this.#times[this.#count - 1] as number)) this.#isInOrder = false;
    this.#seqs[this.#count] = seq;
    this.#times[this.#count] = ms;
    this.#count += 1;
  }

  /** The number of entries later than this time. */
  countBehind(ms: number): number {
    let count = 0;
    for (let index = 0; index < this.#count; index++) if ((this.#times[index] as number) > ms) count += 1;
    return count;
  }

  /** Sorts by time, equal times by seq. */
  sort(): void {
    this.seqs.reverse();
    this.#times.subarray(0, this.#count).reverse();
    if (!this.#isInOrder && !this.#sortByMoving()) this.#sortAsWhole();
  }

  /** Insertion sort; false where it needs too many moves. Entries moved so far stay moved. */
  #sortByMoving(): boolean {
    const [seqs, times] = [this.#seqs, this.#times];
    let moves = movesPerSeq * this.#count;
    for (let index = 1; index < this.#count; index++) {
      const ms = times[index] as number;
      const seq = seqs[index] as number;
      let target = index;
      for (; target > 0 && (times[target - 1] as number) > ms; target--) {
        times[target] = times[target - 1] as number;
        seqs[target] = seqs[target - 1] as number;
      }
      times[target] = ms;
      seqs[target] = seq;
      moves -= index - target;
      if (moves < 0) return false;
    }
    return true;
  }

  #sortAsWhole(): void {
    const [seqs, times] = [this.#seqs.slice(0, this.#count), this.#times.slice(0, this.#count)];
    const order = Uint32Array.from({ length: this.#count }, (_, index) => index);
    order.sort((a, b) => (times[a] as number) - (times[b] as number) || (seqs[a] as number) - (seqs[b] as number));
    for (let index = 0; index < this.#count; index++) {
      this.#seqs[index] = seqs[order[index] as number] as number;
      this.#times[index] = times[order[index] as number] as number;
    }
  }
}

function enlarged(numbers: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * numbers.length);
  larger.set(numbers);
  return larger;
}
