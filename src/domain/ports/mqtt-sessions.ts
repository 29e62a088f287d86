// The port for what MQTT stores: sessions with their subscriptions, queued messages, QoS 2 publishes without PUBREL,
// wills and retained messages. Writes go into the commits of datapoints. Every engine passes
// test/storage/mqtt-sessions.suite.ts.
import type { AgeClocks } from '../../base/time/clock-watch.ts';
import type { UserKey } from '../users/user.ts';
import type { ClientMessage, FollowedPush } from './commit-log.ts';

/** A packet. The store returns it with the fields that it was stored with. */
export interface StoredPacket {
  cmd?: string | undefined;
  topic?: string | undefined;
  payload?: string | Uint8Array | undefined;
  qos?: number | undefined;
  retain?: boolean | undefined;
  dup?: boolean | undefined;
  messageId?: number | undefined;
  /** Id of a run of the service, with the way of the message, and number of the message: together they identify a message. */
  brokerId?: string | null | undefined;
  brokerCounter?: number | undefined;
  /** The user who published it. */
  user?: UserKey | undefined;
  /** Whether a guest published it. */
  isOfGuest?: boolean | undefined;
  /** The client that published the message. */
  publisherId?: string | undefined;
  /** Levels of the topic that filters must name, because they are former ids; not stored. */
  exactLevels?: readonly number[] | undefined;
  /** The client id of a will. */
  clientId?: string | undefined;
  /** Properties of MQTT 5 that receivers get as they were sent. */
  properties?: Uint8Array | undefined;
}

/** The client of a packet: its connection, or in some calls an object with only the id. */
export interface PacketClient {
  readonly id: string;
  /** False on the connection of a persistent session, true on that of a clean one. */
  readonly clean?: boolean;
}

/** Identifies a will: its client, and the broker id under which it was stored. */
export interface WillKey extends PacketClient {
  readonly brokerId?: string;
}

/** Writes to which the same object is given in one turn of the event loop are stored in one commit, or none of them. */
export interface JoinedWrites {
  readonly isJoined: true;
}

/** How a message is stored. */
export interface MessageWriting {
  readonly joined?: JoinedWrites | undefined;
  /**
   * Its publisher was told that it is stored. Where the database is away, it is stored when that is back, in its place, and until then
   * whoever waits for it goes on waiting.
   */
  readonly isPromised?: boolean | undefined;
}

/**
 * Packet ids of messages of QoS 2 that await PUBREL, `limits.inflightMax` at most. Those that are added here are not stored: they
 * are of messages whose repeats are recognised by what is stored of them otherwise. They stay as long as the session, in the
 * memory of this process.
 */
export interface IncomingIds {
  readonly size: number;
  /** Whether a message under this id awaits PUBREL, stored or not. */
  has(id: number): boolean;
  /** Whether the quota allows so many more. */
  hasCapacityFor(count: number): boolean;
  add(id: number): void;
  /** Takes one away that was added here; false where there is none. */
  delete(id: number): boolean;
}

export interface QueueRecipient {
  readonly clientId: string;
  readonly qos?: number | undefined;
}

/** The stored options of a subscription. All but the QoS are options of MQTT 5. */
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

/** The fields of a message that decide who may receive it. */
export interface RoutedMessage {
  readonly topic?: string | undefined;
  /** The publisher; needed for topics below `users/`, which only connections of the same user receive. */
  readonly user?: UserKey | undefined;
  /** The client that published it: it is not kept for that by a filter that asks for no messages of its own client. */
  readonly publisherId?: string | undefined;
  /** Levels of the topic that filters must name, because they are former ids. */
  readonly exactLevels?: readonly number[] | undefined;
}

/** A message to be retained. */
export interface RetainedCandidate {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly properties?: Uint8Array | undefined;
}

/** What a user's retained messages take, in bytes: `used` now, `amount` that some more would add, `limit` of the quota. */
export interface RetainedCapacity {
  readonly isAllowed: boolean;
  readonly used: number;
  readonly amount: number;
  readonly limit: number;
}

/** Takes a message that waits for a session that ends; it is deleted with the session when that resolves. Does not fail. */
export type TakesWaiting = (message: StoredPacket) => Promise<void>;

/** What a commit has for subscribers, of whichever process; read again for stored sessions that have missed it. */
export interface MissedCommit {
  /** Its place in the order of all commits. */
  readonly place: number;
  readonly pushes: readonly FollowedPush[];
  readonly messages: readonly ClientMessage[];
}

/** What brings messages to stored sessions. */
export interface MessageSource {
  /**
   * Resolves when all that the commit log has handed on at the call is in the queues of stored sessions, though not stored.
   * @throws Error where that takes longer than `msMax`, or `limits.handedOnMsMax`.
   */
  readonly handedOn: (msMax?: number) => Promise<void>;
  /** Makes messages of commits, and has each kept by `enqueueMissed`. Where it fails it has had none kept. */
  readonly keepMissed: (commits: readonly MissedCommit[]) => Promise<void>;
}

/** A run of the service; it takes a new id at every start. */
export interface BrokerIdentity {
  readonly id: string;
  /** The connection that is signed in under a client id. */
  readonly connectionOf?: (clientId: string) => object | undefined;
  /** Called when a stored session ends, also by its age. @returns who takes what waits for it, where anybody does. */
  readonly onSessionEnded?: (clientId: string, user: UserKey | undefined) => TakesWaiting | undefined;
  /** Called when a stored session is one of another process from now on. */
  readonly onSessionLetGo?: (clientId: string) => void;
  /** Called when a stored session of another process has become one of this. */
  readonly onSessionTaken?: (clientId: string) => void;
  /** Asked where stored sessions pass from one process to another. */
  readonly messages?: MessageSource;
}

/** How much a user may store by MQTT; Infinity: no limit. */
export interface MqttQuota {
  readonly sessions: number;
  /** Bytes of sessions with their filters, queues and wills. */
  readonly sessionBytes: number;
  /** Bytes of retained messages. */
  readonly retainedBytes: number;
}

export type MqttQuotaKind = keyof MqttQuota;

/** What is stored of a session, as its owner and admins see it. */
export interface StoredSessionFacts {
  /** Undefined for a session of an earlier release whose client has not come back. */
  readonly user: UserKey | undefined;
  /** When its client went away, in milliseconds since 1970 UTC; undefined while it is connected. */
  readonly awayMs: number | undefined;
  /** When it expires, in milliseconds since 1970 UTC; undefined while its client is connected, and where it never does. */
  readonly expiresMs: number | undefined;
  /** Messages that wait or were not acknowledged, and their bytes as the quota counts them. */
  readonly waitingMessages: number;
  readonly waitingBytes: number;
  /** Messages that were not kept since the start, because the session or its owner's quota was full. */
  readonly notKept: number;
  readonly filters: ReadonlyMap<string, SubscriptionOptions>;
}

/** Figures of what this process has stored. */
export interface StoredFigures {
  readonly sessionCount: number;
  /** Filters of these sessions. */
  readonly filterCount: number;
  readonly retainedCount: number;
  /** Messages not kept since the start, because a session, the retained messages or a quota were full. */
  readonly dropped: number;
}

/** Rules and callbacks by which the engine learns what it needs to know about users and connections. */
export interface MqttSessionRules {
  /** Whether a filter asks for topics of the form of `topic`: with a leading slash or without. */
  readonly matchesForm: (filter: string, topic: string, exactLevels?: readonly number[]) => boolean;
  /** Whether the message may be queued for stored sessions of this user. */
  readonly mayReceive: (user: UserKey | undefined, message: RoutedMessage) => boolean;
  /** Whether a client is connected or connecting under this id. */
  readonly isInUse: (clientId: string) => boolean;
  /**
   * How long a session of this user is kept after its client has disconnected, in milliseconds; undefined: for ever.
   */
  readonly expiryMsOf: (user: UserKey | undefined) => number | undefined;
  /** By which sessions are too old; without it, by the clock of the machine. */
  readonly clocks?: AgeClocks;
  /**
   * The user guest. Many clients share its quota, so half of its session bytes is divided evenly among its sessions.
   */
  readonly guest: UserKey;
  /** Called when a quota has refused something. */
  readonly onRefused: (user: UserKey, kind: MqttQuotaKind) => void;
  /** Registers a listener that is called when the quota of a user has changed. */
  readonly onQuotaChange: (listener: (user: UserKey) => void) => void;
}

/**
 * A stored session belongs to one process: the one that its client was connected to last. What is asked for at every message,
 * and what bounds one session, is answered without a promise, from the memory of the process that has the session. What a user's
 * sessions and retained messages take together is a matter of all processes, and may take a promise.
 */
export interface MqttSessions {
  // --- Sessions of this process ---------------------------------------------------------------------------------

  /** Number of filters of stored sessions with QoS above 0. */
  readonly storedFilters: number;
  /** Users who have stored sessions, each once. */
  sessionUsers(): Iterable<UserKey>;
  figures(): StoredFigures;
  /** Client ids of a user's stored sessions, or of all, in order of creation; without those that have expired. */
  sessionIds(user?: UserKey): Iterable<string>;
  /** The session stored under the client id; undefined where there is none, or it has expired. */
  findSession(clientId: string): StoredSessionFacts | undefined;
  /** The user whose session is stored under the client id; the session may have expired. */
  sessionOwner(clientId: string): UserKey | undefined;
  /** Whether any stored session subscribes to this message and may receive it. Called for every message. */
  hasSubscribers(message: RoutedMessage): boolean;
  /** As `hasSubscribers`, of the stored session under this client id. */
  takes(clientId: string, message: RoutedMessage): boolean;
  /**
   * Whether the bounds of the stored session, and the user's quota as far as this process knows it, allow one more filter.
   */
  hasCapacityForFilter(clientId: string, filter: string): boolean;
  /**
   * Must be called when the client of a persistent session has disconnected; its time until expiry begins, which `expiryS`
   * says as it does in `claimSession`. Stored later: after a crash the time begins anew.
   */
  leaveSession(clientId: string, expiryS?: number): void;

  // --- Stored, or the same for all processes --------------------------------------------------------------------

  /** As `sessionOwner`, but first removes the session if it has expired. */
  findSessionOwner(clientId: string): Promise<UserKey | undefined>;
  /**
   * Creates the persistent session of this client id for the user, or continues theirs. `expiryS`: seconds for which the
   * client wants it kept after the connection, at most as long as the rules allow.
   * @throws Refusal `exists` when it is another user's, `busy` when there are too many sessions.
   */
  claimSession(clientId: string, user: UserKey, expiryS?: number): Promise<void>;
  /** Removes everything that is stored of a session [MQTT-3.1.2-6]. */
  endSession(clientId: string): Promise<void>;
  /** Lets the session of a client id go, where it is one of this process: when this resolves, another may take it. */
  letGoSession(clientId: string): Promise<void>;
  /**
   * Makes the session of a client id one of this process, with all that waits for it, where another has let it go or is not there
   * any more.
   */
  takeSession(clientId: string): Promise<void>;
  /** Removes all sessions and wills of a user, and the retained messages on topics that belong to the user alone. */
  forgetUser(user: UserKey, ownTopics: readonly { readonly from: string; readonly to: string }[]): Promise<void>;
  /** So many retained messages were removed in the commit of something else. */
  noteRetainedRemoved(count: number): void;
  /** How long a session of this user may be kept after its connection, in milliseconds; undefined: for ever. */
  expiryMsMaxOf(user: UserKey): number | undefined;
  /** Bytes that a user's quota allows for sessions; Infinity: no limit. */
  sessionBytesMaxOf(user: UserKey): number;
  /** Whether a user's quota allows this many more bytes of a session. */
  hasCapacityForBytes(user: UserKey, bytes: number): Promise<boolean>;
  /**
   * Whether the user's quota allows these messages to be retained, each replacing the one of its topic. Answered at once
   * where the engine knows it: the user's later messages wait for a promise.
   */
  capacityToRetain(user: UserKey, packets: readonly RetainedCandidate[]): RetainedCapacity | Promise<RetainedCapacity>;
  /** Queues a message for the stored sessions that subscribe to it. */
  enqueueForSubscribers(packet: StoredPacket, writing?: MessageWriting): Promise<void>;
  /** The service stops: nothing waits for the database any more, be it promised or not. */
  giveUp(): void;
  /** Queues a message of a commit for those of the stored sessions that have missed it. */
  enqueueMissed(packet: StoredPacket, place: number): void;
  /** Called when what is committed is handed on from now on, with `enqueueForSubscribers`. */
  beginFollowing(): void;
  /** Calls `stop`, which ends that, when all that was handed on is kept; resolves when it is stored up to where that was. */
  endFollowing(stop: () => void): Promise<void>;
  /** Resolves when no session is due to expire and all writes are committed. */
  idle(): Promise<void>;

  // --- What connections and their packets ask for -------------------------------------------------------------

  /** Loads the stored sessions into memory. */
  setup(broker: BrokerIdentity): Promise<void>;
  /** Ends long reads; resolves when all writes are committed. */
  destroy(): Promise<void>;
  storeRetained(packet: StoredPacket, writing?: MessageWriting): Promise<void>;
  createRetainedStream(filter: string): AsyncIterable<unknown>;
  createRetainedStreamCombi(filters: readonly string[]): AsyncIterable<unknown>;
  addSubscriptions(client: PacketClient, subscriptions: readonly Subscription[]): Promise<void>;
  removeSubscriptions(client: PacketClient, filters: readonly string[]): Promise<void>;
  subscriptionsByClient(client: PacketClient): Promise<Subscription[]>;
  subscriptionsByTopic(topic: string): Promise<TopicSubscription[]>;
  countOffline(): Promise<{ readonly subsCount: number; readonly clientsCount: number }>;
  /** Called when a client with a clean session connects: removes everything that is stored of its earlier session. */
  cleanSubscriptions(client: PacketClient): Promise<void>;
  getClientList(filter: string): AsyncIterable<unknown>;
  outgoingEnqueue(recipient: QueueRecipient, packet: StoredPacket): Promise<void>;
  outgoingEnqueueCombi(recipients: readonly QueueRecipient[], packet: StoredPacket): Promise<void>;
  outgoingUpdate(client: PacketClient, packet: StoredPacket): Promise<void>;
  outgoingClearMessageId(client: PacketClient, packet: StoredPacket): Promise<void>;
  outgoingStream(client: PacketClient): AsyncIterable<unknown>;
  /** The messages of QoS 2 of a client that await PUBREL; undefined where its session has ended. */
  incomingIds(client: PacketClient): IncomingIds | undefined;
  incomingStorePacket(client: PacketClient, packet: StoredPacket): Promise<void>;
  /**
   * As `incomingStorePacket`, in two steps: takes the room of the message now. @returns what stores it, to be called once; a
   * message that is not to be stored any more has to be removed.
   * @throws Refusal `too-many`, `quota` where there is no room.
   */
  incomingReserve(client: PacketClient, packet: StoredPacket): (joined?: JoinedWrites) => Promise<void>;
  incomingGetPacket(client: PacketClient, packet: StoredPacket): Promise<StoredPacket>;
  incomingDelPacket(client: PacketClient, packet: StoredPacket): Promise<void>;
  cleanIncoming(client: PacketClient): Promise<void>;
  putWill(client: PacketClient, will: StoredPacket): Promise<void>;
  getWill(client: WillKey): Promise<StoredPacket | undefined>;
  delWill(client: WillKey): Promise<StoredPacket | undefined>;
  /**
   * Wills of brokers that ended without publishing them. The list has the broker ids that this process knows to be alive;
   * the engine also leaves out those of other processes that are alive.
   */
  streamWill(brokers?: Readonly<Record<string, unknown>>): AsyncIterable<unknown>;
}
