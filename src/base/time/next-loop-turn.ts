/** Resolves in the next turn of the event loop, after events that are already waiting were handled. */
export function nextLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Divides long work into pieces of so many milliseconds, between which other work has its turn. */
export class WorkPieces {
  readonly #msMax: number;
  #beganMs = performance.now();

  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** Whether the present piece has taken its time: then `next` must be awaited. */
  get isOver(): boolean {
    return performance.now() - this.#beganMs >= this.#msMax;
  }

  async next(): Promise<void> {
    await nextLoopTurn();
    this.begin();
  }

  /** A piece begins here, where other work has had its turn. */
  begin(): void {
    this.#beganMs = performance.now();
  }
}
