// The line of those who wait for room in the ingest queue, by caller: back-pressure. A connection waits with its messages
// unread; a message that the broker has already, or an import, waits by itself. When there may be room, callers in rotation
// are resumed in the order in which they came, until the caller is refused again: as many as there is room for, and as
// the turn of the event loop has time for. Used by writer.ts, which bounds the messages by their bytes; connections are
// bounded by their number (I4).
import type { Caller } from '../../callers/caller.ts';

/** A connection that waits, its messages unread. */
export interface ConnectionWaiter {
  /** True for one that was resumed and could do nothing: it keeps its place. */
  readonly wasResumed: boolean;
  /** Whether it would go on, if there is room: a door may want less in the queue than there is room for. */
  readonly isWanted?: () => boolean;
  readonly resume: () => void;
}

interface Waiter {
  /** Bytes of a message that are released when it is resumed; 0 for a connection. */
  readonly bytes: number;
  readonly isWanted: () => boolean;
  readonly resume: () => void;
}

/** Those of one caller, each in order. */
interface CallerWaiters {
  /** Resumed before, and refused once more: they go before the others. */
  readonly returned: Set<Waiter>;
  readonly waiting: Set<Waiter>;
  /** Resumed in this turn of the event loop. */
  resumed: number;
}

export interface CapacityWaitersParts {
  /** How many of one caller are resumed in a turn: whether there was room for messages shows only behind it. */
  readonly wokenMax: number;
  /** Milliseconds of a turn of the event loop for resuming, about. */
  readonly wakeMsMax: number;
  /** Whether the caller was refused since there was last more room. */
  readonly isRefused: (caller: Caller) => boolean;
  /** Called for each message that is resumed. */
  readonly release: (caller: Caller, bytes: number) => void;
}

export class CapacityWaiters {
  readonly #parts: CapacityWaitersParts;
  /** The first caller is next. */
  readonly #callers = new Map<Caller, CallerWaiters>();
  #isNextAsked = false;
  #resuming: Caller | undefined;

  constructor(parts: CapacityWaitersParts) {
    this.#parts = parts;
  }

  /** Whether somebody of the caller waits who would be overtaken by one more that tries now. */
  isWaiting(caller: Caller): boolean {
    return caller !== this.#resuming && this.#callers.has(caller);
  }

  /**
   * Calls `resume` once there may be room.
   * @param waiter.bytes of a message.
   * @returns what takes it out of the line.
   */
  wait(
    caller: Caller,
    { bytes = 0, wasResumed, isWanted = always, resume }: ConnectionWaiter & { readonly bytes?: number },
  ): () => void {
    let ofCaller = this.#callers.get(caller);
    if (ofCaller === undefined) {
      ofCaller = { returned: new Set(), waiting: new Set(), resumed: 0 };
      this.#callers.set(caller, ofCaller);
    }
    const waiter = { bytes, isWanted, resume };
    const line = wasResumed ? ofCaller.returned : ofCaller.waiting;
    line.add(waiter);
    // Room may have been returned before it came, and then nothing else would resume it.
    if (!this.#parts.isRefused(caller) && isWanted()) this.#askNext();
    return () => {
      line.delete(waiter);
      this.#forgetEmpty(caller);
    };
  }

  /** There may be room: resumes the first of each caller in rotation, and more of them in later turns. */
  wake(): void {
    const { wokenMax, wakeMsMax, isRefused } = this.#parts;
    const untilMs = performance.now() + wakeMsMax;
    for (const ofCaller of this.#callers.values()) ofCaller.resumed = 0;
    // Who was resumed and has more comes again at the end of the map.
    for (const [caller, ofCaller] of this.#callers) {
      if (performance.now() >= untilMs) {
        this.#askNext();
        return;
      }
      const first = firstOf(ofCaller);
      if (first === undefined || isRefused(caller) || !first.isWanted()) continue;
      if (ofCaller.resumed >= wokenMax) this.#askNext();
      else this.#resume(caller, ofCaller, first);
    }
  }

  #resume(caller: Caller, ofCaller: CallerWaiters, waiter: Waiter): void {
    if (!ofCaller.returned.delete(waiter)) ofCaller.waiting.delete(waiter);
    ofCaller.resumed += 1;
    this.#callers.delete(caller);
    this.#callers.set(caller, ofCaller);
    if (waiter.bytes > 0) this.#parts.release(caller, waiter.bytes);
    this.#resuming = caller;
    try {
      waiter.resume();
    } finally {
      this.#resuming = undefined;
      this.#forgetEmpty(caller);
    }
  }

  #forgetEmpty(caller: Caller): void {
    const ofCaller = this.#callers.get(caller);
    if (ofCaller?.returned.size === 0 && ofCaller.waiting.size === 0) this.#callers.delete(caller);
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

function firstOf({ returned, waiting }: CallerWaiters): Waiter | undefined {
  const [waiter] = returned.size > 0 ? returned : waiting;
  return waiter;
}

const always = () => true;
