// When connections of the fast path are read while thousands of them push at once. As many pushes are under way to their commit as
// there is room for (push-room.ts). A connection that was just answered is read on when it is its caller's turn, behind all that
// waited before, so that what its client sends next stays in the kernel and costs nothing; one that has sent before that was known
// waits with its bytes, before those of its caller that are unread. Callers in rotation, each connection once at most (I4). The time that pushes
// take in a turn of the event loop has a bound of its own (domain/callers/push-turns.ts). Used by push-connection.ts.
import { Fifo } from '../../base/memory/fifo.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { pushTurns } from '../../domain/callers/push-turns.ts';
import { PushRoom } from './push-room.ts';

/** The connections of a caller that wait. */
interface OfCaller {
  readonly withBytes: Fifo<() => void>;
  readonly unread: Fifo<() => void>;
}

export class ReadingTurns {
  readonly #room = new PushRoom(busyShare(), () => this.#askNext());
  /** The first caller in the map is next. */
  readonly #waiting = new Map<Caller, OfCaller>();
  /** Pushes that may come of connections that are read on since this turn of the event loop began. */
  #expected = 0;
  #isNextAsked = false;

  /** Pushes are on their way to a commit, until `ended`. */
  begun(count: number): void {
    this.#room.begun(count);
  }

  /** They are stored, or refused. */
  ended(count: number): void {
    this.#room.ended(count);
  }

  /** Whether more pushes may be taken. */
  get hasRoom(): boolean {
    return !this.#room.isFull;
  }

  /** Whether connections that were just answered are to wait for their turn. */
  get isCrowded(): boolean {
    return this.#room.isFull || this.#waiting.size > 0;
  }

  /** Calls `resume` when there is room and it is the caller's turn; there may be none left then. */
  waitWithBytes(caller: Caller, resume: () => void): void {
    this.#of(caller).withBytes.add(resume);
    if (this.hasRoom) this.#askNext();
  }

  /**
   * Calls `readOn` when there is room and it is the caller's turn.
   * @param expected how many pushes will probably be read: as many as the connection sent last.
   */
  waitUnread(caller: Caller, expected: number, readOn: () => void): void {
    this.#of(caller).unread.add(() => {
      this.#expected += expected;
      readOn();
    });
    if (this.hasRoom) this.#askNext();
  }

  #askNext(): void {
    if (this.#isNextAsked) return;
    this.#isNextAsked = true;
    setImmediate(() => {
      this.#isNextAsked = false;
      this.#expected = 0;
      while (this.#isOpen && this.#takeNext());
      if (this.hasRoom && this.#waiting.size > 0) this.#askNext();
    });
  }

  /**
   * Resumes one connection of the next caller, which goes behind all others then. What those that were unread send comes before the
   * next turn. False: none waits, or what is expected takes the room that is left.
   */
  #takeNext(): boolean {
    const [first] = this.#waiting;
    if (first === undefined) return false;
    const [caller, { withBytes, unread }] = first;
    if (withBytes.isEmpty && !this.#room.hasFor(this.#expected)) return false;
    const resume = withBytes.take() ?? unread.take();
    this.#waiting.delete(caller);
    if (!withBytes.isEmpty || !unread.isEmpty) this.#waiting.set(caller, { withBytes, unread });
    resume?.();
    return true;
  }

  #of(caller: Caller): OfCaller {
    let ofCaller = this.#waiting.get(caller);
    if (ofCaller === undefined) {
      ofCaller = { withBytes: new Fifo(), unread: new Fifo() };
      this.#waiting.set(caller, ofCaller);
    }
    return ofCaller;
  }

  get #isOpen(): boolean {
    return this.hasRoom && pushTurns.isOpen;
  }
}

/** How much of the time since the last call this thread was busy. */
function busyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
