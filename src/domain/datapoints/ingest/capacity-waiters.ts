// Messages that wait for room in the ingest queue, in order, by caller: back-pressure for MQTT. When there may be room,
// a bounded number of each caller's is resumed in each turn of the event loop, until the caller is refused again: each
// attempt costs time, and a caller may have tens of thousands waiting. Used by writer.ts. Bounded by the share of the
// caller in bytes (I4).
import type { Caller } from '../../callers/caller.ts';

interface Waiter {
  readonly bytes: number;
  readonly resume: () => void;
}

/** The messages of one caller. */
interface CallerWaiters {
  /** Resumed by the last wake and refused once more: before the others. */
  returned: Waiter[];
  waiting: Waiter[];
}

export interface CapacityWaitersParts {
  /** How many of one caller are resumed in a turn. */
  readonly wokenMax: number;
  /** Whether the caller was refused since there was last more room. */
  readonly isRefused: (caller: Caller) => boolean;
  /** Called for each that is resumed. */
  readonly release: (caller: Caller, bytes: number) => void;
}

export class CapacityWaiters {
  readonly #parts: CapacityWaitersParts;
  readonly #callers = new Map<Caller, CallerWaiters>();
  #isNextAsked = false;

  constructor(parts: CapacityWaitersParts) {
    this.#parts = parts;
  }

  /** @param wasResumed true for a message that has waited before. */
  wait(caller: Caller, bytes: number, { wasResumed }: { readonly wasResumed: boolean }): Promise<void> {
    return new Promise((resume) => {
      let ofCaller = this.#callers.get(caller);
      if (ofCaller === undefined) {
        ofCaller = { returned: [], waiting: [] };
        this.#callers.set(caller, ofCaller);
      }
      ofCaller[wasResumed ? 'returned' : 'waiting'].push({ bytes, resume });
    });
  }

  /** There may be room: resumes the first of each caller, and more of them in later turns. */
  wake(): void {
    for (const [caller, ofCaller] of this.#callers) {
      if (!this.#parts.isRefused(caller)) this.#wakeSome(caller, ofCaller);
    }
  }

  #wakeSome(caller: Caller, ofCaller: CallerWaiters): void {
    const { wokenMax, release } = this.#parts;
    if (ofCaller.returned.length > 0) {
      ofCaller.waiting = ofCaller.returned.concat(ofCaller.waiting);
      ofCaller.returned = [];
    }
    const woken = ofCaller.waiting.splice(0, wokenMax);
    if (ofCaller.waiting.length === 0) this.#callers.delete(caller);
    else this.#askNext();
    for (const { bytes, resume } of woken) {
      release(caller, bytes);
      resume();
    }
  }

  #askNext(): void {
    if (this.#isNextAsked) return;
    this.#isNextAsked = true;
    setImmediate(() => {
      this.#isNextAsked = false;
      this.wake();
    });
  }
}
