// So many a second, no more: how many are due now. For load generators that do not send as fast as they can.
/** How often a paced generator looks what is due, milliseconds. */
export const paceMs = 2;

export class Pacer {
  readonly #perS: number;
  #atMs = performance.now();
  #due = 0;

  constructor(perS: number) {
    this.#perS = perS;
  }

  /** How many have become due since the last look, those included that could not be sent then. */
  take(most: number): number {
    const nowMs = performance.now();
    this.#due += ((nowMs - this.#atMs) * this.#perS) / 1000;
    this.#atMs = nowMs;
    const taken = Math.min(most, Math.floor(this.#due));
    this.#due -= taken;
    return taken;
  }
}
