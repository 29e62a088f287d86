// What waits for MQTT subscribers whose connections still take more (unread-packets.ts counts the others): shared out by caller, so that
// nobody fills the memory with short messages for many connections, each below its own bound. Asked by forwarding.ts for each message that goes out. Keeps true:
// what is counted of a session is given back when its socket has taken it in or its connection has ended (I4).
import { limits } from '../config/limits.ts';
import { FairShare } from '../domain/callers/fair-share.ts';
import type { ClientSession } from './sessions.ts';

/** What waits for one subscriber. */
interface ClientBacklog {
  /** Messages, about: the socket tells bytes alone, so they are taken to leave as their bytes do. */
  messages: number;
  /** Bytes that waited at the last look. */
  bytes: number;
  /** What is counted of the share. */
  counted: number;
}

export class SubscriberBacklog {
  readonly #share: FairShare;
  /** Of those for whom something waits. Bounded by the number of connections. */
  readonly #of = new Map<ClientSession, ClientBacklog>();
  #looking: NodeJS.Timeout | undefined;

  /** @param passing the memory for all that is on its way in or out. */
  constructor(passing?: FairShare) {
    const { backlogBytesMax: aloneMax, backlogBytesReserve: reserve } = limits;
    this.#share = new FairShare('backlogBytes', { aloneMax, reserve, within: passing });
  }

  /** Counts a message of so many bytes; false where the subscriber is to be cut, because its caller has its share. */
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
    // Others may have read meanwhile.
    this.#lookAtAll();
    return this.#share.allows(caller, more);
  }

  #begin(session: ClientSession): ClientBacklog {
    // What waits before it is counted came in this turn of the event loop.
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

  /** Notes what the socket has taken in since the last look. */
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
    this.#share.giveBack(session.actor.caller, unread.counted);
    this.#of.delete(session);
    if (this.#of.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }
}

/** Bytes of memory: a short message takes far more than its bytes until the socket has it. */
function weightOf({ messages, bytes }: ClientBacklog): number {
  return Math.min(bytes, limits.subscriberBytesMax) + Math.ceil(messages) * limits.backlogMessageBytes;
}
