// What the MQTT broker remembers, across a restart and a crash: sessions, the messages kept for them, QoS 2 under
// way, wills and retained messages. This is the interface that aedes calls, its methods named as aedes has them;
// the ownership of sessions is beside it. A promise resolves when its change is on the disk (I1), except that the
// packet id of a QoS 1 delivery may follow.
import type { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { MqttIncoming } from './mqtt-incoming.ts';
import { type Broker, MqttOutgoing, type Recipient } from './mqtt-outgoing.ts';
import type { Packet, PacketClient } from './mqtt-packet.ts';
import { MqttReads } from './mqtt-reads.ts';
import { MqttRetained } from './mqtt-retained.ts';
import { MqttSessions, type SessionRules, type Subscription, type TopicSubscription } from './mqtt-sessions.ts';
import { MqttWills, type WillKey } from './mqtt-wills.ts';
import { MqttWrites } from './mqtt-writes.ts';
import type { SqliteWriter } from './writer.ts';

export interface MqttPersistenceOptions {
  readonly writer: Pick<SqliteWriter, 'write'>;
  /** Sees whatever the writer has resolved. */
  readonly reader: DatabaseSync;
  /** Whether a filter takes topics of this form: with the leading slash or without. */
  readonly matchesForm: SessionRules['matchesForm'];
  /** Whether messages of this topic are kept for sessions of this user; all are, where it is left out. */
  readonly mayReceive?: SessionRules['mayReceive'];
}

export class SqliteMqttPersistence {
  readonly #reader: DatabaseSync;
  readonly #reads: MqttReads;
  readonly #writes: MqttWrites;
  readonly #sessions: MqttSessions;
  readonly #outgoing: MqttOutgoing;
  readonly #incoming: MqttIncoming;
  readonly #wills: MqttWills;
  readonly #retained: MqttRetained;
  #broker: Broker | undefined;

  constructor({ writer, reader, matchesForm, mayReceive = () => true }: MqttPersistenceOptions) {
    this.#reader = reader;
    this.#reads = new MqttReads(reader);
    this.#writes = new MqttWrites(writer);
    this.#sessions = new MqttSessions(this.#writes, { matchesForm, mayReceive });
    const parts = { writes: this.#writes, reads: this.#reads, sessions: this.#sessions, matchesForm };
    this.#outgoing = new MqttOutgoing(parts);
    this.#incoming = new MqttIncoming(parts);
    this.#wills = new MqttWills(parts);
    this.#retained = new MqttRetained(parts);
  }

  get broker(): Broker | undefined {
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
    return this.#sessions.count().subsCount;
  }

  get retainedCount(): number {
    return this.#retained.size;
  }

  /** Resolves when nothing waits to be written. */
  idle(): Promise<void> {
    return this.#writes.idle();
  }

  // --- Ownership of sessions ----------------------------------------------------------------------------------

  /** Whose the stored session of this client id is, if there is one and it has an owner. */
  async findSessionOwner(clientId: string): Promise<string | undefined> {
    return this.#sessions.find(clientId)?.username;
  }

  /**
   * Makes the persistent session of this client id the user's own.
   * @throws Refusal `exists` when it is another user's, `busy` when there are too many sessions.
   */
  claimSession(clientId: string, username: string): Promise<void> {
    return this.#sessions.claim(clientId, username);
  }

  /** Removes all that is stored of a session [MQTT-3.1.2-6]. */
  endSession(clientId: string): Promise<void> {
    return this.#sessions.end(clientId);
  }

  /** Removes all sessions and wills of a user. */
  async forgetUser(username: string): Promise<void> {
    await Promise.all([this.#sessions.endAllOf(username), this.#wills.removeAllOf(username)]);
  }

  /** Whether the stored session takes one more filter; where it does not, the answer is SUBACK 128. */
  hasRoomForFilter(clientId: string, filter: string): boolean {
    return this.#sessions.hasRoomFor(clientId, filter);
  }

  // --- What aedes calls ---------------------------------------------------------------------------------------

  /**
   * Reads what is stored. The broker takes a new id at every start, as it does by itself: a will under an earlier id is
   * one that nobody has sent. Messages are known by numbers that go on after those stored, whatever the broker's id.
   */
  async setup(broker: Broker): Promise<void> {
    this.#broker = broker;
    this.#sessions.load(this.#reader, broker.clients ?? {});
    this.#outgoing.start(broker);
    this.#wills.start(broker);
    this.#retained.start(broker);
  }

  /** Ends long reads and clearing away; resolves when nothing waits to be written any more. */
  async destroy(): Promise<void> {
    this.#reads.closed = true;
    this.#sessions.close();
    await this.idle();
  }

  storeRetained(packet: Packet): Promise<void> {
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
    return this.#sessions.match(topic);
  }

  async countOffline(): Promise<{ readonly subsCount: number; readonly clientsCount: number }> {
    return this.#sessions.count();
  }

  /** aedes calls this when a clean session connects: all of the earlier one goes. */
  cleanSubscriptions(client: PacketClient): Promise<void> {
    return this.#sessions.end(client.id);
  }

  getClientList(filter: string): Readable {
    return Readable.from(this.#sessions.clientsOf(filter));
  }

  outgoingEnqueue(recipient: Recipient, packet: Packet): Promise<void> {
    return this.#outgoing.enqueue([recipient], packet, 'direct');
  }

  outgoingEnqueueCombi(recipients: readonly Recipient[], packet: Packet): Promise<void> {
    return this.#outgoing.enqueue(recipients, packet, 'routed');
  }

  outgoingUpdate(client: PacketClient, packet: Packet): Promise<void> {
    return this.#outgoing.update(client, packet);
  }

  outgoingClearMessageId(client: PacketClient, packet: Packet): Promise<Packet | undefined> {
    return this.#outgoing.clear(client, packet);
  }

  outgoingStream(client: PacketClient): Readable {
    return Readable.from(this.#outgoing.replay(client));
  }

  incomingStorePacket(client: PacketClient, packet: Packet): Promise<void> {
    return this.#incoming.store(client, packet);
  }

  incomingGetPacket(client: PacketClient, packet: Packet): Promise<Packet> {
    return this.#incoming.get(client, packet);
  }

  incomingDelPacket(client: PacketClient, packet: Packet): Promise<void> {
    return this.#incoming.remove(client, packet);
  }

  cleanIncoming(client: PacketClient): Promise<void> {
    return this.#incoming.clear(client);
  }

  putWill(client: PacketClient, will: Packet): Promise<void> {
    return this.#wills.put(client, will);
  }

  getWill(client: WillKey): Promise<Packet | undefined> {
    return this.#wills.find(client);
  }

  delWill(client: WillKey): Promise<Packet | undefined> {
    return this.#wills.remove(client);
  }

  streamWill(brokers: Readonly<Record<string, unknown>> = {}): Readable {
    return Readable.from(this.#wills.ofOthersThan(brokers));
  }
}
