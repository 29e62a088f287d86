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

  /** Whether the present piece has used up its time; then the caller must await `next`. */
  get isOver(): boolean {
    return performance.now() - this.#beganMs >= this.#msMax;
  }

  /** Lets other work run for a turn of the event loop, and begins the next piece. */
  async next(): Promise<void> {
    await nextLoopTurn();
    this.begin();
  }

  /** Begins a piece now, for callers that have let other work run by themselves. */
  begin(): void {
    this.#beganMs = performance.now();
  }
}
