// What is under way between two threads: each gets a number, and goes when its answer comes.

/** Places for what is under way at once, far more than anybody lets wait; and times that a place is used before it begins anew. */
const placesMax = 2 ** 20;
const turnsMax = 2 ** 32;

/**
 * Not a Map, which makes a new table whenever as many have come and gone as it holds, and whose old tables refer to the new
 * ones: once one of them is old, the engine takes all that ever stood in the later ones, with whatever belongs to it, for
 * in use until it goes through all of its memory.
 */
export class UnderWay<T> {
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
    const place = this.#free.pop() ?? this.#numbers.length;
    const turn = ((this.#turns[place] ?? 0) % turnsMax) + 1;
    const number = turn * placesMax + place;
    this.#turns[place] = turn;
    this.#values[place] = value;
    this.#numbers[place] = number;
    return number;
  }

  /** Takes out what has this number; undefined where nothing has, or has any more. */
  take(number: number): T | undefined {
    const place = number % placesMax;
    if (number === 0 || this.#numbers[place] !== number) return undefined;
    const value = this.#values[place];
    this.#values[place] = undefined;
    this.#numbers[place] = 0;
    this.#free.push(place);
    return value;
  }

  /** Takes out all, in no order. */
  takeAll(): T[] {
    return this.#numbers.flatMap((number) => (number === 0 ? [] : [this.take(number) as T]));
  }
}
