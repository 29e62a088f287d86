// Counts the publishes whose outcome is not known yet, so that a stop, and a test, can wait until there are none. Bounded
// by what the connections may have under way.

export class Undecided {
  #count = 0;
  #waiters: (() => void)[] = [];

  begin(): void {
    this.#count += 1;
  }

  /** Call once for each `begin`, whatever the outcome was. */
  end(): void {
    this.#count -= 1;
    if (this.#count === 0) for (const resume of this.#waiters.splice(0)) resume();
  }

  /** Resolves when no publish is undecided. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }
}
