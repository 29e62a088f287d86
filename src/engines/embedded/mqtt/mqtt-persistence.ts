// What the MQTT broker remembers, across a restart and a crash: sessions, the messages kept for them, QoS 2 under
// way, wills and retained messages. This is the interface that aedes calls, its methods named as aedes has them;
// the ownership of sessions is beside it. A promise resolves when its change is on the disk (I1), except that the
// packet id of a QoS 1 delivery may follow.
import type { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import type { Log } from '../../../base/log.ts';
import { type Clock, systemClock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import type { SqliteWriter } from '../threads/writer.ts';
import { MqttExpiry } from './mqtt-expiry.ts';
import { MqttIncoming } from './mqtt-incoming.ts';
import { type BrokerIdentity, MqttOutgoing, type QueueRecipient } from './mqtt-outgoing.ts';
import type { PacketClient, StoredPacket } from './mqtt-packet.ts';
import { MqttReads } from './mqtt-reads.ts';
import { MqttRetained } from './mqtt-retained.ts';
import type { Subscription } from './mqtt-session.ts';
import { MqttSessions, type SessionRules } from './mqtt-sessions.ts';
import type { RoutedMessage, TopicSubscription } from './mqtt-subscriptions.ts';
import { type MqttQuotas, MqttUsage } from './mqtt-usage.ts';
import { MqttWills, type WillKey } from './mqtt-wills.ts';
import { MqttWrites } from './mqtt-writes.ts';

export interface MqttPersistenceOptions {
  readonly writer: Pick<SqliteWriter, 'write'>;
  /** Sees whatever the writer has resolved. */
  readonly reader: DatabaseSync;
  /** Whether a filter takes topics of this form: with the leading slash or without. */
  readonly matchesForm: SessionRules['matchesForm'];
  /** Whether a message is kept for sessions of this user; all are, where it is left out. */
  readonly mayReceive?: SessionRules['mayReceive'];
  /** Whether a client is connected under the id; none is, where it is left out. */
  readonly isInUse?: SessionRules['isInUse'];
  /** How long a session of this user is kept after its client went away; for ever, where it is left out. */
  readonly expiryMsOf?: SessionRules['expiryMsOf'];
  /** How much each user may store; as much as the limits allow, where it is left out. */
  readonly quotas?: MqttQuotas;
  readonly clock?: Clock;
  readonly log?: Log;
}

export class SqliteMqttPersistence {
  readonly #reader: DatabaseSync;
  readonly #reads: MqttReads;
  readonly #writes: MqttWrites;
  readonly #usage: MqttUsage;
  readonly #sessions: MqttSessions;
  readonly #outgoing: MqttOutgoing;
  readonly #incoming: MqttIncoming;
  readonly #wills: MqttWills;
  readonly #retained: MqttRetained;
  readonly #expiry: MqttExpiry;
  readonly #clock: Clock;
  readonly #log: Log | undefined;
  #usageTimer: NodeJS.Timeout | undefined;
  #broker: BrokerIdentity | undefined;

  constructor(options: MqttPersistenceOptions) {
    const { writer, reader, matchesForm, quotas = unlimited, clock = systemClock, log } = options;
    const { mayReceive = () => true, isInUse = () => false, expiryMsOf = () => undefined } = options;
    this.#reader = reader;
    this.#clock = clock;
    this.#log = log;
    this.#reads = new MqttReads(reader);
    this.#writes = new MqttWrites(writer);
    this.#usage = new MqttUsage(quotas);
    this.#sessions = new MqttSessions(this.#writes, { matchesForm, mayReceive, isInUse, expiryMsOf }, this.#usage);
    this.#usage.onChange = () => {
      this.#usageTimer = setTimeout(() => void this.#writeUsage(), limits.mqttUsageLagMsMax).unref();
    };
    const shared = { writes: this.#writes, reads: this.#reads, usage: this.#usage };
    const parts = { ...shared, sessions: this.#sessions, matchesForm };
    this.#outgoing = new MqttOutgoing(parts);
    this.#incoming = new MqttIncoming(parts);
    this.#wills = new MqttWills(parts);
    this.#retained = new MqttRetained(parts);
    this.#expiry = new MqttExpiry({ sessions: this.#sessions, clock, log });
  }

  get broker(): BrokerIdentity | undefined {
    return this.#broker;
  }

  /** Messages not kept because a session or the retained messages had no room. */
  get dropped(): number {
    return this.#outgoing.dropped + this.#retained.dropped;
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  /** Filters of stored sessions with QoS above 0. */
  get storedFilters(): number {
    return this.#sessions.subscriptions.count().subsCount;
  }

  get retainedCount(): number {
    return this.#retained.size;
  }

  /** Resolves when no session is due to end and nothing waits to be written. */
  async idle(): Promise<void> {
    await this.#expiry.idle();
    await this.#writeUsage();
    await this.#writes.idle();
  }

  // --- Ownership of sessions, and what they take --------------------------------------------------------------

  /** Users who have stored sessions, each once. */
  sessionUsers(): Iterable<UserKey> {
    return this.#sessions.users();
  }

  /** Whose the stored session of this client id is, if there is one that has an owner and has not expired. */
  sessionOwner(clientId: string): UserKey | undefined {
    const session = this.#sessions.find(clientId);
    return session === undefined || this.#sessions.isExpired(session, this.#clock.now()) ? undefined : session.user;
  }

  /** The same; a session that has expired is gone when it resolves. */
  async findSessionOwner(clientId: string): Promise<UserKey | undefined> {
    const session = this.#sessions.find(clientId);
    if (session === undefined) return undefined;
    if (!this.#sessions.isExpired(session, this.#clock.now())) return session.user;
    await this.#sessions.end(clientId);
    return undefined;
  }

  /**
   * Makes the persistent session of this client id the user's own.
   * @throws Refusal `exists` when it is another user's, `busy` when there are too many sessions.
   */
  claimSession(clientId: string, user: UserKey): Promise<void> {
    return this.#sessions.claim(clientId, user);
  }

  /** Notes that the client of a persistent session has gone. */
  leaveSession(clientId: string): void {
    this.#sessions.leave(clientId, this.#clock.now());
  }

  /** Removes all that is stored of a session [MQTT-3.1.2-6]. */
  endSession(clientId: string): Promise<void> {
    return this.#sessions.end(clientId);
  }

  /** Removes all sessions and wills of a user, and what is retained on topics that are theirs alone. */
  async forgetUser(user: UserKey, ownTopics: readonly { readonly from: string; readonly to: string }[]): Promise<void> {
    await Promise.all([
      this.#sessions.endAllOf(user),
      this.#wills.removeAllOf(user),
      this.#retained.removeAllOf(user, ownTopics),
    ]);
  }

  /** Whether a user's quota has room for so many bytes more of a session: a will. */
  hasCapacityForBytes(user: UserKey, bytes: number): boolean {
    return this.#usage.hasCapacityFor({ user, heldBytes: Number.POSITIVE_INFINITY }, bytes);
  }

  /** Whether these messages of a user may be retained. */
  allowsRetained(user: UserKey, packets: readonly { readonly topic: string; readonly payload: string | Buffer }[]) {
    return this.#retained.hasCapacityFor(user, packets);
  }

  /** What of their quota retained messages of a user take, and what these would add to it. */
  retainedStockOf(user: UserKey, packets: readonly { readonly topic: string; readonly payload: string | Buffer }[]) {
    return this.#retained.stockOf(user, packets);
  }

  /** Whether the stored session takes one more filter; where it does not, the answer is SUBACK 128. */
  hasCapacityForFilter(clientId: string, filter: string): boolean {
    return this.#sessions.hasCapacityFor(clientId, filter);
  }

  // --- What aedes calls ---------------------------------------------------------------------------------------

  /**
   * Reads what is stored. The broker takes a new id at every start, as it does by itself: a will under an earlier id is
   * one that nobody has sent. Messages are known by numbers that go on after those stored, whatever the broker's id.
   */
  async setup(broker: BrokerIdentity): Promise<void> {
    this.#broker = broker;
    const loaded = this.#sessions.load(this.#reader, broker.clients ?? {}, this.#clock.now());
    const { overlong, overQuotaCount: overQuota } = loaded;
    if (overlong + overQuota > 0) {
      this.#log?.warn({ overlong, overQuota }, 'subscriptions of stored MQTT sessions beyond the limits were removed');
    }
    this.#outgoing.start(broker);
    this.#wills.start(broker);
    this.#retained.start(broker);
    this.#expiry.start();
  }

  /** Ends long reads and clearing away; resolves when nothing waits to be written any more. */
  async destroy(): Promise<void> {
    this.#reads.closed = true;
    this.#sessions.close();
    await this.#expiry.close();
    this.#usage.onChange = () => {};
    clearTimeout(this.#usageTimer);
    await this.#writeUsage();
    await this.#writes.idle();
  }

  /** Where it cannot be written, the next start counts anew. */
  async #writeUsage(): Promise<void> {
    const statements = this.#usage.takeChanges();
    if (statements.length > 0) await this.#writes.finish(statements).catch(() => {});
  }

  storeRetained(packet: StoredPacket): Promise<void> {
    return this.#retained.store(packet);
  }

  createRetainedStream(filter: string): Readable {
    return this.createRetainedStreamCombi([filter]);
  }

  createRetainedStreamCombi(filters: readonly string[]): Readable {
    return Readable.from(this.#retained.matching(filters));
  }

  addSubscriptions(client: PacketClient, subscriptions: readonly Subscription[]): Promise<void> {
    return this.#sessions.subscribe(client, subscriptions);
  }

  removeSubscriptions(client: PacketClient, filters: readonly string[]): Promise<void> {
    return this.#sessions.unsubscribe(client, filters);
  }

  async subscriptionsByClient(client: PacketClient): Promise<Subscription[]> {
    return this.#sessions.listOf(client.id);
  }

  async subscriptionsByTopic(topic: string): Promise<TopicSubscription[]> {
    return this.#sessions.subscriptions.match(topic);
  }

  /** Is there a stored session for which this message is to be kept? */
  hasSubscribers(message: RoutedMessage): boolean {
    return this.#sessions.subscriptions.hasSubscribers(message);
  }

  /** Keeps a message for the stored sessions that take it. */
  enqueueForSubscribers(packet: StoredPacket): Promise<void> {
    return this.#outgoing.enqueueFor(this.#sessions.subscriptions.takersOf(packet), packet, 'routed');
  }

  async countOffline(): Promise<{ readonly subsCount: number; readonly clientsCount: number }> {
    return this.#sessions.subscriptions.count();
  }

  /** aedes calls this when a clean session connects: all of the earlier one goes. */
  cleanSubscriptions(client: PacketClient): Promise<void> {
    return this.#sessions.end(client.id);
  }

  getClientList(filter: string): Readable {
    return Readable.from(this.#sessions.clientsOf(filter));
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

  outgoingClearMessageId(client: PacketClient, packet: StoredPacket): Promise<StoredPacket | undefined> {
    return this.#outgoing.clear(client, packet);
  }

  outgoingStream(client: PacketClient): Readable {
    return Readable.from(this.#outgoing.replay(client));
  }

  incomingStorePacket(client: PacketClient, packet: StoredPacket): Promise<void> {
    return this.#incoming.store(client, packet);
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
