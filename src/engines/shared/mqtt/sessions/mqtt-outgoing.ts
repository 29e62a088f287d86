// QoS 1 and 2 messages for stored sessions, kept from before they are delivered until they are acknowledged. One row
// for the message and one for each session that waits for it. Bounded for each session, and in bytes by the quota of
// its user (I4).

import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../../../config/limits.ts';
import type {
  BrokerIdentity,
  PacketClient,
  QueueRecipient,
  StoredPacket,
} from '../../../../domain/ports/mqtt-sessions.ts';
import type { Statement } from '../../database/database-writer.ts';
import { type PacketRow, packetColumns, packetFields } from '../mqtt-packet.ts';
import type { MqttReads } from '../mqtt-reads.ts';
import { type MqttUsage, messageCost } from '../mqtt-usage.ts';
import type { MqttWrites } from '../mqtt-writes.ts';
import { rowsOf, type StoredSession } from './mqtt-session.ts';
import type { StoredSessions } from './stored-sessions.ts';

export class MqttOutgoing {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  readonly #sessions: StoredSessions;
  readonly #usage: MqttUsage;
  #broker: BrokerIdentity = { id: '', counter: 0 };
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
    readonly sessions: StoredSessions;
    readonly usage: MqttUsage;
  }) {
    this.#writes = parts.writes;
    this.#reads = parts.reads;
    this.#sessions = parts.sessions;
    this.#usage = parts.usage;
  }

  start(broker: BrokerIdentity): void {
    this.#broker = broker;
    const last = 'SELECT max((SELECT max(id) FROM mqtt_message), (SELECT max(message) FROM mqtt_queue)) AS n';
    this.#lastMessage = Number((this.#reads.prepare(last).get() as { n: number | null }).n ?? 0);
    this.#committedMessage = this.#lastMessage;
  }

  /** Keeps a message for the recipients; resolves when it is stored for all of them that are not full. */
  enqueue(recipients: readonly QueueRecipient[], packet: StoredPacket, way: 'routed' | 'direct'): Promise<void> {
    const qosOf = new Map<StoredSession, number>();
    for (const { clientId, qos = 2 } of recipients) {
      const session = this.#sessions.findOrCreate(clientId);
      if (session === undefined) this.dropped += 1;
      else qosOf.set(session, Math.max(qosOf.get(session) ?? 0, qos));
    }
    return this.enqueueFor(qosOf, packet, way);
  }

  /** Like `enqueue`, for known sessions, each with the QoS of its subscription. */
  async enqueueFor(
    qosOf: ReadonlyMap<StoredSession, number>,
    packet: StoredPacket,
    way: 'routed' | 'direct',
  ): Promise<void> {
    const bytes = messageCost(packet);
    const qosBySession = this.#reserveCapacity(qosOf, packet, bytes);
    if (qosBySession.size === 0) {
      this.#renumber(packet, 'passing', ++this.#lastPassing);
      return;
    }
    const message = this.#numberOf(packet, way);
    const rows = rowsOf(qosBySession.keys());
    const sql = 'INSERT INTO mqtt_message (id, topic, payload, rest) VALUES (?, ?, ?, ?)';
    const statements = [
      ...rows,
      { sql, parameters: [message, ...packetColumns(packet)] },
      ...queueRows(qosBySession, message, bytes),
    ];
    try {
      await this.#writes.write(statements);
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
    const session = this.#sessions.find(client.id);
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
   * @returns the message, where the broker asks for it.
   */
  async clear(client: PacketClient, packet: StoredPacket): Promise<StoredPacket | undefined> {
    const session = this.#sessions.find(client.id);
    if (session === undefined) return undefined;
    const packetId = packet.messageId ?? undefined;
    if (packetId === undefined) return this.#clearUnsent(session, packet);
    const sent = session.sent.get(packetId);
    if (sent === undefined) return undefined;
    session.removeSent(packetId);
    const { listenerCount } = this.#broker;
    const wanted = listenerCount === undefined || listenerCount.call(this.#broker, 'ack') > 0;
    const cleared = wanted ? this.#read(session, sent.message, packetId) : undefined;
    try {
      const parameters = [session.key, sent.message];
      const [gone = 0] = await this.#writes.finish([
        { sql: 'DELETE FROM mqtt_queue WHERE session = ? AND message = ?', parameters },
      ]);
      this.#releaseCapacity(session, gone, sent.bytes);
    } catch (error) {
      if (!session.sent.has(packetId)) session.putSent(packetId, sent);
      throw error;
    }
    return cleared;
  }

  /** The messages stored for the client by now, oldest first; later ones are delivered as they come. */
  replay(client: PacketClient): AsyncIterable<StoredPacket> | readonly StoredPacket[] {
    const session = this.#sessions.find(client.id);
    if (session !== undefined) return this.#replay(client, session, this.#committedMessage);
    this.#sentBeforeReplay.set(client, null);
    return [];
  }

  async *#replay(client: PacketClient, session: StoredSession, upTo: number): AsyncGenerator<StoredPacket> {
    const page = this.#reads.prepare(`SELECT message FROM mqtt_queue
      WHERE session = ? AND message > ? AND message <= ? ORDER BY message LIMIT ${replayRows}`);
    // Packet ids of messages sent in this run may not be in the tables yet.
    const packetIds = new Map(Array.from(session.sent, ([packetId, { message }]) => [message, packetId]));
    let after = -1;
    try {
      for (;;) {
        const rows = page.all(session.key, after, upTo) as { message: number }[];
        for (const { message } of rows) {
          after = message;
          if (this.#reads.closed) return;
          if (this.#sentBeforeReplay.get(client)?.has(message)) continue;
          const packet = this.#read(session, message, packetIds.get(message));
          if (packet !== undefined) yield packet;
        }
        if (rows.length < replayRows || this.#reads.closed) return;
      }
    } finally {
      this.#sentBeforeReplay.set(client, null);
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
   * The message's key in the table. Keeps a number that this broker has not used yet, unless it or a higher one is
   * already stored.
   */
  #numberOf(packet: StoredPacket, way: 'routed' | 'direct'): number {
    const number = packet.brokerCounter ?? 0;
    if (number > this.#broker.counter && number > this.#lastMessage) {
      this.#lastMessage = number;
      return number;
    }
    this.#renumber(packet, way, ++this.#lastMessage);
    return this.#lastMessage;
  }

  /**
   * aedes identifies messages by broker id and number, and treats a message as a repeat when one with a higher number of
   * the same broker id has reached the client before. A message that waits for its commit is overtaken by others and
   * would thus be lost. Therefore it gets a new number under another broker id, whose numbers rise in the order of
   * commits. For a stored message this is its key in the tables, which is never used again.
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
    const sql = 'UPDATE mqtt_queue SET packet_id = ? WHERE session = ? AND message = ?';
    const write = this.#writes.finish([{ sql, parameters: [packetId, session.key, message] }]).then(([rows]) => {
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
    const sql = 'UPDATE mqtt_queue SET released = 1 WHERE session = ? AND message = ?';
    const write = this.#writes.finish([{ sql, parameters: [session.key, sent.message] }]);
    sent.released = write.then(
      () => {},
      (error) => {
        delete sent.released;
        throw error;
      },
    );
    return sent.released;
  }

  /**
   * aedes calls this where the client may not have the message, but also for each further subscription that matches it.
   * In that case the first one's delivery is under way and begins in the next turn of the event loop, so a message that
   * has been given a packet id by then is kept.
   */
  async #clearUnsent(session: StoredSession, packet: StoredPacket): Promise<undefined> {
    const message = this.#keyOf(packet);
    if (message === undefined) return;
    await nextTurn();
    const sql = 'DELETE FROM mqtt_queue WHERE session = ? AND message = ? AND packet_id IS NULL';
    const [gone = 0] = await this.#writes.finish([{ sql, parameters: [session.key, message] }]);
    this.#releaseCapacity(session, gone, messageCost(packet));
  }

  #read(session: StoredSession, message: number, packetId: number | undefined): StoredPacket | undefined {
    const row = this.#reads
      .prepare(`SELECT topic, payload, rest, qos, released FROM mqtt_queue JOIN mqtt_message ON id = message
        WHERE session = ? AND message = ?`)
      .get(session.key, message) as unknown as (PacketRow & { readonly released: number }) | undefined;
    if (row === undefined) return undefined;
    if (row.released === 1) return { cmd: 'pubrel', messageId: packetId };
    const { id: brokerId } = this.#broker;
    return {
      cmd: 'publish',
      brokerId,
      brokerCounter: message,
      ...packetFields(row),
      retain: false,
      dup: false,
      messageId: packetId,
    };
  }
}

const replayRows = 200;
const packetIdMax = 65_535;

/** Sessions are grouped by QoS, which usually is the same for all. */
function queueRows(qosBySession: ReadonlyMap<StoredSession, number>, message: number, bytes: number): Statement[] {
  const keysByQos = new Map<number, number[]>();
  for (const [session, qos] of qosBySession) {
    const keys = keysByQos.get(qos);
    if (keys === undefined) keysByQos.set(qos, [session.key]);
    else keys.push(session.key);
  }
  return Array.from(keysByQos, ([qos, keys]) => ({
    sql: 'INSERT INTO mqtt_queue (session, message, qos, bytes) SELECT value, ?, ?, ? FROM json_each(?)',
    parameters: [message, qos, bytes, JSON.stringify(keys)],
  }));
}

function freePacketId(session: StoredSession, taken: number): number {
  let id = taken;
  do id = (id % packetIdMax) + 1;
  while (session.sent.has(id));
  return id;
}
