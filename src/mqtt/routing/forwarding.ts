// The last step to a subscriber: decides whether a message may be sent to it now, in which QoS, and whether it is its
// turn. Usual messages are encoded once for all subscribers and written together (joined-writes.ts); those that are also
// stored for their subscriber go a longer way, one by one (session-delivery.ts). While stored messages are replayed to a
// session, new ones wait, so that their order is kept (I3). Bounded: a subscriber that does not keep up is cut (I4).
import { limits } from '../../config/limits.ts';
import type { SettingId } from '../../domain/devices/setting.ts';
import type { Access, GrantFacts, Match } from '../access.ts';
import {
  aliasBytesMax,
  type PublishContent,
  type PublishForm,
  PublishForms,
  packetBytesOf,
} from '../protocol/publish-forms.ts';
import type { Client } from '../session/client.ts';
import type { Version5 } from '../session/version5.ts';
import type { ClientSession, QoS, Sessions } from '../sessions.ts';
import type { Topic } from '../topics.ts';
import { type Delivered, secondsLeft } from './delivered.ts';
import { JoinedWrites, type PublishesOut } from './joined-writes.ts';
import type { OwedBytes } from './owed-bytes.ts';
import type { Recipients, TopicSubscriber } from './recipients.ts';
import type { SessionReplay } from './replay.ts';
import type { RoutedMessage } from './routed-message.ts';
import type { SharedGroup } from './shared/shared-delivery.ts';
import type { SubscriberBacklog } from './subscriber-backlog.ts';

/** Counts, for the metrics, how often messages are encoded. */
export interface EncodingCount {
  encoded: number;
}

/** A message with what is the same for all its recipients. */
interface MessageToHand {
  readonly message: RoutedMessage;
  readonly forms: PublishForms;
  readonly facts: GrantFacts;
  readonly topic: Topic;
}

/** The longer way of a message to one session; calls `done` when nobody has to wait for it any more. */
export interface LongerWay {
  deliver(session: ClientSession, message: Delivered, done: () => void): void;
}

export interface ForwardingParts {
  readonly sessions: Sessions;
  readonly access: Access;
  /** The longer way of messages that are stored for their subscriber. */
  readonly delivery: () => LongerWay;
  /** Hands a message to one member of a group. */
  readonly shared: () => { give(group: SharedGroup, message: RoutedMessage): Promise<void> | undefined };
  readonly backlog: SubscriberBacklog;
  readonly owed: OwedBytes;
  /** The clock by which messages expire. */
  readonly nowMs: () => number;
  /** Counts how often messages are encoded, and how many are sent. */
  readonly counts: EncodingCount & PublishesOut;
  /** Who is told about settings of actuators. */
  readonly settings: () => {
    /** Called where a setting was handed to a subscriber. */
    handed(session: ClientSession, setting: SettingId, topic: Topic): void;
    /** Whether a retained message contradicts what the subscriber is to know. */
    isOutdated(session: ClientSession, message: { readonly topic: string; readonly payload: unknown }): boolean;
  };
  /** Called with a subscriber that is cut because it does not keep up. */
  readonly onSlow: (session: ClientSession) => void;
}

/** What becomes of a message: it is sent so; it waits for the end of the replay; or the session may not have it. */
export type Forwarded = Match | 'held' | 'denied';

export class Forwarding {
  readonly #parts: ForwardingParts;
  readonly #writes: JoinedWrites;
  readonly #onEncoded: () => void;

  constructor(parts: ForwardingParts) {
    this.#parts = parts;
    this.#writes = new JoinedWrites({
      backlog: parts.backlog,
      counts: parts.counts,
      cut: (session) => this.cut(session),
    });
    this.#onEncoded = () => {
      parts.counts.encoded += 1;
    };
  }

  /**
   * Hands a message to its recipients; calls `done` when each has taken or dropped it, with an error where it could not be
   * stored for a member of a group. It is written at the next `flush`, which the caller owes before it waits for anything.
   */
  handOut(routed: RoutedMessage, { topic, all, groups }: Recipients, done: (error?: unknown) => void): void {
    const expiryS = secondsLeft(routed.expiresMs, this.#parts.nowMs);
    // [MQTT-3.3.2-5]
    if (expiryS === 0) {
      done();
      return;
    }
    const message = {
      message: routed,
      forms: new PublishForms({ ...contentOf(routed), expiryS }, this.#onEncoded),
      facts: this.#parts.access.factsOf(topic),
      topic,
    };
    // One more than wait, so that `done` is called behind the last.
    let left = 1;
    let fault: unknown;
    const delivered = () => {
      left -= 1;
      if (left === 0) done(fault);
    };
    const unstored = (error: unknown) => {
      fault = error;
      delivered();
    };
    for (const group of groups) {
      const stored = this.#parts.shared().give(group, routed);
      if (stored === undefined) continue;
      left += 1;
      stored.then(delivered, unstored);
    }
    for (const recipient of all) {
      const session = this.#sessionOf(recipient);
      if (session === undefined) continue;
      if (!this.#isUsual(session, routed)) {
        left += 1;
        if (routed.setting !== undefined) this.#noteUnusual(session, routed, topic);
        this.#parts.delivery().deliver(session, deliveredOf(routed, session), delivered);
      } else if (this.#handTo(recipient, session, message) === 'unread') {
        left += 1;
        session.client.waitForDrain(delivered);
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
    { retain = false }: { readonly retain?: boolean } = {},
  ): void {
    const forms = new PublishForms(message, this.#onEncoded);
    this.#writes.add(session, forms.of(session.client.version, 0, retain));
  }

  #noteSetting(session: ClientSession, { setting }: RoutedMessage, topic: Topic): void {
    if (setting !== undefined) this.#parts.settings().handed(session, setting, topic);
  }

  #noteUnusual(session: ClientSession, message: RoutedMessage, topic: Topic): void {
    const isGranted = this.#parts.access.grantedQos(session, message.topic) !== undefined;
    if (isGranted) this.#noteSetting(session, message, topic);
  }

  #sessionOf({ client, grant }: TopicSubscriber): ClientSession | undefined {
    return grant?.session ?? this.#parts.sessions.of(client);
  }

  /** Whether nothing but the bytes of the message has to go to the subscriber, and nothing goes before it. */
  #isUsual({ client, replay, onLongWay }: ClientSession, { qos }: RoutedMessage): boolean {
    if (replay !== undefined || onLongWay > 0) return false;
    if (qos === 0) return client.connackSent;
    return client.connackSent && client.clean && client.v5?.window.isOpen !== false;
  }

  /** `unread`: the subscriber's socket is full, so the message waits there until the subscriber has read. */
  #handTo(
    recipient: TopicSubscriber,
    session: ClientSession,
    { message, forms, facts, topic }: MessageToHand,
  ): 'unread' | undefined {
    if (!this.#parts.sessions.isOpen(session)) return undefined;
    const grant = this.#parts.access.grant(session, message, facts, recipient.grant);
    recipient.grant = grant;
    const match = message.publisherId === session.clientId ? grant.ownMatch : grant.match;
    if (match === undefined) return undefined;
    const qos = Math.min(match.qos, message.qos) as QoS;
    const { v5 } = session.client;
    const form = v5 === undefined ? forms.of(session.client.version, qos) : formFor(v5, forms, { message, match, qos });
    if (form === undefined) return undefined;
    if (v5 !== undefined) this.countAliases(session.client);
    if (qos > 0) v5?.window.reserve();
    this.#writes.add(session, form);
    this.#noteSetting(session, message, topic);
    const { closed, conn } = session.client;
    return !closed && conn.writableNeedDrain ? 'unread' : undefined;
  }

  /** Whether a message that goes the longer way may be sent now. */
  judge(session: ClientSession, message: Delivered): Forwarded {
    if (!this.#parts.sessions.isOpen(session)) return 'denied';
    const { qos, retain, isNew } = message;
    // Messages from the store wait for the socket by themselves.
    if (isNew && !retain && this.#isTooSlow(session, message)) {
      this.cut(session);
      return 'held';
    }
    const match = this.matchOf(session, message);
    if (match === undefined) return 'denied';
    if (retain && this.#parts.settings().isOutdated(session, message)) return 'denied';
    if (isNew && session.replay !== undefined) return this.#hold(session, session.replay, message);
    session.messagesOut += 1;
    this.#parts.counts.publishesOut += 1;
    return { ...match, qos: Math.min(qos, match.qos) as QoS };
  }

  /** How the session may have the message by its filters and rights now. */
  matchOf(session: ClientSession, message: Delivered): Match | undefined {
    const { access } = this.#parts;
    const { topic, shared, settledQos, wasSent = false } = message;
    // The filter of a group is chosen already; the right is judged as it is now.
    if (shared !== undefined)
      return access.mayRead(session, topic)
        ? { qos: message.qos, retainAsPublished: true, identifiers: [] }
        : undefined;
    const match = access.matchOf(session, topic, { isOwn: message.publisherId === session.clientId });
    if (settledQos === undefined) return match;
    if (match !== undefined) return { ...match, qos: settledQos };
    const isDue = wasSent && access.mayRead(session, topic);
    return isDue ? { qos: settledQos, retainAsPublished: false, identifiers: [] } : undefined;
  }

  /** Whether the session may have messages on the topic now, whatever its filters. */
  mayHave(session: ClientSession, topic: string): boolean {
    return this.#parts.sessions.isOpen(session) && this.#parts.access.mayRead(session, topic);
  }

  /** The replay has ended: sends the held messages. */
  resume(session: ClientSession | undefined): void {
    const replay = session?.replay;
    if (session === undefined || replay === undefined) return;
    session.replay = undefined;
    for (const message of replay.held) {
      const { brokerId, brokerCounter } = message;
      const isStored = brokerId?.endsWith('/routed') === true || brokerId?.endsWith('/direct') === true;
      if (isStored && brokerCounter !== undefined && replay.numbers.has(brokerCounter)) continue;
      this.#parts.delivery().deliver(session, { ...message, isNew: false }, nothing);
    }
  }

  /** Whether so much waits for the subscriber, or for all of its caller's, that it has to be cut. */
  #isTooSlow(session: ClientSession, message: Delivered): boolean {
    if (session.client.conn.writableLength > limits.subscriberBytesMax) return true;
    return !this.#parts.backlog.add(session, bytesOf(message));
  }

  #hold(session: ClientSession, replay: SessionReplay, message: Delivered): 'held' {
    replay.heldBytes += bytesOf(message);
    if (replay.heldBytes > limits.subscriberBytesMax) this.cut(session);
    else replay.held.push(message);
    return 'held';
  }

  /** An alias may have been set for the client; cuts it where there is no room for more. */
  countAliases(client: Client): void {
    const session = this.#parts.sessions.of(client);
    if (session !== undefined && !this.#parts.owed.hasRoomForAliases(client, session)) this.cut(session);
  }

  /** Ends the connection of a subscriber that does not keep up. */
  cut(session: ClientSession): void {
    this.#parts.onSlow(session);
    session.client.conn.destroy();
  }
}

function bytesOf({ payload, topic, properties }: Delivered): number {
  return payload.length + topic.length + (properties?.length ?? 0);
}

/** As it goes to those who have subscribed before: without RETAIN, but where they ask for it [MQTT-3.3.1-9]. */
function deliveredOf(message: RoutedMessage, { client }: ClientSession): Delivered {
  const { topic, payload, qos, brokerId, brokerCounter, properties, expiresMs, publisherId } = message;
  const common = { topic, payload, qos, retain: false, isNew: true, brokerId, brokerCounter };
  if (client.v5 === undefined) return common;
  return { ...common, properties, expiresMs, publisherId, publishedRetain: message.retain };
}

function contentOf({ topic, payload, properties }: RoutedMessage): PublishContent {
  return properties === undefined ? { topic, payload } : { topic, payload, properties };
}

/** The message for a client of version 5; undefined where it takes no packet so large [MQTT-3.1.2-24]. */
function formFor(
  { options, outbound }: Version5,
  forms: PublishForms,
  { message, match, qos }: { readonly message: RoutedMessage; readonly match: Match; readonly qos: QoS },
): PublishForm | undefined {
  const isRetain = message.retain && match.retainAsPublished;
  const plain = forms.ofReceiver(qos, isRetain, { subscriptionIds: match.identifiers });
  const { packetBytesMax = Number.POSITIVE_INFINITY } = options;
  if (packetBytesOf(plain) > packetBytesMax) return undefined;
  if (options.topicAliasMaximum === 0 || packetBytesOf(plain) + aliasBytesMax > packetBytesMax) return plain;
  const alias = outbound.aliasOf(message.topic);
  return alias === undefined ? plain : forms.ofReceiver(qos, isRetain, { subscriptionIds: match.identifiers, alias });
}

function nothing(): void {}
