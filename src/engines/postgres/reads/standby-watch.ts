// Counts which steps of history a standby has answered, and why it has not answered others, in all threads; and tells the log when that
// begins and ends. Used by log-parts.ts.
import type { Log } from '../../../base/log.ts';
import { limits } from '../../../config/limits.ts';
import type { StandbyCounts, StandbyReason } from '../../../domain/ports/engine.ts';

/** What came of a step: why the primary had to answer, or no reason. Threads send it. */
export interface StandbyOutcome {
  readonly reason?: StandbyReason;
  readonly detail?: string;
}

type Fallback = Required<StandbyOutcome>;

/** Happen now and then while all is well: a sensor was sealed a moment ago, or a statement was in the way of recovery. */
const usual: readonly StandbyReason[] = ['behind', 'conflict'];

export class StandbyWatch implements StandbyCounts {
  read = 0;
  readonly fallbacks: Record<StandbyReason, number> = {
    ...{ behind: 0, conflict: 0, slow: 0, unreachable: 0, promoted: 0, other: 0, damaged: 0, failed: 0 },
  };
  readonly #log: Log | undefined;
  /** Since when it has answered nothing, by the monotonic clock; undefined where its last step was answered. */
  #silentSinceMs: number | undefined;
  /** The reason that the log was told since then. */
  #told: StandbyReason | undefined;

  constructor(log: Log | undefined) {
    this.#log = log;
  }

  note({ reason, detail = '' }: StandbyOutcome): void {
    if (reason === undefined) this.#answered();
    else this.#fellBack({ reason, detail });
  }

  /** The log is told, unless it was since the standby has answered last. */
  warn({ reason, detail }: Fallback): void {
    if (this.#told === reason) return;
    this.#told = reason;
    this.#log?.warn({ reason, detail }, 'history is read from the primary: the standby cannot answer');
  }

  #answered(): void {
    this.read += 1;
    if (this.#told !== undefined) this.#log?.info({ after: this.#told }, 'history is read from the standby again');
    this.#silentSinceMs = undefined;
    this.#told = undefined;
  }

  #fellBack(fallback: Fallback): void {
    const { reason } = fallback;
    this.fallbacks[reason] += 1;
    const nowMs = performance.now();
    this.#silentSinceMs ??= nowMs;
    if (!usual.includes(reason) || nowMs - this.#silentSinceMs >= limits.standbyBehindMs) this.warn(fallback);
  }
}
