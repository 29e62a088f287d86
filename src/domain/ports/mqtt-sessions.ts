// The port of what MQTT stores: sessions with their subscriptions, queued messages, QoS 2 under way, wills and retained messages.
// It is written in the commits of datapoints. The broker (aedes) calls the methods of the second part by these names, so they
// are aedes's. Every engine passes test/storage/mqtt-sessions.suite.ts.
import type { UserKey } from '../users/user.ts';

/** A packet as the broker hands it over. Whatever fields it has come back. */
export interface StoredPacket {
  cmd?: string | undefined;
  topic?: string | undefined;
  payload?: string | Uint8Array | undefined;
  qos?: number | undefined;
  retain?: boolean | undefined;
  dup?: boolean | undefined;
  messageId?: number | undefined;
  /** Broker id and number, by which the broker tells messages apart. */
  brokerId?: string | null | undefined;
  brokerCounter?: number | undefined;
  /** The user who published it. */
  user?: UserKey | undefined;
  /** Of a will: the client that it is of. */
  clientId?: string | undefined;
}

/** The client that a packet is for or from: the broker's connection, or sometimes an object with the id alone. */
export interface PacketClient {
  readonly id: string;
  /** False on the connection of a persistent session, true on that of a clean one. */
  readonly clean?: boolean;
}

/** The client of a will, and the start of the broker under which it was stored. */
export interface WillKey extends PacketClient {
  readonly brokerId?: string;
}

export interface QueueRecipient {
  readonly clientId: string;
  readonly qos?: number | undefined;
}

/** What is stored of a subscription; all fields but the QoS are of MQTT 5. */
export interface SubscriptionOptions {
  readonly qos: number;
  readonly rh?: number | undefined;
  readonly rap?: boolean | undefined;
  readonly nl?: boolean | undefined;
  readonly subscriptionIdentifier?: number | undefined;
}

export interface Subscription extends SubscriptionOptions {
  readonly topic: string;
}

export interface TopicSubscription extends SubscriptionOptions {
  readonly clientId: string;
  readonly topic: string;
}

/** The fields of a message that decide who may have it. */
export interface RoutedMessage {
  readonly topic?: string | undefined;
  /** The publisher, where it matters. */
  readonly user?: UserKey | undefined;
}

/** A message to be retained. */
export interface RetainedCandidate {
  readonly topic: string;
  readonly payload: string | Uint8Array;
}

/** The start of a broker, under an id of its own. */
export interface BrokerIdentity {
  readonly id: string;
  readonly counter: number;
  readonly clients?: Readonly<Record<string, object>>;
  listenerCount?(event: string): number;
}

/** How much a user may store by MQTT; Infinity: no bound. */
export interface MqttQuota {
  readonly sessions: number;
  /** For sessions with their filters, queues and wills. */
  readonly sessionBytes: number;
  /** For retained messages. */
  readonly retainedBytes: number;
}

export type MqttQuotaKind = keyof MqttQuota;

/** What the engine asks of those who know users and connections. */
export interface MqttSessionRules {
  /** Whether a filter matches topics of this form: with the leading slash or without. */
  readonly matchesForm: (filter: string, topic: string) => boolean;
  /** Whether the message may be kept for sessions of this user. */
  readonly mayReceive: (user: UserKey | undefined, message: RoutedMessage) => boolean;
  /** Whether a client is connected or connecting under this id. */
  readonly isInUse: (clientId: string) => boolean;
  /** How long a session of this user is kept after its client went away; undefined: for ever. */
  readonly expiryMsOf: (user: UserKey | undefined) => number | undefined;
  /** The user guest: many clients share its quota, so half of its session bytes is divided evenly among its sessions. */
  readonly guest: UserKey;
  /** Called when a quota has refused something. */
  readonly onRefused: (user: UserKey, kind: MqttQuotaKind) => void;
  /** Has a listener called when the quota of a user has changed. */
  readonly onQuotaChange: (listener: (user: UserKey) => void) => void;
}

export interface MqttSessions {
  /** Filters of stored sessions with QoS above 0. In memory, because it is asked with every message. */
  readonly storedFilters: number;
  /** Users who have stored sessions, each once. */
  sessionUsers(): Iterable<UserKey>;
  /** The user whose session is stored under the client id, as it is in memory. */
  sessionOwner(clientId: string): UserKey | undefined;
  /** The same; a session that has expired is gone when it resolves. */
  findSessionOwner(clientId: string): Promise<UserKey | undefined>;
  /**
   * Makes the persistent session of this client id the user's own.
   * @throws Refusal `exists` when it is another user's, `busy` when there are too many sessions.
   */
  claimSession(clientId: string, user: UserKey): Promise<void>;
  /** Notes that the client of a persistent session has gone. */
  leaveSession(clientId: string): void;
  /** Removes all that is stored of a session [MQTT-3.1.2-6]. */
  endSession(clientId: string): Promise<void>;
  /** Removes all sessions and wills of a user, and what is retained on topics that are theirs alone. */
  forgetUser(user: UserKey, ownTopics: readonly { readonly from: string; readonly to: string }[]): Promise<void>;
  /** Whether a user's quota has room for so many bytes more of a session. */
  hasCapacityForBytes(user: UserKey, bytes: number): boolean;
  /** Whether the stored session takes one more filter. */
  hasCapacityForFilter(clientId: string, filter: string): boolean;
  /** Whether these messages of a user may be retained. */
  allowsRetained(user: UserKey, packets: readonly RetainedCandidate[]): boolean;
  /** What of their quota retained messages of a user take, and what these would add to it, bytes. */
  retainedStockOf(
    user: UserKey,
    packets: readonly RetainedCandidate[],
  ): { readonly amount: number; readonly used: number; readonly limit: number };
  /** Is there a stored session for which this message is to be kept? Asked with every message. */
  hasSubscribers(message: RoutedMessage): boolean;
  /** Keeps a message for the stored sessions that take it. */
  enqueueForSubscribers(packet: StoredPacket): Promise<void>;
  /** Resolves when no session is due to end and nothing waits to be written. */
  idle(): Promise<void>;

  // --- What aedes calls ---------------------------------------------------------------------------------------

  /** Reads what is stored. The broker takes a new id at every start. */
  setup(broker: BrokerIdentity): Promise<void>;
  /** Ends long reads; resolves when nothing waits to be written any more. */
  destroy(): Promise<void>;
  storeRetained(packet: StoredPacket): Promise<void>;
  createRetainedStream(filter: string): AsyncIterable<unknown>;
  createRetainedStreamCombi(filters: readonly string[]): AsyncIterable<unknown>;
  addSubscriptions(client: PacketClient, subscriptions: readonly Subscription[]): Promise<void>;
  removeSubscriptions(client: PacketClient, filters: readonly string[]): Promise<void>;
  subscriptionsByClient(client: PacketClient): Promise<Subscription[]>;
  subscriptionsByTopic(topic: string): Promise<TopicSubscription[]>;
  countOffline(): Promise<{ readonly subsCount: number; readonly clientsCount: number }>;
  /** Called when a clean session connects: all of the earlier one goes. */
  cleanSubscriptions(client: PacketClient): Promise<void>;
  getClientList(filter: string): AsyncIterable<unknown>;
  outgoingEnqueue(recipient: QueueRecipient, packet: StoredPacket): Promise<void>;
  outgoingEnqueueCombi(recipients: readonly QueueRecipient[], packet: StoredPacket): Promise<void>;
  outgoingUpdate(client: PacketClient, packet: StoredPacket): Promise<void>;
  outgoingClearMessageId(client: PacketClient, packet: StoredPacket): Promise<StoredPacket | undefined>;
  outgoingStream(client: PacketClient): AsyncIterable<unknown>;
  incomingStorePacket(client: PacketClient, packet: StoredPacket): Promise<void>;
  incomingGetPacket(client: PacketClient, packet: StoredPacket): Promise<StoredPacket>;
  incomingDelPacket(client: PacketClient, packet: StoredPacket): Promise<void>;
  cleanIncoming(client: PacketClient): Promise<void>;
  putWill(client: PacketClient, will: StoredPacket): Promise<void>;
  getWill(client: WillKey): Promise<StoredPacket | undefined>;
  delWill(client: WillKey): Promise<StoredPacket | undefined>;
  /** Wills stored under other starts of the broker than these. */
  streamWill(brokers?: Readonly<Record<string, unknown>>): AsyncIterable<unknown>;
}
