// The last step to a subscriber: decides whether a message may be sent to it now, in which QoS, and whether it is its
// turn. While stored messages are replayed to a session, new ones wait, so that their order is kept (I3). Bounded: a
// subscriber that does not keep up is cut (I4).
import type { AedesPublishPacket, Client } from 'aedes';
import { limits } from '../../config/limits.ts';
import type { Access } from '../access.ts';
import type { ClientSession, Sessions } from '../sessions.ts';
import type { SessionReplay } from './replay.ts';
import type { SubscriberBacklog } from './subscriber-backlog.ts';

/** A packet to be sent, as the broker hands it over. */
type OutgoingPacket = AedesPublishPacket;

/** Fields of aedes's connection that its types do not declare. */
interface AedesClient extends Client {
  deliverQoS(packet: object, done: () => void): void;
}

export interface ForwardingParts {
  readonly sessions: Sessions;
  readonly access: Access;
  /** Removes a stored message that will not be delivered to the session. */
  readonly forget: (client: Client, packet: OutgoingPacket) => Promise<unknown>;
  readonly backlog: SubscriberBacklog;
  /** Called with a subscriber that is cut because it does not keep up. */
  readonly onSlow: (session: ClientSession) => void;
}

export class Forwarding {
  readonly #parts: ForwardingParts;
  /**
   * The original of each held message. It is sent as a copy without a number, because the broker would take the number
   * for a repeat.
   */
  readonly #originals = new WeakMap<object, OutgoingPacket>();

  constructor(parts: ForwardingParts) {
    this.#parts = parts;
  }

  /** The packet to send to the client now, or null. */
  forward(client: Client, packet: OutgoingPacket): OutgoingPacket | null {
    const session = this.#parts.sessions.of(client);
    if (session === undefined) return null;
    const original = this.#originals.get(packet);
    // Messages from the store wait for the socket by themselves.
    const isNew = original === undefined && packet.messageId === undefined;
    if (isNew && !packet.retain && this.#isTooSlow(session, packet)) return this.#cut(session);
    const granted = this.#parts.access.grantedQos(session, packet.topic);
    if (granted === undefined) {
      session.replay?.denied.add(packet);
      return null;
    }
    if (isNew && session.replay !== undefined) return this.#hold(session, session.replay, packet);
    const outgoing = original ?? packet;
    return outgoing.qos <= granted ? outgoing : { ...outgoing, qos: granted };
  }

  /** Whether the message, or another copy of it, is held; then it stays stored. */
  isHeld(clientId: string, packet: { readonly messageId?: number }): boolean {
    const replay = this.#parts.sessions.holderOf(clientId)?.replay;
    return replay !== undefined && packet.messageId === undefined && !replay.denied.has(packet);
  }

  /** The replay has ended: sends the held messages. */
  resume(client: Client): void {
    const session = this.#parts.sessions.of(client);
    const replay = session?.replay;
    if (session === undefined || replay === undefined) return;
    session.replay = undefined;
    for (const packet of replay.held) {
      if (packet.brokerId?.endsWith('/routed') && replay.numbers.has(packet.brokerCounter)) continue;
      if (packet.qos > 0 && this.#parts.access.grantedQos(session, packet.topic) === undefined) {
        void this.#parts.forget(client, packet).catch(() => {});
        continue;
      }
      const copy = { ...packet, brokerId: null };
      this.#originals.set(copy, packet);
      (client as AedesClient).deliverQoS(copy, () => {});
    }
  }

  /** Whether so much waits for the subscriber, or for all of its caller's, that it has to be cut. */
  #isTooSlow(session: ClientSession, { payload, topic }: OutgoingPacket): boolean {
    if (session.client.conn.writableLength > limits.subscriberBytesMax) return true;
    return !this.#parts.backlog.add(session, payload.length + topic.length);
  }

  #hold(session: ClientSession, replay: SessionReplay, packet: OutgoingPacket): null {
    replay.heldBytes += packet.payload.length + packet.topic.length;
    if (replay.heldBytes > limits.subscriberBytesMax) return this.#cut(session);
    replay.held.push(packet);
    return null;
  }

  #cut(session: ClientSession): null {
    this.#parts.onSlow(session);
    session.client.conn.destroy();
    return null;
  }
}
