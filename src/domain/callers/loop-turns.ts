// The main thread's time for work that outsiders can bring more of than fits into a turn of the event loop. All such work
// of the process shares one budget of each turn, whatever its kind; what does not fit waits, callers in rotation, so that
// who brings much waits behind itself. Callers that used little of the main thread lately go before those that used much.
// The budget is what everything else (reading sockets, commits, answers, collecting garbage) left of the turn before, so
// that a turn stays short however much of a piece's cost comes after it. Keeps true: the pieces of one caller keep their
// order. What waits is bounded by who asks: a connection, or a request, waits for one piece at a time (I4).
import { limits } from '../../config/limits.ts';
import type { Caller } from './caller.ts';

/** Waiting pieces, by caller; the first caller is next. */
type Rotation = Map<Caller, (() => void)[]>;

export interface TurnBounds {
  /**
   * Milliseconds that a turn of the event loop should take. Once pieces have taken what is left of them no further piece
   * begins in this turn; the piece that passes them is still done.
   */
  readonly turnMsMax: number;
  /** Milliseconds for pieces in each turn, however long everything else takes. */
  readonly turnMsMin: number;
}

export class LoopTurns {
  readonly #bounds: TurnBounds;
  /** Of callers that used little of the main thread lately. */
  readonly #ofLight: Rotation = new Map();
  /** Of those that used much. */
  readonly #ofHeavy: Rotation = new Map();
  /** Pieces taken from the light rotation since the last from the heavy one. */
  #lightInRow = 0;
  /** Milliseconds of this turn of the event loop that pieces may take, and have taken. */
  #allowedMs: number;
  #takenMs = 0;
  #isNextAsked = false;
  /** True from when a `turn` resolves until the piece has been done. */
  #isInTurn = false;
  /** Counts what the promises of the last piece have taken so far. */
  #countUnderWay: () => void = () => {};

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds;
    this.#allowedMs = bounds.turnMsMax;
  }

  /** Whether there is time left in this turn. */
  get isOpen(): boolean {
    return this.#takenMs < this.#allowedMs;
  }

  /** Does a piece now: for when `isOpen`. */
  do<T>(caller: Caller, piece: () => T): T {
    const beganMs = performance.now();
    const takenMs = this.#takenMs;
    try {
      return piece();
    } finally {
      this.#count(caller, beganMs, takenMs);
    }
  }

  /** Does a piece at once, or when it is the caller's turn; what it sets off in promises belongs to its time. */
  run(caller: Caller, piece: () => void): void {
    this.#countUnderWay();
    if (this.isOpen && this.#ofLight.size === 0 && this.#ofHeavy.size === 0) this.#take(caller, piece);
    else this.wait(caller, piece);
  }

  /** Resolves when the caller's next piece may begin; what it does before it waits for something else is the piece. */
  turn(caller: Caller): Promise<void> {
    return new Promise((resolve) => {
      const piece = () => {
        this.#isInTurn = true;
        resolve();
      };
      if (this.#isInTurn) this.wait(caller, piece);
      else this.run(caller, piece);
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
    const ofCaller = this.#ofLight.get(caller) ?? this.#ofHeavy.get(caller);
    if (ofCaller !== undefined) ofCaller.push(piece);
    else this.#rotationOf(caller).set(caller, [piece]);
    this.#askNext();
  }

  #rotationOf(caller: Caller): Rotation {
    return caller.recentWork.isMuch(performance.now()) ? this.#ofHeavy : this.#ofLight;
  }

  /** Does a piece, and says when all that it set off has been done. */
  #take(caller: Caller, piece: () => void, done: () => void = () => {}): void {
    const beganMs = performance.now();
    const takenMs = this.#takenMs;
    const count = () => this.#count(caller, beganMs, takenMs);
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
  #count(caller: Caller, beganMs: number, takenMs: number): void {
    const nowMs = performance.now();
    const newMs = takenMs + nowMs - beganMs - this.#takenMs;
    if (newMs > 0) {
      this.#takenMs += newMs;
      caller.recentWork.add(newMs, nowMs);
    }
    this.#askNext();
  }

  #askNext(): void {
    if (this.#isNextAsked) return;
    this.#isNextAsked = true;
    const askedMs = performance.now();
    setImmediate(() => {
      this.#isNextAsked = false;
      // The event loop does not sleep while this is asked for: what pieces did not take, other work did.
      const otherMs = performance.now() - askedMs - this.#takenMs;
      const { turnMsMax, turnMsMin } = this.#bounds;
      this.#allowedMs = Math.min(turnMsMax, Math.max(turnMsMin, turnMsMax - otherMs));
      this.#takenMs = 0;
      this.#takeNext();
    });
  }

  #takeNext(): void {
    const rotation = this.#nextRotation();
    const [next] = rotation;
    if (next === undefined) return;
    const [caller, pieces] = next;
    const piece = pieces.shift();
    rotation.delete(caller);
    // Behind all others, if it has more.
    if (pieces.length > 0) this.#rotationOf(caller).set(caller, pieces);
    this.#take(caller, piece ?? (() => {}), () => {
      if (this.isOpen) this.#takeNext();
    });
  }

  /** Light callers first; now and then a heavy one, so that none waits for ever. */
  #nextRotation(): Rotation {
    const isLightNext =
      this.#ofHeavy.size === 0 || (this.#ofLight.size > 0 && this.#lightInRow < limits.lightPiecesMax);
    this.#lightInRow = isLightNext ? this.#lightInRow + 1 : 0;
    return isLightNext ? this.#ofLight : this.#ofHeavy;
  }
}

/** Calls back once all promises that a piece of work has settled have had their say: that belongs to its time. */
function afterPromises(done: () => void): void {
  // Ticks that are asked for in a promise's turn come behind all promises.
  queueMicrotask(() => process.nextTick(done));
}

/**
 * Shared by all that outsiders bring beside usual pushes: requests that begin, MQTT packets that the broker handles, short
 * reads, files and long bodies that are read, lists and files that are written, live streams that begin. There is one
 * event loop, and so one of these. Each asks for its turn before a piece of at most some `pieceMsMax`.
 */
export const loopTurns = new LoopTurns(limits);
