// Implements the port of stored sessions on the tables of an engine, across restarts and crashes: sessions, queued messages, QoS 2 handshakes, wills and retained messages. Beside it, the ownership of sessions. A
// promise resolves when its change is on disk (I1); the exception is the packet id of a QoS 1 delivery.
import { Readable } from 'node:stream';
import type { Log } from '../../../base/log.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { type AgeClocks, trusted } from '../../../base/time/clock-watch.ts';
import { limits } from '../../../config/limits.ts';
import type {
  BrokerIdentity,
  IncomingIds,
  JoinedWrites,
  MqttSessions,
  PacketClient,
  QueueRecipient,
  RetainedCandidate,
  RetainedCapacity,
  RoutedMessage,
  StoredFigures,
  StoredPacket,
  StoredSessionFacts,
  Subscription,
  TopicSubscription,
  WillKey,
} from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import { MqttRetained } from './mqtt-retained.ts';
import type { MqttTables } from './mqtt-tables.ts';
import { type MqttQuotas, MqttUsage } from './mqtt-usage.ts';
import { MqttWills } from './mqtt-wills.ts';
import { MqttWrites } from './mqtt-writes.ts';
import { MqttExpiry } from './sessions/mqtt-expiry.ts';
import { MqttIncoming } from './sessions/mqtt-incoming.ts';
import { MqttOutgoing } from './sessions/mqtt-outgoing.ts';
import { SessionAdoption } from './sessions/session-adoption.ts';
import { SessionIndex } from './sessions/session-index.ts';
import { SessionTransfer } from './sessions/session-transfer.ts';
import { type SessionRules, StoredSessions } from './sessions/stored-sessions.ts';
import { SubscriptionWrites } from './sessions/subscription-writes.ts';

export interface MqttPersistenceOptions {
  readonly tables: MqttTables;
  /** Whether a filter matches topics of this form, with or without the leading slash. */
  readonly matchesForm: SessionRules['matchesForm'];
  /** Whether a message is kept for sessions of this user; without it, always. */
  readonly mayReceive?: SessionRules['mayReceive'];
  /** Whether a client is connected under this id; without it, never. */
  readonly isInUse?: SessionRules['isInUse'];
  /** How long a session of this user is kept after its client went away; without it, for ever. */
  readonly expiryMsOf?: SessionRules['expiryMsOf'];
  /** How much each user may store; without it, as much as the limits allow. */
  readonly quotas?: MqttQuotas;
  /** By which sessions are too old; without it, by the clock of the machine. */
  readonly clocks?: AgeClocks;
  readonly log?: Log;
}

export class MqttPersistence implements MqttSessions {
  readonly #tables: MqttTables;
  readonly #writes: MqttWrites;
  readonly #usage: MqttUsage;
  readonly #index: SessionIndex;
  readonly #sessions: StoredSessions;
  readonly #subscriptionWrites: SubscriptionWrites;
  readonly #outgoing: MqttOutgoing;
  readonly #incoming: MqttIncoming;
  readonly #wills: MqttWills;
  readonly #retained: MqttRetained;
  readonly #expiry: MqttExpiry;
  readonly #transfer: SessionTransfer;
  readonly #adoption: SessionAdoption | undefined;
  readonly #clocks: AgeClocks;
  readonly #log: Log | undefined;
  readonly #expiryMsOf: SessionRules['expiryMsOf'];
  #usageTimer: NodeJS.Timeout | undefined;

  constructor(options: MqttPersistenceOptions) {
    const { tables, matchesForm, quotas = unlimited, clocks = trusted(systemClock), log } = options;
    const { mayReceive = () => true, isInUse = () => false, expiryMsOf = () => undefined } = options;
    this.#tables = tables;
    this.#clocks = clocks;
    this.#log = log;
    this.#expiryMsOf = expiryMsOf;
    this.#writes = new MqttWrites(tables);
    this.#usage = new MqttUsage(quotas);
    const rules = { matchesForm, mayReceive, isInUse, expiryMsOf };
    this.#index = new SessionIndex(rules, this.#usage);
    const shared = { writes: this.#writes, reads: tables.reads, usage: this.#usage, index: this.#index };
    this.#sessions = new StoredSessions({ ...shared, rules });
    this.#usage.onChange = () => {
      this.#usageTimer = setTimeout(() => void this.#writeUsage(), limits.mqttUsageLagMsMax).unref();
    };
    const parts = { ...shared, sessions: this.#sessions, matchesForm };
    this.#subscriptionWrites = new SubscriptionWrites(parts);
    this.#outgoing = new MqttOutgoing(parts);
    this.#incoming = new MqttIncoming(parts);
    this.#wills = new MqttWills(parts);
    this.#retained = new MqttRetained(parts);
    this.#expiry = new MqttExpiry({ sessions: this.#sessions, clock: clocks, log });
    this.#transfer = new SessionTransfer({ ...parts, tables, outgoing: this.#outgoing });
    const { handover } = tables;
    this.#adoption =
      handover && new SessionAdoption({ handover, take: (clientId) => this.#transfer.take(clientId), log });
  }

  /** Number of messages not kept because a session or the retained messages were full. */
  get dropped(): number {
    return this.#outgoing.dropped + this.#retained.dropped;
  }

  get sessionCount(): number {
    return this.#index.size;
  }

  /** Filters of stored sessions with QoS above 0. */
  get storedFilters(): number {
    return this.#index.subscriptions.count().subsCount;
  }

  get retainedCount(): number {
    return this.#retained.size;
  }

  figures(): StoredFigures {
    const { sessionCount, retainedCount, dropped } = this;
    return { sessionCount, filterCount: this.#index.subscriptions.filterCount, retainedCount, dropped };
  }

  /** Resolves when no session is due to expire and no write is pending. */
  async idle(): Promise<void> {
    await this.#expiry.idle();
    await this.#writeUsage();
    await this.#writes.idle();
  }

  // --- Ownership of sessions, and what they take --------------------------------------------------------------

  /** Users with stored sessions, each once. */
  sessionUsers(): Iterable<UserKey> {
    return this.#index.users();
  }

  /** Client ids of a user's stored sessions, or of all. */
  sessionIds(user?: UserKey): Iterable<string> {
    return this.#sessions.idsOf(user, this.#clocks.forAge.now());
  }

  /** What is stored of the session of this client id, unless it has expired. */
  findSession(clientId: string): StoredSessionFacts | undefined {
    return this.#sessions.factsOf(clientId, this.#clocks.forAge.now());
  }

  /**
   * The owner of the stored session of this client id; undefined where there is none, it has no owner, or it has
   * expired.
   */
  sessionOwner(clientId: string): UserKey | undefined {
    const session = this.#index.find(clientId);
    return session === undefined || this.#sessions.isExpired(session, this.#clocks.forAge.now())
      ? undefined
      : session.user;
  }

  /** Like `sessionOwner`, but removes an expired session before it resolves. */
  async findSessionOwner(clientId: string): Promise<UserKey | undefined> {
    const session = this.#index.find(clientId);
    if (session === undefined) return undefined;
    if (!this.#sessions.isExpired(session, this.#clocks.forAge.now())) return session.user;
    await this.#sessions.end(clientId);
    return undefined;
  }

  /**
   * Makes the persistent session of this client id the user's own.
   * @throws Refusal `exists` when it is another user's, `busy` when there are too many sessions.
   */
  async claimSession(clientId: string, user: UserKey, expiryS?: number): Promise<void> {
    const learned = this.#usage.learn(user);
    if (learned !== undefined) await learned;
    await this.#sessions.claim(clientId, user, expiryS);
  }

  /** Stores the time at which the client of a persistent session went away. */
  leaveSession(clientId: string, expiryS?: number): void {
    this.#sessions.leave(clientId, this.#clocks.forExpiry.now(), expiryS);
  }

  /** Removes all that is stored of a session [MQTT-3.1.2-6]. */
  endSession(clientId: string): Promise<void> {
    return this.#sessions.end(clientId);
  }

  letGoSession(clientId: string): Promise<void> {
    return this.#transfer.letGo(clientId);
  }

  takeSession(clientId: string): Promise<void> {
    return this.#transfer.take(clientId);
  }

  /** Removes all sessions and wills of a user, and retained messages on topics that belong to the user alone. */
  async forgetUser(user: UserKey, ownTopics: readonly { readonly from: string; readonly to: string }[]): Promise<void> {
    await Promise.all([
      this.#sessions.endAllOf(user),
      this.#wills.removeAllOf(user),
      this.#retained.removeAllOf(user, ownTopics),
    ]);
  }

  noteRetainedRemoved(count: number): void {
    this.#retained.size -= count;
  }

  /** How long a session of this user may be kept after its client has gone. */
  expiryMsMaxOf(user: UserKey): number | undefined {
    return this.#expiryMsOf(user);
  }

  /** Bytes that the user's quota allows for sessions. */
  sessionBytesMaxOf(user: UserKey): number {
    return this.#usage.sessionBytesMax(user);
  }

  /** Whether the user's quota allows so many more bytes, for a will. */
  async hasCapacityForBytes(user: UserKey, bytes: number): Promise<boolean> {
    await this.#usage.learn(user);
    return this.#usage.hasCapacityFor({ user, heldBytes: Number.POSITIVE_INFINITY }, bytes);
  }

  /** Whether the user's quota allows these messages to be retained, and what they would add. */
  capacityToRetain(user: UserKey, packets: readonly RetainedCandidate[]): RetainedCapacity | Promise<RetainedCapacity> {
    const learned = this.#usage.learn(user);
    return learned === undefined
      ? this.#retained.capacityFor(user, packets)
      : learned.then(() => this.#retained.capacityFor(user, packets));
  }

  /** Whether the stored session may have one more filter; otherwise the answer is SUBACK 128. */
  hasCapacityForFilter(clientId: string, filter: string): boolean {
    return this.#subscriptionWrites.hasCapacityFor(clientId, filter);
  }

  // --- What connections and their packets ask for -------------------------------------------------------------

  /**
   * Loads what is stored. The broker's id is new at every start: a will under another id was not sent. Message numbers
   * continue after the stored ones, whatever the broker's id.
   */
  async setup(broker: BrokerIdentity): Promise<void> {
    await this.#tables.start(broker.id);
    const { onSessionEnded, onSessionLetGo, onSessionTaken } = broker;
    if (onSessionEnded !== undefined) {
      this.#sessions.onEnded = (session) => {
        const take = onSessionEnded(session.clientId, session.user);
        return take && this.#outgoing.handOver(session, take);
      };
    }
    if (onSessionLetGo !== undefined) this.#transfer.onLetGo = onSessionLetGo;
    if (onSessionTaken !== undefined) this.#transfer.onTaken = onSessionTaken;
    const loaded = await this.#sessions.load(
      this.#tables,
      broker.connectionOf ?? (() => undefined),
      this.#clocks.forExpiry.now(),
    );
    const { overlong, overQuotaCount: overQuota } = loaded;
    if (overlong + overQuota > 0) {
      this.#log?.warn({ overlong, overQuota }, 'subscriptions of stored MQTT sessions beyond the limits were removed');
    }
    await this.#outgoing.start(broker);
    await this.#wills.start(broker);
    await this.#retained.start();
    this.#expiry.start();
    this.#adoption?.start();
  }

  /** Stops long reads and cleaning; resolves when no write is pending. */
  async destroy(): Promise<void> {
    this.#writes.closed = true;
    this.#sessions.close();
    await this.#expiry.close();
    await this.#adoption?.close();
    this.#usage.onChange = () => {};
    clearTimeout(this.#usageTimer);
    await this.#writeUsage();
    await this.#writes.idle();
    await this.#tables.close();
  }

  /** If this cannot be written, the next start counts from the stored records. */
  async #writeUsage(): Promise<void> {
    const changes = this.#usage.takeChanges();
    if (changes.length > 0) await this.#writes.finish(changes).catch(() => {});
  }

  storeRetained(packet: StoredPacket, joined?: JoinedWrites): Promise<void> {
    return this.#retained.store(packet, joined);
  }

  createRetainedStream(filter: string): Readable {
    return this.createRetainedStreamCombi([filter]);
  }

  createRetainedStreamCombi(filters: readonly string[]): Readable {
    return Readable.from(this.#retained.matching(filters));
  }

  addSubscriptions(client: PacketClient, subscriptions: readonly Subscription[]): Promise<void> {
    return this.#subscriptionWrites.subscribe(client, subscriptions);
  }

  removeSubscriptions(client: PacketClient, filters: readonly string[]): Promise<void> {
    return this.#subscriptionWrites.unsubscribe(client, filters);
  }

  async subscriptionsByClient(client: PacketClient): Promise<Subscription[]> {
    return this.#index.subscriptionsOf(client.id);
  }

  async subscriptionsByTopic(topic: string): Promise<TopicSubscription[]> {
    return this.#index.subscriptions.match(topic);
  }

  /** Whether any stored session is to get this message. */
  hasSubscribers(message: RoutedMessage): boolean {
    return this.#index.subscriptions.hasSubscribers(message);
  }

  takes(clientId: string, message: RoutedMessage): boolean {
    return this.#index.subscriptions.takes(clientId, message);
  }

  /** Keeps a message for all stored sessions that are to get it. */
  enqueueForSubscribers(packet: StoredPacket, joined?: JoinedWrites): Promise<void> {
    return this.#outgoing.enqueueFor(this.#index.subscriptions.takersOf(packet), packet, 'routed', joined);
  }

  async countOffline(): Promise<{ readonly subsCount: number; readonly clientsCount: number }> {
    return this.#index.subscriptions.count();
  }

  /** A client connects that begins anew: the earlier session is removed completely. */
  cleanSubscriptions(client: PacketClient): Promise<void> {
    return this.#sessions.end(client.id);
  }

  getClientList(filter: string): Readable {
    return Readable.from(this.#index.clientsOf(filter));
  }

  outgoingEnqueue(recipient: QueueRecipient, packet: StoredPacket): Promise<void> {
    return this.#outgoing.enqueue([recipient], packet, 'direct');
  }

  outgoingEnqueueCombi(recipients: readonly QueueRecipient[], packet: StoredPacket): Promise<void> {
    return this.#outgoing.enqueue(recipients, packet, 'routed');
  }

  outgoingUpdate(client: PacketClient, packet: StoredPacket): Promise<void> {
    return this.#outgoing.update(client, packet);
  }

  outgoingClearMessageId(client: PacketClient, packet: StoredPacket): Promise<void> {
    return this.#outgoing.clear(client, packet);
  }

  outgoingStream(client: PacketClient): Readable {
    return Readable.from(this.#outgoing.replay(client));
  }

  incomingIds(client: PacketClient): IncomingIds | undefined {
    return this.#incoming.idsOf(client);
  }

  async incomingStorePacket(client: PacketClient, packet: StoredPacket): Promise<void> {
    await this.#incoming.reserve(client, packet)();
  }

  incomingReserve(client: PacketClient, packet: StoredPacket): (joined?: JoinedWrites) => Promise<void> {
    return this.#incoming.reserve(client, packet);
  }

  incomingGetPacket(client: PacketClient, packet: StoredPacket): Promise<StoredPacket> {
    return this.#incoming.get(client, packet);
  }

  incomingDelPacket(client: PacketClient, packet: StoredPacket): Promise<void> {
    return this.#incoming.remove(client, packet);
  }

  cleanIncoming(client: PacketClient): Promise<void> {
    return this.#incoming.clear(client);
  }

  putWill(client: PacketClient, will: StoredPacket): Promise<void> {
    return this.#wills.put(client, will);
  }

  getWill(client: WillKey): Promise<StoredPacket | undefined> {
    return this.#wills.find(client);
  }

  delWill(client: WillKey): Promise<StoredPacket | undefined> {
    return this.#wills.remove(client);
  }

  streamWill(brokers: Readonly<Record<string, unknown>> = {}): Readable {
    return Readable.from(this.#wills.ofOthersThan(brokers));
  }
}

const unlimited: MqttQuotas = {
  quotaOf: () => ({ sessions: Infinity, sessionBytes: Infinity, retainedBytes: Infinity }),
  onRefused: () => {},
};
