// The memory for what is being received: request bodies and MQTT packets that have not come whole. All of them share one
// budget, by caller. Used by both edges. Keeps true: together they hold no more than the budget; what is begun and then
// left lying is cut, soonest where memory is scarce; what its caller has no share for is not read on until there is room,
// for a bounded time.
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from './caller.ts';
import type { Callers } from './callers.ts';
import { FairShare } from './fair-share.ts';

/** Something that is being received. */
export class ByteReservation {
  readonly caller: Caller;
  readonly #share: FairShare;
  readonly #onEnd: (reservation: ByteReservation) => void;
  /** Ends it from outside, because nothing more came. */
  readonly cut: () => void;
  bytes = 0;
  /** True while nothing is read of it, because there is no room: then nobody is silent. */
  isWaiting = false;
  /** When something came last, milliseconds since 1970 UTC. */
  lastReceivedMs: number;

  constructor(parts: {
    readonly caller: Caller;
    readonly share: FairShare;
    readonly nowMs: number;
    readonly cut: () => void;
    readonly onEnd: (reservation: ByteReservation) => void;
  }) {
    this.caller = parts.caller;
    this.#share = parts.share;
    this.#onEnd = parts.onEnd;
    this.cut = parts.cut;
    this.lastReceivedMs = parts.nowMs;
  }

  count(bytes: number): void {
    this.#share.force(this.caller, bytes);
    this.bytes += bytes;
  }

  end(): void {
    this.#share.giveBack(this.caller, this.bytes);
    this.bytes = 0;
    this.#onEnd(this);
  }
}

/** Something that waits for room for so many bytes more. */
interface BudgetWaiter {
  readonly bytes: number;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (isRoom: boolean) => void;
}

export class ByteBudget {
  readonly #callers: Callers;
  readonly #clock: Clock;
  readonly #share: FairShare;
  readonly #waiterShare = new FairShare('bodyWaiters', {
    aloneMax: limits.receivedWaitingMax,
    reserve: limits.receivedWaitingReserve,
  });
  readonly #open = new Set<ByteReservation>();
  /** Who has waited longest comes first. */
  readonly #waiting = new Map<ByteReservation, BudgetWaiter>();
  #looking: NodeJS.Timeout | undefined;

  /** @param parts.passing the memory for all that is on its way in or out. */
  constructor(parts: { readonly callers: Callers; readonly clock: Clock; readonly passing?: FairShare }) {
    this.#callers = parts.callers;
    this.#clock = parts.clock;
    this.#share = new FairShare('bodyBytes', {
      aloneMax: limits.receivedBytesMax,
      reserve: limits.receivedBytesReserve,
      within: parts.passing,
    });
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#share.held;
  }

  callerAt(address: string): Caller {
    return this.#callers.ofAddress(address);
  }

  /** Something begins to come; `cut` is called when it is left lying. */
  begin(caller: Caller, cut: () => void): ByteReservation {
    const reservation = new ByteReservation({
      caller,
      share: this.#share,
      nowMs: this.#clock.now(),
      cut,
      onEnd: (ended) => this.#forget(ended),
    });
    this.#open.add(reservation);
    this.#looking ??= setInterval(() => this.#look(), limits.bodyStallLookMs).unref();
    return reservation;
  }

  /** Counts more bytes of it; false where its caller has its share, and nothing left lying makes room. */
  take(reservation: ByteReservation, bytes: number): boolean {
    const { caller } = reservation;
    reservation.lastReceivedMs = this.#clock.now();
    if (!this.#share.allows(caller, bytes)) this.#cutSilent(limits.bodyStallScarceMs);
    if (!this.#share.allows(caller, bytes)) return false;
    reservation.count(bytes);
    return true;
  }

  /**
   * Counts more bytes of it as soon as there is room, while nothing is read of it. Resolves to false where there is none in
   * time, it has ended meanwhile, or too many of its caller wait already.
   */
  async wait(reservation: ByteReservation, bytes: number): Promise<boolean> {
    const { caller } = reservation;
    if (!this.#waiterShare.take(caller, 1)) return false;
    reservation.isWaiting = true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#endWait(reservation, false), limits.receivedWaitMs);
      this.#waiting.set(reservation, { bytes, timer, resolve });
    });
  }

  #endWait(reservation: ByteReservation, isRoom: boolean): void {
    const waiter = this.#waiting.get(reservation);
    if (waiter === undefined) return;
    this.#waiting.delete(reservation);
    this.#waiterShare.giveBack(reservation.caller, 1);
    clearTimeout(waiter.timer);
    reservation.isWaiting = false;
    reservation.lastReceivedMs = this.#clock.now();
    if (isRoom) reservation.count(waiter.bytes);
    waiter.resolve(isRoom);
  }

  /** Lets go on who waits and has room now. */
  #wake(): void {
    for (const [reservation, { bytes }] of this.#waiting) {
      if (this.#share.allows(reservation.caller, bytes)) this.#endWait(reservation, true);
    }
  }

  #look(): void {
    this.#cutSilent(limits.bodyStallMs);
    // What else is on its way may have made room.
    if (this.#waiting.size > 0) this.#wake();
  }

  #cutSilent(silentMs: number): void {
    const sinceMs = this.#clock.now() - silentMs;
    for (const reservation of this.#open)
      if (reservation.lastReceivedMs <= sinceMs && !reservation.isWaiting) reservation.cut();
  }

  #forget(reservation: ByteReservation): void {
    this.#open.delete(reservation);
    this.#endWait(reservation, false);
    if (this.#waiting.size > 0) this.#wake();
    if (this.#open.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }
}
