// QoS 1 and 2 messages for stored sessions, kept from before they are delivered until they are acknowledged. One row
// for the message and one for each session that waits for it. Bounded for each session, and in bytes by the quota of
// its user (I4).

import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../../../config/limits.ts';
import type {
  BrokerIdentity,
  JoinedWrites,
  PacketClient,
  QueueRecipient,
  StoredPacket,
  TakesWaiting,
} from '../../../../domain/ports/mqtt-sessions.ts';
import { packetColumns, packetFields } from '../mqtt-packet.ts';
import type { MqttReads, QueuedRow } from '../mqtt-tables.ts';
import { type MqttUsage, messageCost } from '../mqtt-usage.ts';
import type { MqttWrites } from '../mqtt-writes.ts';
import type { StoredSession } from './mqtt-session.ts';
import { rowsOf } from './session-changes.ts';
import type { SessionIndex } from './session-index.ts';

export class MqttOutgoing {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  readonly #index: SessionIndex;
  readonly #usage: MqttUsage;
  #broker: BrokerIdentity = { id: '' };
  #lastMessage = 0;
  #lastPassing = 0;
  #committedMessage = 0;
  /** By connection: messages sent before its queue was replayed; null once the replay has ended. */
  readonly #sentBeforeReplay = new WeakMap<PacketClient, Set<number> | null>();
  /** Number of messages not kept because a session or its quota was full. */
  dropped = 0;

  constructor(parts: {
    readonly writes: MqttWrites;
    readonly reads: MqttReads;
    readonly index: SessionIndex;
    readonly usage: MqttUsage;
  }) {
    this.#writes = parts.writes;
    this.#reads = parts.reads;
    this.#index = parts.index;
    this.#usage = parts.usage;
  }

  async start(broker: BrokerIdentity): Promise<void> {
    this.#broker = broker;
    this.#lastMessage = await this.#reads.lastMessage();
    this.#committedMessage = this.#lastMessage;
  }

  /** Keeps numbers for messages of a session that is taken over. @returns the number before the first of them. */
  reserve(count: number): number {
    const before = this.#lastMessage;
    this.#lastMessage += count;
    return before;
  }

  /** Messages up to a number are stored. */
  committed(message: number): void {
    this.#committedMessage = Math.max(this.#committedMessage, message);
  }

  /** Keeps a message for the recipients; resolves when it is stored for all of them that are not full. */
  enqueue(recipients: readonly QueueRecipient[], packet: StoredPacket, way: 'routed' | 'direct'): Promise<void> {
    const qosOf = new Map<StoredSession, number>();
    for (const { clientId, qos = 2 } of recipients) {
      const session = this.#index.findOrCreate(clientId);
      if (session === undefined) this.dropped += 1;
      else qosOf.set(session, Math.max(qosOf.get(session) ?? 0, qos));
    }
    return this.enqueueFor(qosOf, packet, way);
  }

  /** Like `enqueue`, for known sessions, each with the QoS of its subscription. `writing`: as in mqtt-writes.ts. */
  async enqueueFor(
    qosOf: ReadonlyMap<StoredSession, number>,
    packet: StoredPacket,
    way: 'routed' | 'direct',
    writing: { readonly joined?: JoinedWrites | undefined; readonly isKept?: boolean } = {},
  ): Promise<void> {
    const bytes = messageCost(packet);
    const qosBySession = this.#reserveCapacity(qosOf, packet, bytes);
    if (qosBySession.size === 0) {
      this.#renumber(packet, 'passing', ++this.#lastPassing);
      return;
    }
    const message = this.#numberOf(packet, way);
    try {
      const row = { message, bytes, recipients: qosBySession, ...packetColumns(packet) } as const;
      await this.#writes.write([...rowsOf(qosBySession.keys()), { kind: 'message', ...row }], writing);
    } catch (error) {
      for (const session of qosBySession.keys()) this.#releaseCapacity(session, 1, bytes);
      throw error;
    }
    this.#committedMessage = Math.max(this.#committedMessage, message);
    for (const session of qosBySession.keys()) session.stored = true;
  }

  /**
   * Stores the packet id under which a message is sent, or that PUBREC came for it. A message that is not stored is
   * sent all the same. Changes the packet: sets DUP on a redelivery, and another packet id where its own is still in
   * use.
   */
  update(client: PacketClient, packet: StoredPacket): Promise<void> {
    const session = this.#index.find(client.id);
    if (session === undefined || packet.messageId === undefined) return Promise.resolve();
    if (packet.cmd === 'pubrel') return this.#release(session, packet.messageId);
    const message = this.#keyOf(packet);
    if (message === undefined) return Promise.resolve();
    this.#noteSent(client, message);
    const before = session.sent.get(packet.messageId);
    if (before?.message === message) {
      if (client.clean === false) packet.dup = true; // [MQTT-3.3.1-1]
      return Promise.resolve();
    }
    if (session.sent.size >= limits.sessionMessagesMax) return Promise.resolve();
    if (before !== undefined) packet.messageId = freePacketId(session, packet.messageId);
    const bytes = messageCost(packet);
    return this.#send(session, { message, packetId: packet.messageId, qos: packet.qos ?? 0, bytes });
  }

  /**
   * Removes the message acknowledged under this packet id; without a packet id, a message that may not be delivered.
   */
  async clear(client: PacketClient, packet: StoredPacket): Promise<void> {
    const session = this.#index.find(client.id);
    if (session === undefined) return;
    const packetId = packet.messageId ?? undefined;
    if (packetId === undefined) return this.#clearUnsent(session, packet);
    const sent = session.sent.get(packetId);
    if (sent === undefined) return;
    session.removeSent(packetId);
    session.beginFinish(sent.message);
    try {
      const [gone = 0] = await this.#writes.finish([
        { kind: 'acknowledged', session: session.key, message: sent.message },
      ]);
      this.#releaseCapacity(session, gone, sent.bytes);
    } catch (error) {
      if (!session.sent.has(packetId)) session.putSent(packetId, sent);
      throw error;
    } finally {
      session.endFinish(sent.message);
    }
  }

  /** The messages stored for the client by now, oldest first; later ones are delivered as they come. */
  replay(client: PacketClient): AsyncIterable<StoredPacket> | readonly StoredPacket[] {
    const session = this.#index.find(client.id);
    if (session !== undefined) return this.#replay(client, session, this.#committedMessage);
    this.#sentBeforeReplay.set(client, null);
    return [];
  }

  async *#replay(client: PacketClient, session: StoredSession, upTo: number): AsyncGenerator<StoredPacket> {
    // Packet ids of messages sent in this run may not be in the tables yet.
    const packetIds = new Map(Array.from(session.sent, ([packetId, { message }]) => [message, packetId]));
    // Acknowledged a moment ago on an earlier connection, which is on its way to the disk.
    const finishing = session.finishing();
    try {
      for await (const row of this.#reads.queue(session.key, upTo)) {
        if (this.#writes.closed || session.ended) return;
        if (finishing.has(row.message)) continue;
        if (this.#sentBeforeReplay.get(client)?.has(row.message)) continue;
        const packetId = packetIds.get(row.message);
        // Its PUBREC may be on its way to the disk as well.
        const isReleased = packetId !== undefined && session.sent.get(packetId)?.released !== undefined;
        yield this.#packetOf(isReleased ? { ...row, isReleased } : row, packetId);
      }
    } finally {
      this.#sentBeforeReplay.set(client, null);
    }
  }

  /** Gives all that waits for a session that ends to whoever takes it, the oldest first. */
  async handOver(session: StoredSession, take: TakesWaiting): Promise<void> {
    const packetIds = new Map(Array.from(session.sent, ([packetId, { message }]) => [message, packetId]));
    const finishing = session.finishing();
    for await (const row of this.#reads.queue(session.key, this.#committedMessage)) {
      if (this.#writes.closed) return;
      if (!row.isReleased && !finishing.has(row.message)) await take(this.#packetOf(row, packetIds.get(row.message)));
    }
  }

  /** Reserves room for the message; returns the sessions that are not full, each with the QoS in which it gets it. */
  #reserveCapacity(
    qosOf: ReadonlyMap<StoredSession, number>,
    packet: StoredPacket,
    bytes: number,
  ): Map<StoredSession, number> {
    const qosBySession = new Map<StoredSession, number>();
    for (const [session, qos] of qosOf) {
      const isFull = packet.isOfGuest === true && !this.#usage.hasCapacityForGuests(session, bytes);
      if (isFull || session.queued >= limits.sessionMessagesMax || !this.#usage.takeBytes(session, bytes)) {
        this.dropped += 1;
        session.notKept += 1;
        continue;
      }
      session.queued += 1;
      session.queuedBytes += bytes;
      qosBySession.set(session, Math.min(qos, packet.qos ?? 0));
    }
    return qosBySession;
  }

  #releaseCapacity(session: StoredSession, rows: number, bytesOfRow: number): void {
    const bytes = Math.min(rows * bytesOfRow, session.queuedBytes);
    session.queued -= rows;
    session.queuedBytes -= bytes;
    // The bytes of an ended session were given back when it ended.
    if (!session.ended) this.#usage.releaseBytes(session.user, bytes);
  }

  /**
   * The message's key in the table. Keeps the number that it has, unless it or a higher one is already stored.
   */
  #numberOf(packet: StoredPacket, way: 'routed' | 'direct'): number {
    const number = packet.brokerCounter ?? 0;
    if (number > this.#lastMessage) {
      this.#lastMessage = number;
      return number;
    }
    this.#renumber(packet, way, ++this.#lastMessage);
    return this.#lastMessage;
  }

  /**
   * Gives the message its number, which rises in the order of commits and says which of the messages that come while a
   * session's queue is replayed it has got by that (forwarding.ts). For a stored message this is its key in the tables, which
   * is never used again; one that is not stored is numbered apart.
   */
  #renumber(packet: StoredPacket, way: 'routed' | 'direct' | 'passing', number: number): void {
    packet.brokerId = `${this.#broker.id}/${way}`;
    packet.brokerCounter = number;
  }

  #keyOf({ brokerId, brokerCounter }: StoredPacket): number | undefined {
    return brokerId === `${this.#broker.id}/passing` ? undefined : brokerCounter;
  }

  #noteSent(client: PacketClient, message: number): void {
    if (client.clean !== false) return;
    const sent = this.#sentBeforeReplay.get(client);
    if (sent === undefined) this.#sentBeforeReplay.set(client, new Set([message]));
    else sent?.add(message);
  }

  async #send(
    session: StoredSession,
    as: { message: number; packetId: number; qos: number; bytes: number },
  ): Promise<void> {
    const { message, packetId, qos, bytes } = as;
    const sent = { message, bytes };
    session.putSent(packetId, sent);
    const write = this.#writes.finish([{ kind: 'sent', session: session.key, message, packetId }]).then(([rows]) => {
      if (rows === 0 && session.sent.get(packetId) === sent) session.removeSent(packetId);
    });
    // QoS 2 waits for the packet id to be stored, because by it the client recognises a redelivery. QoS 1
    // does not wait: after a crash the message may be sent again under another id, which QoS 1 allows.
    if (qos === 2) return write;
    write.catch(() => {});
  }

  #release(session: StoredSession, packetId: number): Promise<void> {
    const sent = session.sent.get(packetId);
    if (sent === undefined) return Promise.resolve();
    if (sent.released !== undefined) return sent.released;
    const write = this.#writes.finish([{ kind: 'released', session: session.key, message: sent.message }]);
    sent.released = write.then(
      () => {},
      (error) => {
        delete sent.released;
        throw error;
      },
    );
    return sent.released;
  }

  /** The client may not have the message. One that has been given a packet id meanwhile is kept. */
  async #clearUnsent(session: StoredSession, packet: StoredPacket): Promise<void> {
    const message = this.#keyOf(packet);
    if (message === undefined) return;
    await nextTurn();
    // Another process may have it by now, which has numbered its queue anew.
    if (session.ended) return;
    const [gone = 0] = await this.#writes.finish([{ kind: 'dropped', session: session.key, message }]);
    this.#releaseCapacity(session, gone, messageCost(packet));
  }

  #packetOf(row: QueuedRow, packetId: number | undefined): StoredPacket {
    if (row.isReleased) return { cmd: 'pubrel', messageId: packetId };
    const { id: brokerId } = this.#broker;
    return {
      cmd: 'publish',
      brokerId,
      brokerCounter: row.message,
      ...packetFields(row),
      retain: false,
      dup: false,
      messageId: packetId,
    };
  }
}

const packetIdMax = 65_535;

function freePacketId(session: StoredSession, taken: number): number {
  let id = taken;
  do id = (id % packetIdMax) + 1;
  while (session.sent.has(id));
  return id;
}
