// A queue from which thousands are taken one by one: `shift()` of a long array moves all that is behind.
/** What was taken stands before the next one until there are so many. */
const takenMax = 1_000;

export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #next = 0;

  get isEmpty(): boolean {
    return this.#next === this.#items.length;
  }

  add(item: T): void {
    this.#items.push(item);
  }

  /** Takes the oldest. */
  take(): T | undefined {
    if (this.isEmpty) return undefined;
    const item = this.#items[this.#next];
    this.#items[this.#next] = undefined;
    this.#next += 1;
    if (this.isEmpty || this.#next === takenMax) {
      this.#items = this.#items.slice(this.#next);
      this.#next = 0;
    }
    return item;
  }
}
