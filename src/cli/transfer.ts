// Shows the progress of a transfer: on a terminal in one line that is overwritten, elsewhere with a line every few
// seconds. On standard error, because standard output may carry the data.
import { limits } from '../config/limits.ts';
import { Progress } from './progress.ts';

export class Transfer {
  readonly #what: string;
  readonly #unit: string;
  readonly #progress = new Progress();
  readonly #startMs = performance.now();
  #loggedMs = performance.now();

  /** @param unit the counted things, such as `datapoints`. */
  constructor(what: string, unit: string) {
    this.#what = what;
    this.#unit = unit;
  }

  /** @param done bytes or steps of `all`, which may be unknown; `count` is in the unit. */
  show(
    done: number,
    all: number | undefined,
    { count, more }: { readonly count: number; readonly more: string },
  ): void {
    const rate = Math.round(count / Math.max(0.001, (performance.now() - this.#startMs) / 1000));
    const text = `, ${count.toLocaleString('en')} ${this.#unit}, ${rate.toLocaleString('en')}/s${more}`;
    this.#progress.show(this.#what, done, all, text);
    if (process.stderr.isTTY || performance.now() - this.#loggedMs < limits.transferLoggedMs) return;
    this.#loggedMs = performance.now();
    console.error(`${this.#what}${all === undefined ? '' : ` ${Math.floor((100 * done) / all)} %`}${text}`);
  }

  end(): void {
    this.#progress.end();
  }
}
