// Requests from one thread to another that have no answer yet: each gets a number, by which its answer finds it.

/** Highest number of pending requests, far more than any caller allows. */
const slotsMax = 2 ** 20;
/** Uses of a slot before its numbers repeat. */
const turnsMax = 2 ** 32;

/**
 * Not a Map: it allocates a new table after as many insertions and deletions as it has slots, and old tables refer to
 * newer ones. Once an old table is in V8's old generation, everything in later tables is kept until a major collection.
 */
export class PendingRequests<T> {
  readonly #values: (T | undefined)[] = [];
  /** Number of the request in each slot; 0 where it is empty. */
  readonly #numbers: number[] = [];
  /** How often each slot has been used. */
  readonly #turns: number[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#numbers.length - this.#free.length;
  }

  /** @returns a number that is not used again before its slot has been used four thousand million times. */
  add(value: T): number {
    const slot = this.#free.pop() ?? this.#numbers.length;
    const turn = ((this.#turns[slot] ?? 0) % turnsMax) + 1;
    const number = turn * slotsMax + slot;
    this.#turns[slot] = turn;
    this.#values[slot] = value;
    this.#numbers[slot] = number;
    return number;
  }

  /** Removes and returns the request with this number; undefined where there is none. */
  take(number: number): T | undefined {
    const slot = number % slotsMax;
    if (number === 0 || this.#numbers[slot] !== number) return undefined;
    const value = this.#values[slot];
    this.#values[slot] = undefined;
    this.#numbers[slot] = 0;
    this.#free.push(slot);
    return value;
  }

  /** Removes and returns all requests, in no particular order. */
  takeAll(): T[] {
    return this.#numbers.flatMap((number) => (number === 0 ? [] : [this.take(number) as T]));
  }
}
