// Counts what waits for MQTT subscribers whose sockets are not full (unread-packets.ts counts the others), shared among
// callers, so that nobody fills the memory with short messages for many connections that are each below their bound.
// Asked by forwarding.ts for each message. What is counted is given back when the socket has taken it or the connection
// has ended (I4).
import { limits } from '../../config/limits.ts';
import { FairShare } from '../../domain/callers/fair-share.ts';
import type { ClientSession } from '../sessions.ts';

/** What waits for one subscriber. */
interface ClientBacklog {
  /** Estimated messages: sockets report bytes only, so messages are taken to leave in proportion. */
  messages: number;
  /** Bytes waiting at the last check. */
  bytes: number;
  /** Bytes counted in the caller's share. */
  counted: number;
}

export class SubscriberBacklog {
  readonly #share: FairShare;
  /** Subscribers for whom something waits. Bounded by the number of connections. */
  readonly #of = new Map<ClientSession, ClientBacklog>();
  #looking: NodeJS.Timeout | undefined;

  /** @param passing the memory for all data on its way in or out. */
  constructor(passing?: FairShare) {
    const { backlogBytesMax: aloneMax, backlogBytesReserve: reserve } = limits;
    this.#share = new FairShare('backlogBytes', { aloneMax, reserve, within: passing });
  }

  /** Counts a message of so many bytes; false where the caller's share is used up and the subscriber has to be cut. */
  add(session: ClientSession, bytes: number): boolean {
    const { writableLength: waiting, destroyed } = session.client.conn;
    if (waiting === 0 || destroyed) {
      if (this.#of.size > 0) this.#forget(session);
      return true;
    }
    const unread = this.#of.get(session) ?? this.#begin(session);
    this.#lookAt(unread, waiting);
    unread.messages += 1;
    unread.bytes += bytes;
    const weight = weightOf(unread);
    const isAllowed = weight <= limits.backlogBytesEachMin || this.#isAllowed(session, weight - unread.counted);
    this.#count(session, unread, weight);
    return isAllowed;
  }

  #isAllowed({ actor: { caller } }: ClientSession, more: number): boolean {
    if (this.#share.allows(caller, more)) return true;
    // Other subscribers may have read meanwhile.
    this.#lookAtAll();
    return this.#share.allows(caller, more);
  }

  #begin(session: ClientSession): ClientBacklog {
    // Bytes that are waiting already were written in this turn of the event loop.
    const unread = { messages: 1, bytes: session.client.conn.writableLength, counted: 0 };
    this.#of.set(session, unread);
    this.#looking ??= setInterval(() => this.#lookAtAll(), limits.backlogLookMs).unref();
    return unread;
  }

  #lookAtAll(): void {
    for (const [session, unread] of this.#of) {
      const { writableLength, destroyed } = session.client.conn;
      if (writableLength === 0 || destroyed) this.#forget(session);
      else {
        this.#lookAt(unread, writableLength);
        this.#count(session, unread, weightOf(unread));
      }
    }
  }

  /** Gives back what the socket has taken since the last check. */
  #lookAt(unread: ClientBacklog, waiting: number): void {
    if (waiting < unread.bytes) unread.messages *= waiting / unread.bytes;
    unread.bytes = waiting;
  }

  #count(session: ClientSession, unread: ClientBacklog, weight: number): void {
    this.#share.force(session.actor.caller, weight - unread.counted);
    unread.counted = weight;
  }

  #forget(session: ClientSession): void {
    const unread = this.#of.get(session);
    if (unread === undefined) return;
    this.#share.release(session.actor.caller, unread.counted);
    this.#of.delete(session);
    if (this.#of.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }
}

/** Estimated memory: a short message takes far more than its bytes until the socket has it. */
function weightOf({ messages, bytes }: ClientBacklog): number {
  return Math.min(bytes, limits.subscriberBytesMax) + Math.ceil(messages) * limits.backlogMessageBytes;
}
