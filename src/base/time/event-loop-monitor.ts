// Measures the delay of the event loop and logs what caused it. A timer that should run every 50 ms notes how late it
// is. Work for callers registers when it begins (`setCurrentWork`), which costs one reading of the clock and no
// allocation. AsyncLocalStorage would be more precise, but slows down every push. Work after an `await` counts as the
// work registered last, so the logged name is right for one long synchronous piece of work, and a hint otherwise.
// Started by server.ts; uses real time, even where a test sets another clock.
import { limits } from '../../config/limits.ts';
import type { Log } from '../log.ts';

/** Describes the work without quoting what a caller sent. Called only when the loop was blocked. */
type Describe<T> = (subject: T) => string;

/** Global, because a thread has one event loop. */
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

/** Registers work that begins; the previous work has ended. */
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
  /** Blockages since the last log line. */
  #suppressed = 0;
  #latestS = 0;
  /** Called every 50 ms with the delay in seconds. */
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

  /** The longest delay since the last call, in seconds. */
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
    if (lateMs > limits.loopHeldMs) this.#logBlockage(lateMs, nowMs);
    longest.elapsedMs = 0;
    longest.describe = undefined;
    longest.subject = undefined;
    this.#latestS = Math.max(this.#latestS, lateMs / 1000);
    this.onTick(lateMs / 1000);
  }

  #logBlockage(lateMs: number, nowMs: number): void {
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
