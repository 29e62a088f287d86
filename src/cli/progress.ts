// How far a verb has come, on one line of the terminal that is written over; where standard error is no terminal: nothing.
import { limits } from '../config/limits.ts';

export class Progress {
  readonly #out: NodeJS.WriteStream;
  #shownMs = 0;
  #shown = '';

  constructor(out: NodeJS.WriteStream = process.stderr) {
    this.#out = out;
  }

  /** Shows what is being done, of what can be counted how much, and what else there is to say. */
  show(what: string, done?: number, all?: number, more = ''): void {
    if (!this.#out.isTTY) return;
    const nowMs = performance.now();
    const isNew = !this.#shown.startsWith(what);
    if (!isNew && nowMs - this.#shownMs < limits.progressMs) return;
    const percent = done === undefined || all === undefined || all === 0 ? '' : ` ${Math.floor((100 * done) / all)} %`;
    this.#shown = `${what}${percent}${more}`;
    this.#shownMs = nowMs;
    this.#out.write(`\r\u001b[K${this.#shown}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.#shown !== '') this.#out.write('\r\u001b[K');
    this.#shown = '';
  }
}
