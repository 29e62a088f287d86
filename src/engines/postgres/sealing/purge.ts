// Has the datapoints of removed sensors deleted, in steps: their chunks at once, and once more when all of the log from before
// the removal is sealed, because sealing leaves out only what it knows to be removed.
import { limits } from '../../../config/limits.ts';
import type { LogState } from '../log/log-state.ts';
import type { Store } from '../log/store.ts';

export class Purge {
  readonly #parts: { readonly store: Store; readonly state: LogState; readonly onFailure: (error: Error) => void };
  /** Datapoints of removed sensors may lie in the log up to this seq. */
  #upToSeq = 0;
  #running: Promise<void> | undefined;
  #isDue = false;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(parts: { readonly store: Store; readonly state: LogState; readonly onFailure: (error: Error) => void }) {
    this.#parts = parts;
  }

  /** Goes on where a stop has cut it off. */
  start(): void {
    this.begin();
  }

  /** Sensors were removed: nothing of them is accepted any more. */
  begin(): void {
    this.#upToSeq = this.#parts.state.lastSeq;
    this.#run();
  }

  passEnded(): void {
    if (this.#upToSeq > 0 && this.#parts.state.sealedSeq >= this.#upToSeq) this.#run();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    await this.#running;
  }

  #run(): void {
    this.#isDue = true;
    if (this.#isClosed) return;
    this.#running ??= this.#purge().finally(() => {
      this.#running = undefined;
      if (this.#isDue) this.#retry = setTimeout(() => this.#run(), limits.sealRetryMs).unref();
    });
  }

  async #purge(): Promise<void> {
    const { store, state, onFailure } = this.#parts;
    try {
      while (this.#isDue && !this.#isClosed) {
        const upToSeq = this.#upToSeq;
        const isLast = state.sealedSeq >= upToSeq;
        const isDone = await store.ask('purge', { isLast });
        // Sensors that were removed meanwhile may have datapoints that this step did not see.
        if (isDone && upToSeq === this.#upToSeq) {
          this.#isDue = false;
          if (isLast) this.#upToSeq = 0;
        }
      }
    } catch (error) {
      if (!this.#isClosed) onFailure(error as Error);
    }
  }
}
