// How much of what is on its way to subscribers each publisher may have caused: beyond its share, its pushes wait, and go on when
// there is room again (I4). The share depends on what is free, without what subscribers themselves do not read. Used by
// delivery.ts, which is asked about pushes, and delivery-queue.ts, which sends.
import type { Caller } from '../../domain/callers/caller.ts';
import { FairShare } from '../../domain/callers/fair-share.ts';
import type { OutgoingPublish } from './publish-router.ts';

export interface DeliveryShareBounds {
  readonly deliveriesMax: number;
  readonly deliveryBytesMax: number;
  readonly deliveryBytesReserve: number;
  readonly deliveryBytesEachMin: number;
}

export interface DeliveryShareParts {
  readonly bounds: DeliveryShareBounds;
  /** Bytes that wait for subscribers whose sockets are full: no publisher waits for these. */
  readonly unreadBytes: () => number;
  /** Called when there is room again for a publisher for whom there was none. */
  readonly onCapacity: () => void;
}

export class DeliveryShare {
  readonly #bounds: DeliveryShareBounds;
  readonly #unreadBytes: () => number;
  readonly #onCapacity: () => void;
  /** Bytes of messages taken and not sent yet, by publisher. */
  readonly #share: FairShare;
  /** Publishers for whom `isFullFor` was true, until `onCapacity` has been called. */
  readonly #heldUp = new Set<Caller>();
  /** Messages taken and not sent yet. */
  #messages = 0;

  constructor({ bounds, unreadBytes, onCapacity }: DeliveryShareParts) {
    this.#bounds = bounds;
    this.#unreadBytes = unreadBytes;
    this.#onCapacity = onCapacity;
    const { deliveryBytesMax, deliveryBytesReserve: reserve } = bounds;
    this.#share = new FairShare('deliveryBytes', { aloneMax: deliveryBytesMax - reserve, reserve });
  }

  get messages(): number {
    return this.#messages;
  }

  isFullFor(caller: Caller, more: number): boolean {
    const held = this.#share.heldBy(caller);
    const isFull = held > 0 && held + more > this.#shareNow();
    if (isFull) this.#heldUp.add(caller);
    return isFull;
  }

  reserve(caller: Caller, bytes: number): void {
    this.#share.force(caller, bytes);
  }

  release(caller: Caller, bytes: number): void {
    this.#share.release(caller, bytes);
  }

  /** A message of the caller was taken. */
  taken(caller: Caller, bytes: number): void {
    this.#messages += 1;
    this.#share.force(caller, bytes);
  }

  /** A message of the caller was sent, with what it still held. */
  sent(caller: Caller, bytes: number): void {
    this.#messages -= 1;
    this.#share.release(caller, bytes);
    this.lookForCapacity();
  }

  /** Calls `onCapacity` if there is some room again for a publisher for whom there was none. */
  lookForCapacity(): void {
    if (this.#heldUp.size === 0) return;
    const share = this.#shareNow();
    for (const caller of this.#heldUp) {
      if (this.#share.heldBy(caller) > share * roomyPart) continue;
      this.#heldUp.clear();
      this.#onCapacity();
      return;
    }
  }

  /**
   * Bytes that one publisher may have on their way now: as in fair-share.ts, but without those that wait for full
   * sockets, and never less than `deliveryBytesEachMin`.
   */
  #shareNow(): number {
    const { deliveryBytesMax, deliveryBytesReserve: reserve, deliveriesMax } = this.#bounds;
    const isFree = this.#messages <= deliveriesMax;
    const free = isFree ? deliveryBytesMax - Math.max(0, this.#share.held - this.#unreadBytes()) : 0;
    return Math.max((free * (deliveryBytesMax - reserve)) / reserve, this.#bounds.deliveryBytesEachMin);
  }
}

/** A publisher that waited for room goes on when it holds no more than this part of its share. */
const roomyPart = 0.5;

/**
 * Estimated memory of a message beside its bytes; `deliveryBytesMax` thus allow no more than `deliveriesMax` messages.
 */
export const messageBytes = 420;

/** What a message counts for its publisher, without what it costs to hand it out. */
export function publishBytes({ payload, topic, properties }: OutgoingPublish): number {
  return messageBytes + payload.length + topic.length + (properties?.length ?? 0);
}
