// Runs the steps of the watcher, one at a time and each in a turn of its own: whatever else changes rules or their
// state takes turns with them. After the last step it sleeps until `wake`, until the next timer is due, or until it is
// time to try again for the lease. A failed step is tried again after `watchRetryMs`. Used by the watcher alone.
import { nextLoopTurn } from '../../../base/time/next-loop-turn.ts';
import { limits } from '../../../config/limits.ts';

/** What the loop runs. */
export interface WatchSteps {
  /** Runs one step; resolves to false when there was nothing to do. */
  readonly step: () => Promise<boolean>;
  /** Whether a step would have something to do now. */
  readonly hasWork: () => boolean;
  /** Whether the datapoints of the next step are read from the log, so that there are none to wait for. */
  readonly isBehind: () => boolean;
  /** Milliseconds until a step has something to do though nothing has happened; undefined: never. */
  readonly waitMs: () => number | undefined;
  /** Called outside a turn when a step has failed. Never rejects. */
  readonly noteFailure: (error: unknown) => Promise<void>;
  /** Called in a turn after `noteFailure`: discards what the failed step has not stored. Never rejects. */
  readonly discardUnstored: () => Promise<void>;
}

export class WatchLoop {
  readonly #steps: WatchSteps;
  #alarmTimer: NodeJS.Timeout | undefined;
  /** When the steps last ran out of work, in milliseconds of the monotonic clock. */
  #idleSinceMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  /** Set from a failure until the next attempt. */
  #retry: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  constructor(steps: WatchSteps) {
    this.#steps = steps;
  }

  /** True from when steps are about to run until there is nothing left to do. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Runs steps until there is nothing to do. Does nothing while they run, after `close`, and before a retry. */
  wake(): void {
    if (this.#running !== undefined || this.#isClosed || this.#retry !== undefined) return;
    clearTimeout(this.#alarmTimer);
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isClosed || this.#retry !== undefined) return;
      if (this.#steps.hasWork()) this.wake();
      else this.#setAlarm();
    });
  }

  /** Runs `work` between two steps, after all work that was given before. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  /** Resolves when there is nothing left to do, not even a step that is to be tried again. */
  async idle(): Promise<void> {
    await this.#turn;
    while (!this.#isClosed && (this.#steps.hasWork() || this.#running !== undefined || this.#retry !== undefined)) {
      this.wake();
      await (this.#running ?? this.#retry?.promise);
    }
  }

  /** Begins no further step, and resolves when the one under way has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#alarmTimer);
    this.#retry?.resolve();
    await this.#running;
  }

  #setAlarm(): void {
    const waitMs = this.#steps.waitMs();
    if (waitMs === undefined) return;
    this.#alarmTimer = setTimeout(() => this.wake(), Math.min(waitMs, limits.watchAlarmMsMax));
    this.#alarmTimer.unref();
  }

  /**
   * Waits for more pushes, because a step costs as much as dozens of datapoints: until the next turn of the event
   * loop, for the other pushes of the same commit; under constant load for `watchGatherMs`.
   */
  async #gather(): Promise<void> {
    const isBusy = performance.now() - this.#idleSinceMs < limits.watchGatherMs;
    if (!isBusy || this.#steps.isBehind()) await nextLoopTurn();
    else await new Promise<void>((resolve) => setTimeout(resolve, limits.watchGatherMs));
  }

  async #run(): Promise<void> {
    await this.#gather();
    try {
      while (!this.#isClosed && (await this.exclusively(this.#steps.step))) await nextLoopTurn();
      this.#idleSinceMs = performance.now();
    } catch (error) {
      await this.#steps.noteFailure(error);
      await this.exclusively(this.#steps.discardUnstored);
      if (!this.#isClosed) this.#tryAgain();
    }
  }

  #tryAgain(): void {
    const retry = Promise.withResolvers<void>();
    const timer = setTimeout(retry.resolve, limits.watchRetryMs);
    this.#retry = retry;
    void retry.promise.then(() => {
      clearTimeout(timer);
      this.#retry = undefined;
      this.wake();
    });
  }
}
