// The last step to a subscriber: decides whether a message may be sent to it now, in which QoS, and whether it is its
// turn. Usual messages are encoded once for all subscribers and written together (joined-writes.ts); those that are also
// stored for their subscriber go by way of the broker, one by one. While stored messages are replayed to a session, new
// ones wait, so that their order is kept (I3). Bounded: a subscriber that does not keep up is cut (I4).
import type { AedesPublishPacket, Client } from 'aedes';
import { limits } from '../../config/limits.ts';
import type { SettingId } from '../../domain/devices/setting.ts';
import type { Access, GrantFacts } from '../access.ts';
import type { ClientSession, QoS, Sessions } from '../sessions.ts';
import type { Levels, Topic } from '../topics.ts';
import { type EncodingCount, Frames } from './frame.ts';
import { JoinedWrites, type PublishesOut } from './joined-writes.ts';
import type { Recipients, TopicSubscriber } from './recipients.ts';
import type { SessionReplay } from './replay.ts';
import type { SubscriberBacklog } from './subscriber-backlog.ts';

/** A packet to be sent, as the broker hands it over. */
type OutgoingPacket = AedesPublishPacket & { readonly setting?: SettingId; readonly exactLevels?: Levels };

/** Fields of aedes's connection that its types do not declare. */
interface AedesClient extends Client {
  /** True from CONNACK on. */
  readonly connackSent: boolean;
  waitForDrain(done: () => void): void;
  deliverQoS(packet: object, done: () => void): void;
}

/** A message with what is the same for all its recipients. */
interface MessageToHand {
  readonly packet: OutgoingPacket;
  readonly frames: Frames;
  readonly facts: GrantFacts;
  readonly topic: Topic;
}

export interface ForwardingParts {
  readonly sessions: Sessions;
  readonly access: Access;
  /** Removes a stored message that will not be delivered to the session. */
  readonly forget: (client: Client, packet: OutgoingPacket) => Promise<unknown>;
  readonly backlog: SubscriberBacklog;
  /** Counts how often messages are encoded, and how many are sent. */
  readonly counts: EncodingCount & PublishesOut;
  /** Who is told about settings of actuators. */
  readonly settings: () => {
    /** Called where a setting was handed to a subscriber. */
    handed(session: ClientSession, setting: SettingId, topic: Topic): void;
    /** Whether a retained message contradicts what the subscriber is to know. */
    isOutdated(session: ClientSession, message: OutgoingPacket): boolean;
  };
  /** Called with a subscriber that is cut because it does not keep up. */
  readonly onSlow: (session: ClientSession) => void;
}

export class Forwarding {
  readonly #parts: ForwardingParts;
  readonly #writes: JoinedWrites;
  /**
   * The original of each held message. It is sent as a copy without a number, because the broker would take the number
   * for a repeat.
   */
  readonly #originals = new WeakMap<object, OutgoingPacket>();

  constructor(parts: ForwardingParts) {
    this.#parts = parts;
    this.#writes = new JoinedWrites({
      backlog: parts.backlog,
      counts: parts.counts,
      cut: (session) => this.#cut(session),
    });
  }

  /**
   * Hands a message to its recipients; calls `done` when each has taken or dropped it. It is written at the next
   * `flush`, which the caller owes before it waits for anything.
   */
  handOut(packet: OutgoingPacket, { topic, all }: Recipients, done: () => void): void {
    const message = {
      packet,
      frames: new Frames(packet, this.#parts.counts),
      facts: this.#parts.access.factsOf(topic),
      topic,
    };
    // One more than wait, so that `done` is called behind the last.
    let left = 1;
    const delivered = () => {
      left -= 1;
      if (left === 0) done();
    };
    for (const recipient of all) {
      const session = this.#sessionOf(recipient);
      if (session === undefined || !this.#isUsual(session, packet)) {
        left += 1;
        if (session !== undefined && packet.setting !== undefined) this.#noteUnusual(session, packet, topic);
        deliverByBroker(recipient, session, packet, delivered);
      } else if (this.#handTo(recipient, session, message) === 'unread') {
        left += 1;
        (session.client as AedesClient).waitForDrain(delivered);
      }
    }
    delivered();
  }

  /** Writes what was handed out. */
  flush(): void {
    this.#writes.flush();
  }

  /** Sends a message to one subscriber with QoS 0, whatever its filters. Written at the next `flush`. */
  send(
    session: ClientSession,
    message: { readonly topic: string; readonly payload: Buffer },
    options: { readonly retain?: boolean } = {},
  ): void {
    this.#writes.add(session, new Frames(message, this.#parts.counts, options).of(0));
  }

  #noteSetting(session: ClientSession, { setting }: OutgoingPacket, topic: Topic): void {
    if (setting !== undefined) this.#parts.settings().handed(session, setting, topic);
  }

  /** The broker asks `forward` later, about a copy without the id of the setting. */
  #noteUnusual(session: ClientSession, packet: OutgoingPacket, topic: Topic): void {
    const isGranted = this.#parts.access.grantedQos(session, packet.topic) !== undefined;
    if (isGranted) this.#noteSetting(session, packet, topic);
  }

  #sessionOf({ client, grant }: TopicSubscriber): ClientSession | undefined {
    return grant?.session ?? (client === undefined ? undefined : this.#parts.sessions.of(client));
  }

  /** Whether nothing but the bytes of the message has to go to the subscriber, and nothing goes before it. */
  #isUsual(session: ClientSession, { qos }: OutgoingPacket): boolean {
    const client = session.client as AedesClient;
    if (session.replay !== undefined || session.atBroker > 0) return false;
    return client.connackSent && (qos === 0 || client.clean);
  }

  /** `unread`: the subscriber's socket is full, so the message waits there until the subscriber has read. */
  #handTo(
    recipient: TopicSubscriber,
    session: ClientSession,
    { packet, frames, facts, topic }: MessageToHand,
  ): 'unread' | undefined {
    if (!this.#parts.sessions.isOpen(session)) return undefined;
    const grant = this.#parts.access.grant(session, packet, facts, recipient.grant);
    recipient.grant = grant;
    if (grant.qos === undefined) return undefined;
    this.#writes.add(session, frames.of(Math.min(grant.qos, packet.qos) as QoS));
    this.#noteSetting(session, packet, topic);
    const { closed, conn } = session.client;
    return !closed && conn.writableNeedDrain ? 'unread' : undefined;
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
    if (packet.retain && this.#parts.settings().isOutdated(session, packet)) return null;
    if (isNew && session.replay !== undefined) return this.#hold(session, session.replay, packet);
    session.messagesOut += 1;
    this.#parts.counts.publishesOut += 1;
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

/** The broker asks `forward` about it. */
function deliverByBroker(
  { deliver }: TopicSubscriber,
  session: ClientSession | undefined,
  packet: OutgoingPacket,
  done: () => void,
): void {
  if (session === undefined) {
    deliver(packet, done);
    return;
  }
  session.atBroker += 1;
  deliver(packet, () => {
    session.atBroker -= 1;
    done();
  });
}
