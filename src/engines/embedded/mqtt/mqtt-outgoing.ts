// Messages of QoS 1 and 2 on their way to stored sessions: kept from before they are delivered until they are
// acknowledged. One row for the message, one for each session that waits for it; bounded for each session, and in bytes
// by the quota of its user (I4).
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../../config/limits.ts';
import type { Statement } from '../threads/writer-protocol.ts';
import { type PacketClient, type PacketRow, packetColumns, packetFields, type StoredPacket } from './mqtt-packet.ts';
import type { MqttReads } from './mqtt-reads.ts';
import { rowsOf, type StoredSession } from './mqtt-session.ts';
import type { MqttSessions } from './mqtt-sessions.ts';
import { type MqttUsage, messageCost } from './mqtt-usage.ts';
import type { MqttWrites } from './mqtt-writes.ts';

/** What these parts need to know of the broker. */
export interface BrokerIdentity {
  readonly id: string;
  readonly counter: number;
  readonly clients?: Readonly<Record<string, object>>;
  listenerCount?(event: string): number;
}

export interface QueueRecipient {
  readonly clientId: string;
  readonly qos?: number | undefined;
}

export class MqttOutgoing {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  readonly #sessions: MqttSessions;
  readonly #usage: MqttUsage;
  #broker: BrokerIdentity = { id: '', counter: 0 };
  #lastMessage = 0;
  #lastPassing = 0;
  #committedMessage = 0;
  /** By connection: what it was sent before its queue was replayed to it; null once that is over. */
  readonly #sentBeforeReplay = new WeakMap<PacketClient, Set<number> | null>();
  /** Messages not kept because a session had no room. */
  dropped = 0;

  constructor(parts: {
    readonly writes: MqttWrites;
    readonly reads: MqttReads;
    readonly sessions: MqttSessions;
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

  /** Keeps a message for sessions; resolves when it is stored for all of them that have room. */
  enqueue(recipients: readonly QueueRecipient[], packet: StoredPacket, way: 'routed' | 'direct'): Promise<void> {
    const qosOf = new Map<StoredSession, number>();
    for (const { clientId, qos = 2 } of recipients) {
      const session = this.#sessions.findOrCreate(clientId);
      if (session === undefined) this.dropped += 1;
      else qosOf.set(session, Math.max(qosOf.get(session) ?? 0, qos));
    }
    return this.enqueueFor(qosOf, packet, way);
  }

  /** The same for sessions that are known, each with the QoS of its subscription. */
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
   * Notes under which packet id a message is sent, or that PUBREC came for it. What is not kept is sent all the same.
   * Changes the packet where it is a redelivery (DUP) and where its packet id is still in use.
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
   * Removes what is acknowledged under this packet id; without one, what may not be delivered to the client.
   * @returns the message, where somebody wants to know.
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

  /** What is kept for the client, oldest first, up to what has been stored by now; the rest is delivered as it comes. */
  replay(client: PacketClient): AsyncIterable<StoredPacket> | readonly StoredPacket[] {
    const session = this.#sessions.find(client.id);
    if (session !== undefined) return this.#replay(client, session, this.#committedMessage);
    this.#sentBeforeReplay.set(client, null);
    return [];
  }

  async *#replay(client: PacketClient, session: StoredSession, upTo: number): AsyncGenerator<StoredPacket> {
    const page = this.#reads.prepare(`SELECT message FROM mqtt_queue
      WHERE session = ? AND message > ? AND message <= ? ORDER BY message LIMIT ${replayRows}`);
    // Memory knows the packet ids before the tables do.
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

  /** The sessions that have room, each with the QoS in which it gets the message. */
  #reserveCapacity(
    qosOf: ReadonlyMap<StoredSession, number>,
    packet: StoredPacket,
    bytes: number,
  ): Map<StoredSession, number> {
    const qosBySession = new Map<StoredSession, number>();
    for (const [session, qos] of qosOf) {
      if (session.queued >= limits.sessionMessagesMax || !this.#usage.takeBytes(session, bytes)) {
        this.dropped += 1;
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
    // What an ended session had was given back when it ended.
    if (!session.ended) this.#usage.giveBytes(session.user, bytes);
  }

  /** The message's key. A number this broker has not given yet is kept, if nothing was stored under it or later. */
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
   * The broker tells messages apart by broker id and number, and takes a message for a repeat when one with a higher
   * number of the same broker id has reached the client before it. A message that waits for its commit is overtaken by
   * others, so it would be lost. Hence it takes a new number, under a broker id of its own kind, within which numbers
   * rise in the order of commits. Of a stored message the number is its key in the tables, never given twice.
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
    // Of QoS 2 the id decides whether a redelivery is told from a new message. Of QoS 1 a crash that takes the id
    // along has the message sent once more under another, which QoS 1 allows; so its delivery does not wait.
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
   * aedes asks for this where the client may not have the message, but also for each of its subscriptions beyond the
   * first that takes the message. Then the delivery of the first is under way: it begins in the next turn of the event
   * loop, and a message that was given a packet id stays.
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

/** The sessions are grouped by the QoS they get; mostly it is the same for all. */
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
