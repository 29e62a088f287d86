// What waits, callers in rotation: a caller for whom much waits waits for itself. Used by push-turns.ts.
import { Fifo } from '../../base/memory/fifo.ts';
import type { Caller } from './caller.ts';

export class CallerRotation {
  /** What waits for each caller; the first caller in the map is next. */
  readonly #waiting = new Map<Caller, Fifo<() => void>>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(caller: Caller, resume: () => void): void {
    const ofCaller = this.#waiting.get(caller) ?? new Fifo<() => void>();
    ofCaller.add(resume);
    this.#waiting.set(caller, ofCaller);
  }

  /** Takes the next one of the next caller, which goes behind all others then. */
  take(): (() => void) | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [caller, ofCaller] = first;
    const resume = ofCaller.take();
    this.#waiting.delete(caller);
    if (!ofCaller.isEmpty) this.#waiting.set(caller, ofCaller);
    return resume;
  }
}
