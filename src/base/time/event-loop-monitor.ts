// Measures how late the event loop is, and says what held it. A timer that should run every 50 ms notes by how much it is
// late; work on behalf of somebody outside notes itself when it begins (`setCurrentWork`), which costs a look at the clock and
// no allocation. AsyncLocalStorage would know more and cost each push more. What goes on behind an `await` counts as
// the work that was noted last, so that the name is right where one piece of work is long, and a hint elsewhere.
// Started by server.ts; it measures real time, whatever clock a test turns.
import { limits } from '../../config/limits.ts';
import type { Log } from '../log.ts';

/** Says what the work is, without a word of what was sent. Called only where the loop was held. */
type Describe<T> = (subject: T) => string;

/** There is one event loop in a thread, whatever runs in it. */
const work: { describe: Describe<never> | undefined; subject: unknown; sinceMs: number } = {
  describe: undefined,
  subject: undefined,
  sinceMs: 0,
};
const longest: { describe: Describe<never> | undefined; subject: unknown; elapsedMs: number } = {
  describe: undefined,
  subject: undefined,
  elapsedMs: 0,
};

/** Work begins; that noted before has ended. */
export function setCurrentWork<T>(describe: Describe<T>, subject: T): void {
  endWork(performance.now());
  work.describe = describe;
  work.subject = subject;
}

function endWork(nowMs: number): void {
  const elapsedMs = nowMs - work.sinceMs;
  if (elapsedMs > longest.elapsedMs) {
    longest.describe = work.describe;
    longest.subject = work.subject;
    longest.elapsedMs = elapsedMs;
  }
  work.sinceMs = nowMs;
  work.describe = undefined;
  work.subject = undefined;
}

export class EventLoopMonitor {
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #lastMs = 0;
  #loggedMs = Number.NEGATIVE_INFINITY;
  /** Times that were held since the last that was told. */
  #suppressed = 0;
  #latestS = 0;
  /** Called every 50 ms with the seconds by which the loop was late. */
  onTick: (lateS: number) => void = () => {};

  constructor(log: Log) {
    this.#log = log;
  }

  start(): void {
    this.#lastMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), limits.loopTickMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** The most seconds that it was late since this was last asked. */
  takeLatest(): number {
    const latestS = this.#latestS;
    this.#latestS = 0;
    return latestS;
  }

  #tick(): void {
    const nowMs = performance.now();
    const lateMs = Math.max(0, nowMs - this.#lastMs - limits.loopTickMs);
    this.#lastMs = nowMs;
    endWork(nowMs);
    if (lateMs > limits.loopHeldMs) this.#tell(lateMs, nowMs);
    longest.elapsedMs = 0;
    longest.describe = undefined;
    longest.subject = undefined;
    this.#latestS = Math.max(this.#latestS, lateMs / 1000);
    this.onTick(lateMs / 1000);
  }

  #tell(lateMs: number, nowMs: number): void {
    this.#suppressed += 1;
    if (nowMs - this.#loggedMs < limits.loopLoggedMs) return;
    this.#loggedMs = nowMs;
    const { describe, subject, elapsedMs } = longest;
    const fields = {
      lateMs: Math.round(lateMs),
      work: describe === undefined ? 'none that came from outside' : describe(subject as never),
      workMs: Math.round(elapsedMs),
      times: this.#suppressed,
    };
    this.#suppressed = 0;
    this.#log.warn(fields, 'the event loop was blocked');
  }
}
