// Divides the main thread's time among callers, for work that outsiders can bring more of than fits into a turn of
// the event loop. All such work shares one budget in each turn, whatever its kind. Work beyond the budget waits,
// callers in rotation, so that a caller with much work waits for itself; callers that used little of the main thread
// lately go first. The budget is what everything else (reading sockets, commits, answers, garbage collection) left of
// the turn before, so a turn stays short even where most of a piece's cost comes after it. The pieces of one caller
// keep their order. The number of waiting pieces is bounded by those who ask: each connection or request waits for
// one piece at a time (I4).
import { limits } from '../../config/limits.ts';
import type { TurnTaker } from './caller.ts';

/** Waiting pieces by caller; the first caller in the map is next. */
type Rotation = Map<TurnTaker, (() => void)[]>;

export interface TurnBounds {
  /**
   * Milliseconds that a turn of the event loop should take. When pieces have used what is left of them, no further
   * piece begins in this turn; the piece in progress is finished.
   */
  readonly turnMsMax: number;
  /** Milliseconds for pieces in each turn, even where everything else takes longer than `turnMsMax`. */
  readonly turnMsMin: number;
}

export class LoopTurns {
  readonly #bounds: TurnBounds;
  /** Waiting pieces of callers that used little of the main thread lately. */
  readonly #ofLight: Rotation = new Map();
  /** Waiting pieces of callers that used much. */
  readonly #ofHeavy: Rotation = new Map();
  /** Pieces taken from the light rotation since the last from the heavy one. */
  #lightInRow = 0;
  /** Milliseconds that pieces may take in this turn of the event loop; and milliseconds that they have taken. */
  #allowedMs: number;
  #takenMs = 0;
  #isNextAsked = false;
  /** True from when the promise of `turn` resolves until that piece has been done. */
  #isInTurn = false;
  /** Counts the time that promises of the last piece have taken so far. */
  #countUnderWay: () => void = () => {};

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds;
    this.#allowedMs = bounds.turnMsMax;
  }

  /** Whether pieces may begin in this turn. */
  get isOpen(): boolean {
    return this.#takenMs < this.#allowedMs;
  }

  /** Runs a piece now and counts its time. Call only when `isOpen`. */
  do<T>(caller: TurnTaker, piece: () => T): T {
    const beganMs = performance.now();
    const takenMs = this.#takenMs;
    try {
      return piece();
    } finally {
      this.#count(caller, beganMs, takenMs);
    }
  }

  /** Runs a piece at once, or else when it is the caller's turn. Promises that the piece settles belong to its time. */
  run(caller: TurnTaker, piece: () => void): void {
    this.#countUnderWay();
    if (this.isOpen && this.#ofLight.size === 0 && this.#ofHeavy.size === 0) this.#take(caller, piece);
    else this.wait(caller, piece);
  }

  /**
   * Resolves when the caller's next piece may begin. The code that runs until the caller waits for something else is
   * the piece.
   */
  turn(caller: TurnTaker): Promise<void> {
    return new Promise((resolve) => {
      const piece = () => {
        this.#isInTurn = true;
        resolve();
      };
      if (this.#isInTurn) this.wait(caller, piece);
      else this.run(caller, piece);
    });
  }

  /**
   * Runs the short steps of a longer work in pieces of `pieceMsMax` milliseconds, each when it is the caller's turn.
   */
  async goThrough(caller: TurnTaker, steps: Iterable<unknown>): Promise<void> {
    await this.turn(caller);
    let beganMs = performance.now();
    for (const _ of steps) {
      if (performance.now() - beganMs < limits.pieceMsMax) continue;
      await this.turn(caller);
      beganMs = performance.now();
    }
  }

  /** Runs the piece in a later turn of the event loop, when it is the caller's turn. */
  wait(caller: TurnTaker, piece: () => void): void {
    const ofCaller = this.#ofLight.get(caller) ?? this.#ofHeavy.get(caller);
    if (ofCaller !== undefined) ofCaller.push(piece);
    else this.#rotationOf(caller).set(caller, [piece]);
    this.#askNext();
  }

  #rotationOf(caller: TurnTaker): Rotation {
    return caller.recentWork.isMuch(performance.now()) ? this.#ofHeavy : this.#ofLight;
  }

  /** Runs a piece, and calls `done` when all promises that it settled have run. */
  #take(caller: TurnTaker, piece: () => void, done: () => void = () => {}): void {
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

  /** Counts a piece's time. Pieces may contain others; no time counts twice. */
  #count(caller: TurnTaker, beganMs: number, takenMs: number): void {
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
      // The event loop does not sleep before this immediate, so the time that pieces did not take was taken by other
      // work.
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
    // A caller with more pieces goes behind all others.
    if (pieces.length > 0) this.#rotationOf(caller).set(caller, pieces);
    this.#take(caller, piece ?? (() => {}), () => {
      if (this.isOpen) this.#takeNext();
    });
  }

  /** Callers with little recent work come first; now and then one with much, so that none waits for ever. */
  #nextRotation(): Rotation {
    const isLightNext =
      this.#ofHeavy.size === 0 || (this.#ofLight.size > 0 && this.#lightInRow < limits.lightPiecesMax);
    this.#lightInRow = isLightNext ? this.#lightInRow + 1 : 0;
    return isLightNext ? this.#ofLight : this.#ofHeavy;
  }
}

/** Calls back when all promises that a piece has settled have run, because they belong to the time of the piece. */
function afterPromises(done: () => void): void {
  // A tick that is requested in a microtask runs behind all microtasks.
  queueMicrotask(() => process.nextTick(done));
}

/**
 * Shared by all work that outsiders bring besides usual pushes: requests that begin, MQTT packets that the broker
 * handles, short reads, files and long bodies being read, lists and files being written, live streams that begin.
 * There is one event loop, and so one instance. Each piece asks for its turn and takes at most some `pieceMsMax`.
 */
export const loopTurns = new LoopTurns(limits);
