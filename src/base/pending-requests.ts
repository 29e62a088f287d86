// What is under way between two threads: each gets a number, and goes when its answer comes.

/** Places for what is under way at once, far more than anybody lets wait; and times that a place is used before it begins anew. */
const slotsMax = 2 ** 20;
const turnsMax = 2 ** 32;

/**
 * Not a Map, which makes a new table whenever as many have come and gone as it holds, and whose old tables refer to the new
 * ones: once one of them is old, the engine takes all that ever stood in the later ones, with whatever belongs to it, for
 * in use until it goes through all of its memory.
 */
export class PendingRequests<T> {
  readonly #values: (T | undefined)[] = [];
  /** The number of what stands there; 0 where nothing does. */
  readonly #numbers: number[] = [];
  /** How often each place has been used. */
  readonly #turns: number[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#numbers.length - this.#free.length;
  }

  /** @returns a number that is given once: not again before its place has been used four thousand million times. */
  add(value: T): number {
    const slot = this.#free.pop() ?? this.#numbers.length;
    const turn = ((this.#turns[slot] ?? 0) % turnsMax) + 1;
    const number = turn * slotsMax + slot;
    this.#turns[slot] = turn;
    this.#values[slot] = value;
    this.#numbers[slot] = number;
    return number;
  }

  /** Takes out what has this number; undefined where nothing has, or has any more. */
  take(number: number): T | undefined {
    const slot = number % slotsMax;
    if (number === 0 || this.#numbers[slot] !== number) return undefined;
    const value = this.#values[slot];
    this.#values[slot] = undefined;
    this.#numbers[slot] = 0;
    this.#free.push(slot);
    return value;
  }

  /** Takes out all, in no order. */
  takeAll(): T[] {
    return this.#numbers.flatMap((number) => (number === 0 ? [] : [this.take(number) as T]));
  }
}
