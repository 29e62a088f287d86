// What waits, callers in rotation: a caller for whom much waits waits for itself. Used by push-turns.ts.
import type { Caller } from './caller.ts';

/** What waits for one caller, the oldest first; what was taken stands before `next`. */
interface OfCaller {
  resumes: (() => void)[];
  next: number;
}

/** Taken from the beginning of an array one by one, thousands of elements would be moved each time. */
const takenMax = 1_000;

export class CallerRotation {
  /** The first caller in the map is next. */
  readonly #waiting = new Map<Caller, OfCaller>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(caller: Caller, resume: () => void): void {
    const ofCaller = this.#waiting.get(caller);
    if (ofCaller === undefined) this.#waiting.set(caller, { resumes: [resume], next: 0 });
    else ofCaller.resumes.push(resume);
  }

  /** Takes the next one of the next caller, which goes behind all others then. */
  take(): (() => void) | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [caller, ofCaller] = first;
    const resume = ofCaller.resumes[ofCaller.next];
    ofCaller.next += 1;
    this.#waiting.delete(caller);
    if (ofCaller.next === ofCaller.resumes.length) return resume;
    if (ofCaller.next === takenMax) {
      ofCaller.resumes = ofCaller.resumes.slice(takenMax);
      ofCaller.next = 0;
    }
    this.#waiting.set(caller, ofCaller);
    return resume;
  }
}
