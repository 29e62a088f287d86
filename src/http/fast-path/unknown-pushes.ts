// Pushes that look usual, but whose sender or sensor is not in memory, so that only the framework can tell what they are. It has a
// few of each address at once; the others wait, unread, and the fast path takes most of them once one has been answered: when
// thousands of clients come back at once, they ask for the same users and devices. Used by push-fast-path.ts and push-connection.ts.
import type { ServerResponse } from 'node:http';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { pushTurns } from '../../domain/callers/push-turns.ts';

interface OfCaller {
  /** Those that the framework has. */
  given: number;
  /** Called in order, each when the framework may have one more. */
  readonly waiting: Set<() => void>;
  /** Whether those that wait are looked at in a later turn of pushes. */
  isFillingLater: boolean;
}

export class UnknownPushes {
  /** By key, because there may be several objects for an address, one after the other. */
  readonly #callers = new Map<string, OfCaller>();

  /** Whether the framework may have one more of this caller. */
  mayGive(caller: Caller): boolean {
    return (this.#callers.get(caller.key)?.given ?? 0) < limits.unknownPushesMax;
  }

  /** The framework has one more. @returns to be called, once or more, when it has answered or the connection has closed. */
  give(caller: Caller): () => void {
    const of = this.#of(caller);
    of.given += 1;
    let isGiven = true;
    return () => {
      if (!isGiven) return;
      isGiven = false;
      of.given -= 1;
      this.#fill(caller, of);
    };
  }

  /** Resumes those that wait, as many as there is room for; each that the fast path takes leaves room for the next. */
  #fill(caller: Caller, of: OfCaller): void {
    for (const resume of of.waiting) {
      if (of.given >= limits.unknownPushesMax) break;
      if (!pushTurns.isOpen) {
        this.#fillLater(caller, of);
        break;
      }
      of.waiting.delete(resume);
      resume();
    }
    // After it was deleted there may be another one under its key.
    const isOver = of.given === 0 && of.waiting.size === 0;
    if (isOver && this.#callers.get(caller.key) === of) this.#callers.delete(caller.key);
  }

  /** To look at each of them takes time of pushes, too. */
  #fillLater(caller: Caller, of: OfCaller): void {
    if (of.isFillingLater) return;
    of.isFillingLater = true;
    pushTurns.wait(caller, () => {
      of.isFillingLater = false;
      this.#fill(caller, of);
    });
  }

  /**
   * Calls `resume` when the framework may have one more; it is given then, or taken otherwise. Only where `mayGive` is false.
   * @returns what takes it out of the line, for when its connection ends.
   */
  wait(caller: Caller, resume: () => void): () => void {
    const { waiting } = this.#of(caller);
    waiting.add(resume);
    return () => void waiting.delete(resume);
  }

  #of(caller: Caller): OfCaller {
    let of = this.#callers.get(caller.key);
    if (of === undefined) {
      of = { given: 0, waiting: new Set(), isFillingLater: false };
      this.#callers.set(caller.key, of);
    }
    return of;
  }
}

/** The push of one connection that the framework has. */
export class GivenPush {
  #end: (() => void) | undefined;

  /** `give` passes its bytes to Node.js, which calls `requested` within it; where its parser has found a fault, there is no request. */
  give(pushes: UnknownPushes, caller: Caller, give: () => void): void {
    this.#end = pushes.give(caller);
    give();
    this.#end?.();
    this.#end = undefined;
  }

  requested(response: ServerResponse): void {
    if (this.#end === undefined) return;
    // Answered, though its client may never read that; or the connection has closed.
    response.once('prefinish', this.#end);
    response.once('close', this.#end);
    this.#end = undefined;
  }
}
