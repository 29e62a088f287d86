// The memory for data being received, by HTTP and MQTT: incomplete request bodies and packets. They share one budget,
// divided among callers, and never exceed it. A body or packet beyond its caller's share is not read until there is
// room, for a bounded time; one that makes no progress is cut, sooner where memory is scarce.
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from './caller.ts';
import type { Callers } from './callers.ts';
import { FairShare } from './fair-share.ts';

/** The reserved memory of one body or packet that is being received. */
export class ByteReservation {
  readonly caller: Caller;
  readonly #share: FairShare;
  readonly #onEnd: (reservation: ByteReservation) => void;
  /** Cuts the body or packet, because nothing more came. */
  readonly cut: () => void;
  bytes = 0;
  /** True while it is not read because memory is missing: then it does not count as stalled. */
  isWaiting = false;
  /** When its last bytes came, in milliseconds since 1970 UTC. */
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

  /** Adds bytes without checking the share. */
  count(bytes: number): void {
    this.#share.force(this.caller, bytes);
    this.bytes += bytes;
  }

  /** Gives all bytes back. */
  end(): void {
    this.#share.release(this.caller, this.bytes);
    this.bytes = 0;
    this.#onEnd(this);
  }
}

/** A reservation that waits for room for more bytes. */
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
  /** Waiting reservations, the longest waiting first. */
  readonly #waiting = new Map<ByteReservation, BudgetWaiter>();
  #looking: NodeJS.Timeout | undefined;

  /** @param parts.passing the memory for all data on its way in or out. */
  constructor(parts: { readonly callers: Callers; readonly clock: Clock; readonly passing?: FairShare }) {
    this.#callers = parts.callers;
    this.#clock = parts.clock;
    this.#share = new FairShare('bodyBytes', {
      aloneMax: limits.receivedBytesMax,
      reserve: limits.receivedBytesReserve,
      within: parts.passing,
    });
  }

  /** Bytes reserved at present. */
  get held(): number {
    return this.#share.held;
  }

  callerAt(address: string): Caller {
    return this.#callers.ofAddress(address);
  }

  /** Begins a reservation; `cut` is called when it makes no progress. */
  begin(caller: Caller, cut: () => void): ByteReservation {
    const reservation = new ByteReservation({
      caller,
      share: this.#share,
      nowMs: this.#clock.elapsedMs(),
      cut,
      onEnd: (ended) => this.#forget(ended),
    });
    this.#open.add(reservation);
    this.#looking ??= setInterval(() => this.#look(), limits.bodyStallLookMs).unref();
    return reservation;
  }

  /**
   * Reserves more bytes. Returns false where the caller's share is used up, and cutting stalled receptions does not
   * free enough.
   */
  take(reservation: ByteReservation, bytes: number): boolean {
    const { caller } = reservation;
    reservation.lastReceivedMs = this.#clock.elapsedMs();
    if (!this.#share.allows(caller, bytes)) this.#cutSilent(limits.bodyStallScarceMs);
    if (!this.#share.allows(caller, bytes)) return false;
    reservation.count(bytes);
    return true;
  }

  /**
   * Reserves more bytes as soon as there is room; the caller stops reading meanwhile. Resolves to false where there
   * is no room in time, the reservation has ended, or too many of the same caller wait already.
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
    this.#waiterShare.release(reservation.caller, 1);
    clearTimeout(waiter.timer);
    reservation.isWaiting = false;
    reservation.lastReceivedMs = this.#clock.elapsedMs();
    if (isRoom) reservation.count(waiter.bytes);
    waiter.resolve(isRoom);
  }

  /** Resumes waiting reservations for which there is room now. */
  #wake(): void {
    for (const [reservation, { bytes }] of this.#waiting) {
      if (this.#share.allows(reservation.caller, bytes)) this.#endWait(reservation, true);
    }
  }

  #look(): void {
    this.#cutSilent(limits.bodyStallMs);
    // Other kinds of traffic may have freed memory of the shared budget.
    if (this.#waiting.size > 0) this.#wake();
  }

  #cutSilent(silentMs: number): void {
    const sinceMs = this.#clock.elapsedMs() - silentMs;
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
