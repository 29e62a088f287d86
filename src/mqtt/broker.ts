// Extends aedes in three respects. It does not route what a client publishes to a sensor or an actuator, because the feed
// delivers that after the commit (I2). It sends all routed messages in one order, in both forms of their topic. And it
// knows which topics have subscribers, so that nothing is done for a message that nobody receives.

import { Aedes, type AedesOptions, type AedesPublishPacket, type Client, type PublishPacket } from 'aedes';
import Packet from 'aedes-packet';
import { writeToStream } from 'mqtt-packet';
import type { Log } from '../base/log.ts';
import { entryBytes, textHeapBytes } from '../base/memory/heap-bytes.ts';
import { LruCache } from '../base/memory/lru-cache.ts';
import { limits } from '../config/limits.ts';
import type { MqttSessions } from '../domain/ports/mqtt-sessions.ts';
import { remembered } from '../domain/remembered.ts';
import type { Actor } from '../domain/users/user.ts';
import type { AnswerOrder } from './answer-order.ts';
import type { MessageKind, OutgoingPublish, PublishRouter } from './subscribers/publish-router.ts';
import type { Deliver } from './subscribers/recipients.ts';
import { type HandOut, Subscribers } from './subscribers/subscribers.ts';
import { keyOf, type Levels } from './topics.ts';

// Otherwise mqtt-packet allocates a buffer for each of 65 536 numbers with the first packet: seven megabytes.
writeToStream.cacheNumbers = false;

type BrokerCallback = (error?: Error) => void;

/** The part of aedes's persistence interface that keeps messages before they are sent. */
export type SessionMessageStore = Pick<
  MqttSessions,
  'storedFilters' | 'storeRetained' | 'hasSubscribers' | 'enqueueForSubscribers'
>;

/** A message that is sent after it is stored and after all messages that were routed before it. */
interface QueuedMessage {
  readonly packet: AedesPublishPacket;
  readonly isSilent: boolean;
  /** Resolves when the message is stored; undefined where nothing has to be stored. */
  readonly stored: Promise<unknown> | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Passes a client's message on to others, in the name of its publisher; resolves when it is routed. */
type Relay = (packet: PublishPacket, publisher: Actor | undefined) => Promise<void>;

/** aedes-packet's types declare a function, not a constructor. */
const BrokerPacket = Packet as unknown as new (original: object, broker: Aedes) => AedesPublishPacket;

/** Methods of aedes that its types do not declare. */
const aedesMethods = Aedes.prototype as unknown as { registerClient(this: Aedes, client: Client): void };

export class Broker extends Aedes implements PublishRouter {
  /** Packets that the domain has taken or dropped; they are not routed. */
  readonly #taken = new WeakSet<object>();
  /** Publishers of messages that aedes has routed by itself (QoS 2, wills). */
  readonly #publishers = new WeakMap<object, Actor>();
  readonly #sessionMessages: SessionMessageStore;
  readonly #relay: Relay;
  readonly #answers: AnswerOrder;
  readonly #subscribers: Subscribers;
  readonly flush: () => void;
  /** How many subscriptions of connected clients match a topic; cleared with every change of a subscription. */
  readonly #wanted = new LruCache<string, number>({
    weightMax: limits.wantedTopicsCachedBytesMax,
    pool: remembered,
    entriesMax: limits.topicsCachedMax,
    weigh: (_, topic) => entryBytes + textHeapBytes(topic),
  });
  #filterCount = 0;
  #queue: QueuedMessage[] = [];
  #advancing = false;

  constructor(
    options: AedesOptions,
    parts: {
      readonly sessionMessages: SessionMessageStore;
      readonly relay: Relay;
      readonly answers: AnswerOrder;
      readonly handOut: HandOut;
      /** Writes what was handed out. */
      readonly flush: () => void;
    },
  ) {
    const subscribers = new Subscribers(parts.handOut);
    super({ ...options, mq: subscribers });
    this.#subscribers = subscribers;
    this.#sessionMessages = parts.sessionMessages;
    this.#relay = parts.relay;
    this.#answers = parts.answers;
    this.flush = parts.flush;
  }

  /** Logs what goes wrong with clients, and faults of the broker. */
  logFaults(log: Log): void {
    this.on('clientError', (client: Client, error: Error) =>
      log.debug({ client: client.id, reason: error.message }, 'an MQTT client was disconnected'),
    );
    this.on('connectionError', (_client: Client, error: Error) =>
      log.debug({ reason: error.message }, 'an MQTT connection failed'),
    );
    (this as NodeJS.EventEmitter).on('error', (error: Error) =>
      log.error({ err: error }, 'the MQTT broker reports a fault'),
    );
  }

  /** Connections by client id. */
  get connections(): Readonly<Record<string, Client>> {
    return (this as unknown as { clients: Record<string, Client> }).clients;
  }

  /** Marks a packet that is only acknowledged, not routed. */
  take(packet: object): void {
    this.#taken.add(packet);
  }

  /** Notes the user in whose name a packet is routed. */
  notePublisher(packet: object, publisher: Actor): void {
    this.#publishers.set(packet, publisher);
  }

  get handedOut(): number {
    return this.#subscribers.handedOut;
  }

  get isWatched(): boolean {
    return this.#filterCount > 0 || this.#sessionMessages.storedFilters > 0;
  }

  wants(topic: string, { qos, retain, user, exactLevels }: MessageKind): boolean {
    // `hasSubscribers` includes the permission of the users, so that sessions that may not receive the message cost
    // almost nothing.
    return (
      retain ||
      this.subscribersOf(topic, exactLevels) > 0 ||
      (qos > 0 && this.#sessionMessages.hasSubscribers({ topic, user, exactLevels }))
    );
  }

  /**
   * Routes a message: stores it where needed, then passes it to its subscribers. Messages leave in the order of the
   * calls, so that none overtakes one that waits for the disk (I3). Resolves when the subscribers have it; callers wait
   * for that, which bounds the queue (I4). They call `flush` after one or several messages, before they wait.
   * @throws Refusal when it could not be stored; it has been sent nevertheless.
   */
  route(message: OutgoingPublish): Promise<void> {
    const packet = new BrokerPacket({ cmd: 'publish', dup: false, ...message }, this);
    const { device, part, user, isOfGuest, setting, exactLevels } = message;
    if (device !== undefined) Object.assign(packet, part === undefined ? { device } : { device, part });
    if (user !== undefined) Object.assign(packet, { user });
    if (isOfGuest === true) Object.assign(packet, { isOfGuest });
    if (setting !== undefined) Object.assign(packet, { setting });
    if (exactLevels !== undefined) Object.assign(packet, { exactLevels });
    const stored = this.#store(packet);
    // `#advance` handles the error; this handler only prevents an unhandled rejection until then.
    stored?.catch(() => {});
    return new Promise((resolve, reject) => {
      this.#queue.push({ packet, isSilent: message.isSilent === true, stored, resolve, reject });
      if (!this.#advancing) void this.#advance();
    });
  }

  /**
   * aedes calls this when a connection is accepted. Ignores a connection that has closed meanwhile, which would
   * block its client id.
   */
  registerClient(client: Client): void {
    if (!client.closed) aedesMethods.registerClient.call(this, client);
  }

  /** aedes calls this for messages of clients, for wills, and for its own `$SYS` messages. */
  override publish(packet: PublishPacket, clientOrDone: Client | BrokerCallback, doneOrNothing?: BrokerCallback): void {
    const called = (typeof clientOrDone === 'function' ? clientOrDone : doneOrNothing) as BrokerCallback;
    // For QoS 2 the callback writes the PUBREC. A failure ends the connection, at once.
    const done = (error?: Error) =>
      error === undefined ? this.#answers.answer(packet, () => called()) : called(error);
    if (this.#taken.has(packet)) setImmediate(done);
    else if (packet.topic.startsWith('$SYS/')) super.publish(packet, done);
    else this.#relay(packet, this.#publishers.get(packet)).then(() => done(), done);
  }

  override subscribe(filter: string, deliver: Deliver, done: () => void): void {
    this.#filterCount += 1;
    this.#wanted.clear();
    super.subscribe(filter, deliver, done);
  }

  override unsubscribe(filter: string, deliver: Deliver, done?: () => void): void {
    this.#filterCount -= 1;
    this.#wanted.clear();
    super.unsubscribe(filter, deliver, done as () => void);
  }

  subscribersOf(topic: string, exactLevels?: Levels): number {
    if (this.#filterCount === 0) return 0;
    const key = keyOf(topic, exactLevels);
    const known = this.#wanted.get(key);
    if (known !== undefined) return known;
    const count = this.#subscribers.count(topic, exactLevels);
    this.#wanted.set(key, count);
    return count;
  }

  #store(packet: AedesPublishPacket): Promise<unknown> | undefined {
    // Both start at once, because message numbers must be given in the order of the queue.
    const retained = packet.retain ? this.#sessionMessages.storeRetained(packet) : undefined;
    const queued = packet.qos > 0 && this.#sessionMessages.storedFilters > 0 ? this.#enqueue(packet) : undefined;
    return retained !== undefined && queued !== undefined ? Promise.all([retained, queued]) : (retained ?? queued);
  }

  async #enqueue(packet: AedesPublishPacket): Promise<void> {
    // One microtask later, so that acknowledgements of the same commit come first.
    await undefined;
    await this.#sessionMessages.enqueueForSubscribers(packet);
  }

  async #advance(): Promise<void> {
    this.#advancing = true;
    let hasWaited = false;
    while (this.#queue.length > 0) {
      const messages = this.#queue;
      this.#queue = [];
      for (const { packet, isSilent, stored, resolve, reject } of messages) {
        if (stored !== undefined) {
          this.flush();
          hasWaited = true;
        }
        const fault = stored && (await faultOf(stored));
        const done = () => (fault === undefined ? resolve() : reject(fault));
        if (isSilent) done();
        else this.#subscribers.emit(packet, done);
      }
    }
    this.#advancing = false;
    // Otherwise whoever routed the messages is still there to do it.
    if (hasWaited) this.flush();
  }
}

/** Bounds of aedes, as the limits are now. */
export function brokerBounds(): Partial<AedesOptions> {
  return {
    // Unbounded: a subscriber that does not keep up is cut, so nobody waits for it.
    concurrency: 0,
    queueLimit: limits.earlyPacketsMax,
    maxInflightInbound: limits.inflightMax,
    maxClientsIdLength: limits.clientIdCharsMax,
    maxTopicLevels: limits.topicLevelsMax,
    drainTimeout: limits.subscriberStallMs,
    heartbeatInterval: 15_000,
    connectTimeout: limits.mqttConnectMsMax,
  };
}

function faultOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
