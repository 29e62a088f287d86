// Implements the port of stored sessions (domain/ports/mqtt-sessions.ts) on the tables of an engine, across restarts and crashes:
// sessions with their owners, queued messages, QoS 2 handshakes, wills and retained messages; each is asked of its part
// (mqtt-stores.ts). A promise resolves when its change is on disk (I1); the exception is the packet id of a QoS 1 delivery.
import { Readable } from 'node:stream';
import type {
  BrokerIdentity,
  IncomingIds,
  JoinedWrites,
  MessageWriting,
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
import type { MqttRetained } from './mqtt-retained.ts';
import { MqttStores, type MqttStoresOptions } from './mqtt-stores.ts';
import type { MqttUsage } from './mqtt-usage.ts';
import type { MqttWills } from './mqtt-wills.ts';
import type { MqttIncoming } from './sessions/mqtt-incoming.ts';
import type { MqttOutgoing } from './sessions/mqtt-outgoing.ts';
import type { SessionIndex } from './sessions/session-index.ts';
import type { SessionTransfer } from './sessions/session-transfer.ts';
import type { StoredSessions } from './sessions/stored-sessions.ts';
import type { SubscriptionWrites } from './sessions/subscription-writes.ts';

export class MqttPersistence implements MqttSessions {
  readonly #stores: MqttStores;
  readonly #usage: MqttUsage;
  readonly #index: SessionIndex;
  readonly #sessions: StoredSessions;
  readonly #subscriptionWrites: SubscriptionWrites;
  readonly #outgoing: MqttOutgoing;
  readonly #incoming: MqttIncoming;
  readonly #wills: MqttWills;
  readonly #retained: MqttRetained;
  readonly #transfer: SessionTransfer;

  constructor(options: MqttStoresOptions) {
    const stores = new MqttStores(options);
    this.#stores = stores;
    this.#usage = stores.usage;
    this.#index = stores.index;
    this.#sessions = stores.sessions;
    this.#subscriptionWrites = stores.subscriptionWrites;
    this.#outgoing = stores.outgoing;
    this.#incoming = stores.incoming;
    this.#wills = stores.wills;
    this.#retained = stores.retained;
    this.#transfer = stores.transfer;
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
  idle(): Promise<void> {
    return this.#stores.idle();
  }

  // --- Ownership of sessions, and what they take --------------------------------------------------------------

  /** Users with stored sessions, each once. */
  sessionUsers(): Iterable<UserKey> {
    return this.#index.users();
  }

  /** Client ids of a user's stored sessions, or of all. */
  sessionIds(user?: UserKey): Iterable<string> {
    return this.#sessions.idsOf(user, this.#stores.clocks.forAge.now());
  }

  /** What is stored of the session of this client id, unless it has expired. */
  findSession(clientId: string): StoredSessionFacts | undefined {
    return this.#sessions.factsOf(clientId, this.#stores.clocks.forAge.now());
  }

  /**
   * The owner of the stored session of this client id; undefined where there is none, it has no owner, or it has
   * expired.
   */
  sessionOwner(clientId: string): UserKey | undefined {
    const session = this.#index.find(clientId);
    return session === undefined || this.#sessions.isExpired(session, this.#stores.clocks.forAge.now())
      ? undefined
      : session.user;
  }

  /** Like `sessionOwner`, but removes an expired session before it resolves. */
  async findSessionOwner(clientId: string): Promise<UserKey | undefined> {
    const session = this.#index.find(clientId);
    if (session === undefined) return undefined;
    if (!this.#sessions.isExpired(session, this.#stores.clocks.forAge.now())) return session.user;
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
    this.#sessions.leave(clientId, this.#stores.clocks.forExpiry.now(), expiryS);
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
    return this.#stores.rules.expiryMsOf(user);
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

  setup(broker: BrokerIdentity): Promise<void> {
    return this.#stores.start(broker);
  }

  destroy(): Promise<void> {
    return this.#stores.close();
  }

  storeRetained(packet: StoredPacket, { joined, isPromised = false }: MessageWriting = {}): Promise<void> {
    return this.#retained.store(packet, { joined, isKept: isPromised });
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
  enqueueForSubscribers(packet: StoredPacket, { joined, isPromised = false }: MessageWriting = {}): Promise<void> {
    const writing = { joined, isKept: isPromised };
    return this.#outgoing.enqueueFor(this.#index.subscriptions.takersOf(packet), packet, 'routed', writing);
  }

  giveUp(): void {
    this.#stores.giveUp();
  }

  enqueueMissed(packet: StoredPacket, place: number): void {
    this.#stores.catchUp?.enqueue(packet, place);
  }

  beginFollowing(): void {
    this.#stores.begin();
  }

  async endFollowing(stop: () => void): Promise<void> {
    const { catchUp } = this.#stores;
    if (catchUp === undefined) stop();
    else await catchUp.end(stop);
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
