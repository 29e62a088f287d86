// Shows the progress of a verb on one terminal line that is overwritten; nothing where standard error is not a
// terminal.
import { limits } from '../config/limits.ts';

export class Progress {
  readonly #out: NodeJS.WriteStream;
  #shownMs = 0;
  #shown = '';

  constructor(out: NodeJS.WriteStream = process.stderr) {
    this.#out = out;
  }

  /** Shows the present step, its progress where it can be counted, and a remark. */
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

  /** Clears the line. */
  end(): void {
    if (this.#shown !== '') this.#out.write('\r\u001b[K');
    this.#shown = '';
  }
}
