// The last step to a subscriber: may this message go out to it now, in which QoS, and is it its turn? While a session
// that came back gets what was kept for it, what is new waits, so that its messages come in their order (I3). Bounded:
// a subscriber that does not keep up is cut (I4).
import type { AedesPublishPacket, Client } from 'aedes';
import { limits } from '../config/limits.ts';
import type { Access } from './access.ts';
import type { SessionReplay } from './replay.ts';
import type { ClientSession, Sessions } from './sessions.ts';
import type { SubscriberBacklog } from './subscriber-backlog.ts';

/** What goes out, or is about to, as the broker hands it over. */
type OutgoingPacket = AedesPublishPacket;

/** A connection of aedes, with what its types do not show. */
interface AedesClient extends Client {
  deliverQoS(packet: object, done: () => void): void;
}

export interface ForwardingParts {
  readonly sessions: Sessions;
  readonly access: Access;
  /** Forgets a message that was kept for a session and will not be delivered. */
  readonly forget: (client: Client, packet: OutgoingPacket) => Promise<unknown>;
  readonly backlog: SubscriberBacklog;
  /** Told of a subscriber that is cut because it does not keep up. */
  readonly onSlow: (session: ClientSession) => void;
}

export class Forwarding {
  readonly #parts: ForwardingParts;
  /** Held messages on their way out; their copy has no number, because by its number the broker knows them already. */
  readonly #originals = new WeakMap<object, OutgoingPacket>();

  constructor(parts: ForwardingParts) {
    this.#parts = parts;
  }

  /** The message as it goes out to the client now, or null. */
  forward(client: Client, packet: OutgoingPacket): OutgoingPacket | null {
    const session = this.#parts.sessions.of(client);
    if (session === undefined) return null;
    const original = this.#originals.get(packet);
    // What comes from the store waits for the socket by itself.
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

  /** Is it held, or another copy of one that is? Then it stays kept. */
  isHeld(clientId: string, packet: { readonly messageId?: number }): boolean {
    const replay = this.#parts.sessions.holderOf(clientId)?.replay;
    return replay !== undefined && packet.messageId === undefined && !replay.denied.has(packet);
  }

  /** All that was kept has gone out: now what was held. */
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

  /** Whether so much waits for the subscriber, or for all of its caller, that it is cut. */
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
