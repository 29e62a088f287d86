// Lets so many go on at once; the others wait in line, and leave it where nobody wants their answer any more. For requests
// that come by the hundred, so that what is pressed meanwhile need not wait behind them.

export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async run<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    try {
      signal.throwIfAborted();
      return await act();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
