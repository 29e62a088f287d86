// The main thread's time for work that outsiders can bring more of than fits into a turn of the event loop. All work that
// shares one LoopTurns takes a bounded part of each turn, however many pieces there are; what does not fit waits, callers
// in turns, so that who brings much waits behind itself. Keeps true: the pieces of one caller keep their order. What waits
// is bounded by who asks: a connection, or a request, waits for one piece at a time (I4).
import { limits } from '../../config/limits.ts';
import type { Caller } from './caller.ts';

export class LoopTurns {
  readonly #msMax: number;
  /** Callers whose pieces wait, whose turn it is first. */
  readonly #waiting = new Map<Caller, (() => void)[]>();
  /** Milliseconds of this turn of the event loop that pieces have taken. */
  #takenMs = 0;
  #isNextAsked = false;
  /** True from when a `turn` resolves until the piece has been done. */
  #isInTurn = false;
  /** Counts what the promises of the last piece have taken so far. */
  #countUnderWay: () => void = () => {};

  /** @param options.msMax milliseconds of a turn after which no further piece begins in it; the piece that passes them is still done. */
  constructor(options: { readonly msMax: number }) {
    this.#msMax = options.msMax;
  }

  /** Whether there is time left in this turn. */
  get isOpen(): boolean {
    return this.#takenMs < this.#msMax;
  }

  /** Does a piece now: for when `isOpen`. */
  do<T>(piece: () => T): T {
    const beganMs = performance.now();
    const takenMs = this.#takenMs;
    try {
      return piece();
    } finally {
      this.#count(beganMs, takenMs);
    }
  }

  /**
   * Does a piece at once, or when it is the caller's turn; what it sets off in promises belongs to its time.
   * @param callerOf asked only where it has to wait.
   */
  run(callerOf: () => Caller, piece: () => void): void {
    this.#countUnderWay();
    if (this.isOpen && this.#waiting.size === 0) this.#take(piece);
    else this.wait(callerOf(), piece);
  }

  /** Resolves when the caller's next piece may begin; what it does before it waits for something else is the piece. */
  turn(caller: Caller): Promise<void> {
    return new Promise((resolve) => {
      const piece = () => {
        this.#isInTurn = true;
        resolve();
      };
      if (this.#isInTurn) this.wait(caller, piece);
      else this.run(() => caller, piece);
    });
  }

  /** Goes through the steps of a work, which are short, in pieces of `pieceMsMax`, each when it is the caller's turn. */
  async goThrough(caller: Caller, steps: Iterable<unknown>): Promise<void> {
    await this.turn(caller);
    let beganMs = performance.now();
    for (const _ of steps) {
      if (performance.now() - beganMs < limits.pieceMsMax) continue;
      await this.turn(caller);
      beganMs = performance.now();
    }
  }

  /** Does the piece in a later turn of the event loop, when it is the caller's. */
  wait(caller: Caller, piece: () => void): void {
    const ofCaller = this.#waiting.get(caller);
    if (ofCaller === undefined) this.#waiting.set(caller, [piece]);
    else ofCaller.push(piece);
    this.#askNext();
  }

  /** Does a piece, and says when all that it set off has been done. */
  #take(piece: () => void, done: () => void = () => {}): void {
    const beganMs = performance.now();
    const takenMs = this.#takenMs;
    const count = () => this.#count(beganMs, takenMs);
    this.#countUnderWay = count;
    piece();
    count();
    afterPromises(() => {
      this.#isInTurn = false;
      this.#countUnderWay = () => {};
      count();
      done();
    });
  }

  /** Pieces may lie within others; no time counts twice. */
  #count(beganMs: number, takenMs: number): void {
    this.#takenMs = Math.max(this.#takenMs, takenMs + performance.now() - beganMs);
    this.#askNext();
  }

  #askNext(): void {
    if (this.#isNextAsked) return;
    this.#isNextAsked = true;
    setImmediate(() => {
      this.#isNextAsked = false;
      this.#takenMs = 0;
      this.#takeNext();
    });
  }

  #takeNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) return;
    const [caller, pieces] = next;
    const piece = pieces.shift();
    this.#waiting.delete(caller);
    // Behind all others, if it has more.
    if (pieces.length > 0) this.#waiting.set(caller, pieces);
    this.#take(piece ?? (() => {}), () => {
      if (this.isOpen) this.#takeNext();
    });
  }
}

/** Calls back once all promises that a piece of work has settled have had their say: that belongs to its time. */
function afterPromises(done: () => void): void {
  // Ticks that are asked for in a promise's turn come behind all promises.
  queueMicrotask(() => process.nextTick(done));
}

/**
 * Shared by all that works on one request for longer than a moment: files and long bodies that are read, lists and files
 * that are written, live streams that begin. There is one event loop, and so one of these. Each asks for its turn before a
 * piece of at most some `pieceMsMax`.
 */
export const longWork = new LoopTurns({ msMax: limits.turnMsMax });
