// How far the sending is: a bar with a rate on a terminal, a plain line now and then elsewhere.

const barCells = 32;
const everyMs = 100;
const plainSteps = 4;

export class Progress {
  readonly #total: number;
  readonly #startMs = performance.now();
  readonly #live = process.stdout.isTTY === true;
  #count = 0;
  #shownMs = 0;
  #shownStep = 0;

  constructor(total: number) {
    this.#total = total;
  }

  add(count: number): void {
    this.#count += count;
    if (this.#live) this.#showBar();
    else this.#showLine();
  }

  /** Leaves the last state on the screen. */
  finish(): void {
    this.#shownMs = 0;
    if (this.#live) {
      this.#showBar();
      process.stdout.write('\n');
    }
  }

  #showBar(): void {
    const nowMs = performance.now();
    if (nowMs - this.#shownMs < everyMs) return;
    this.#shownMs = nowMs;
    const cells = Math.round((this.#count / this.#total) * barCells);
    process.stdout.write(`\r  ${'█'.repeat(cells)}${'░'.repeat(barCells - cells)} ${this.#words()}   `);
  }

  #showLine(): void {
    const step = Math.floor((this.#count / this.#total) * plainSteps);
    if (step === this.#shownStep) return;
    this.#shownStep = step;
    console.log(`  ${this.#words()}`);
  }

  #words(): string {
    const elapsedS = (performance.now() - this.#startMs) / 1000;
    return `${grouped(this.#count)} of ${grouped(this.#total)} datapoints, ${grouped(this.#count / elapsedS)} a second`;
  }
}

/** 37 520 */
export function grouped(number: number): string {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ' ');
}
