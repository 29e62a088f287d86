// Bounds the time that usual pushes, over MQTT or HTTP, take in one turn of the event loop: thousands of connections send at
// once, and any other request would wait for all of them, once for each of its steps. Beyond the bound the bytes of a
// connection wait, in its socket or as they were received, for a later turn, callers in rotation, so that a caller with
// many connections waits for itself. All other work has loop-turns.ts. Used by mqtt/session/packet-reader.ts and
// http/fast-path/push-connection.ts; each connection waits once at most (I4).
import { limits } from '../../config/limits.ts';
import type { Caller } from './caller.ts';
import { CallerRotation } from './caller-rotation.ts';

class PushTurns {
  readonly #waiting = new CallerRotation();
  /** Milliseconds that usual pushes have taken in this turn of the event loop. */
  #takenMs = 0;
  #isNextAsked = false;
  /** Connections accepted in this turn; whether they were so many in the last one that more of them probably wait; turns that may still be short for that. */
  #accepted = 0;
  #isCrowded = false;
  #crowdedTurnsLeft: number = limits.crowdedTurnsMax;

  /** Whether usual pushes may be taken in this turn. */
  get isOpen(): boolean {
    const { pushTurnMsMax, pushTurnMsCrowded } = limits;
    return this.#takenMs < (this.#isCrowded ? Math.min(pushTurnMsMax, pushTurnMsCrowded) : pushTurnMsMax);
  }

  /** A connection was accepted, at whatever door. */
  connectionAccepted(): void {
    this.#accepted += 1;
    this.#askNext();
  }

  /** Runs work now and counts its time. Call only when `isOpen`. */
  do<T>(work: () => T): T {
    const beganMs = performance.now();
    try {
      return work();
    } finally {
      this.#takenMs += performance.now() - beganMs;
      this.#askNext();
    }
  }

  /** Calls `resume` in a later turn, when it is the caller's. */
  wait(caller: Caller, resume: () => void): void {
    this.#waiting.add(caller, resume);
    this.#askNext();
  }

  #askNext(): void {
    if (this.#isNextAsked) return;
    this.#isNextAsked = true;
    setImmediate(() => {
      this.#isNextAsked = false;
      this.#takenMs = 0;
      this.#isCrowded = this.#accepted >= limits.acceptedPerTurn && this.#crowdedTurnsLeft > 0;
      if (this.#isCrowded) this.#crowdedTurnsLeft -= 1;
      else this.#crowdedTurnsLeft = Math.min(this.#crowdedTurnsLeft + 1, limits.crowdedTurnsMax);
      this.#accepted = 0;
      while (this.isOpen && !this.#waiting.isEmpty) this.#waiting.take()?.();
      if (!this.#waiting.isEmpty) this.#askNext();
    });
  }
}

/** There is one event loop, and so one instance for all doors. */
export const pushTurns = new PushTurns();
