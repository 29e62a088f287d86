// When connections of the fast path are read while thousands of them push at once. As many pushes are under way to their commit as
// there is room for (push-room.ts). A connection that was just answered is read on when it is its caller's turn, behind all that
// waited before, so that what its client sends next stays in the kernel and costs nothing; one that has sent before that was known
// waits with its bytes, before those of its caller that are unread. Callers in rotation, each connection once at most (I4). The time
// that pushes take in a turn of the event loop has a bound and a rotation of its own (domain/callers/push-turns.ts): where there is
// none left, a connection for which there is room waits there. Used by turn-to-read.ts.
import { Fifo } from '../../base/memory/fifo.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { pushTurns } from '../../domain/callers/push-turns.ts';
import { PushRoom } from './push-room.ts';

/** A connection in a line. */
interface Waiter {
  /** How many pushes will probably come of it. */
  readonly expected: number;
  /** Undefined once it has left. */
  resume: (() => void) | undefined;
}

/** The connections of a caller that wait. */
interface OfCaller {
  readonly withBytes: Fifo<Waiter>;
  readonly unread: Fifo<Waiter>;
}

export class ReadingTurns {
  readonly #room = new PushRoom(busyShare(), () => this.#askNext());
  /** The first caller in the map is next. */
  readonly #waiting = new Map<Caller, OfCaller>();
  /** Pushes that may come of connections that go on since this turn of the event loop began, and of those that wait for time. */
  #expected = 0;
  #expectedLater = 0;
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

  /**
   * Calls `resume` when there is room and it is the caller's turn; there may be none left then.
   * @returns what takes the connection out of the line.
   */
  waitWithBytes(caller: Caller, resume: () => void): () => void {
    return this.#enter(caller, 'withBytes', { expected: 1, resume });
  }

  /**
   * Calls `resume` when there is room and it is the caller's turn to be read.
   * @param expected how many pushes will probably be read: as many as the connection sent last.
   * @returns what takes the connection out of the line.
   */
  waitUnread(caller: Caller, expected: number, resume: () => void): () => void {
    return this.#enter(caller, 'unread', { expected, resume });
  }

  #enter(caller: Caller, line: keyof OfCaller, waiter: Waiter): () => void {
    let ofCaller = this.#waiting.get(caller);
    if (ofCaller === undefined) {
      ofCaller = { withBytes: new Fifo(), unread: new Fifo() };
      this.#waiting.set(caller, ofCaller);
    }
    ofCaller[line].add(waiter);
    if (this.hasRoom) this.#askNext();
    return () => {
      waiter.resume = undefined;
    };
  }

  #askNext(): void {
    if (this.#isNextAsked) return;
    this.#isNextAsked = true;
    setImmediate(() => {
      this.#isNextAsked = false;
      this.#expected = 0;
      while (this.#room.hasFor(this.#expected + this.#expectedLater) && this.#waiting.size > 0) this.#takeNext();
      if (this.hasRoom && this.#waiting.size > 0) this.#askNext();
    });
  }

  /** Takes a connection of the next caller, which goes behind all others then. What those that were unread send comes before the next turn. */
  #takeNext(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [caller, ofCaller] = first;
    const waiter = ofCaller.withBytes.take() ?? ofCaller.unread.take();
    this.#waiting.delete(caller);
    if (!ofCaller.withBytes.isEmpty || !ofCaller.unread.isEmpty) this.#waiting.set(caller, ofCaller);
    if (waiter?.resume === undefined) return;
    if (pushTurns.isOpen) this.#resume(waiter);
    else {
      this.#expectedLater += waiter.expected;
      pushTurns.wait(caller, () => {
        this.#expectedLater -= waiter.expected;
        this.#resume(waiter);
      });
    }
  }

  #resume(waiter: Waiter): void {
    this.#expected += waiter.expected;
    waiter.resume?.();
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
