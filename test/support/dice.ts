// Repeatable random numbers: the same seed gives the same sequence. A test prints its seed; DUNDUN_TEST_SEED sets it.
export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed = Number(process.env['DUNDUN_TEST_SEED'] ?? Date.now() % 2 ** 32)) {
    this.seed = seed;
    this.#state = seed;
  }

  /** A number from `min` up to and without `max` (mulberry32). */
  between(min: number, max: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return min + Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * (max - min));
  }

  oneIn(count: number): boolean {
    return this.between(0, count) === 0;
  }
}
