// Numbers that look random and are the same in every run and every process (xorshift32), so that the same data is made
// twice: for us and for a baseline, or for sending and for reading back.
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed + 1, 0x9e3779b1) | 1;
    for (let n = 0; n < 8; n++) this.next();
  }

  /** 0 to 1, without 1. */
  next(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return (state >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }
}

/** A sensor's values with one decimal, each at most a tenth from the one before. */
export class Walk {
  readonly #dice: Dice;
  #tenths = 200;

  constructor(seed: number) {
    this.#dice = new Dice(seed);
  }

  next(): number {
    const step = this.#dice.below(4);
    if (step === 0 && this.#tenths > 0) this.#tenths -= 1;
    else if (step === 3 && this.#tenths < 400) this.#tenths += 1;
    return this.#tenths / 10;
  }
}
