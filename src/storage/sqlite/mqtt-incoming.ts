// QoS 2 messages that came in and await PUBREL, so that a repeat is told from a new message, across a restart too.
// Those of a clean session live and die with its connection and are not stored. Bounded by limits.inflightMax (I4).
import { limits } from '../../config/limits.ts';
import { type Packet, type PacketClient, type PacketRow, packetColumns, packetFields } from './mqtt-packet.ts';
import type { MqttReads } from './mqtt-reads.ts';
import type { MqttSessions } from './mqtt-sessions.ts';
import type { MqttWrites } from './mqtt-writes.ts';

export class MqttIncoming {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  readonly #sessions: MqttSessions;
  readonly #ofCleanSessions = new WeakMap<PacketClient, Set<number>>();

  constructor(parts: { readonly writes: MqttWrites; readonly reads: MqttReads; readonly sessions: MqttSessions }) {
    this.#writes = parts.writes;
    this.#reads = parts.reads;
    this.#sessions = parts.sessions;
  }

  /** @throws Error when too many await PUBREL. */
  async store(client: PacketClient, packet: Packet): Promise<void> {
    const id = packetIdOf(packet);
    if (client.clean === true) {
      const ids = this.#ofCleanSessions.get(client) ?? new Set();
      this.#ofCleanSessions.set(client, assertRoom(ids).add(id));
      return;
    }
    if (this.#sessions.hasEnded(client)) return;
    const session = this.#sessions.getOrCreate(client.id);
    assertRoom(session.incoming);
    const columns = 'session, packet_id, topic, payload, rest, qos, retain';
    const write = this.#sessions.write(session, [
      {
        sql: `INSERT OR REPLACE INTO mqtt_incoming (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
        parameters: [session.key, id, ...packetColumns(packet), packet.qos ?? 0, packet.retain === true ? 1 : 0],
      },
    ]);
    session.incoming.set(id, write);
    try {
      await write;
    } catch (error) {
      if (session.incoming.get(id) === write) session.incoming.delete(id);
      throw error;
    }
  }

  /** @throws Error when there is none under this packet id. */
  async get(client: PacketClient, packet: Packet): Promise<Packet> {
    const messageId = packetIdOf(packet);
    if (this.#ofCleanSessions.get(client)?.has(messageId)) return { cmd: 'publish', messageId };
    const session = this.#sessions.find(client.id);
    const stored = session?.incoming.get(messageId);
    if (session === undefined || stored === undefined) throw new Error(`No message awaits PUBREL under ${messageId}.`);
    // A repeat may come before the first is on the disk; its PUBREC must not.
    await stored;
    const row = this.#reads
      .prepare('SELECT topic, payload, rest, qos, retain FROM mqtt_incoming WHERE session = ? AND packet_id = ?')
      .get(session.key, messageId) as unknown as (PacketRow & { readonly retain: number }) | undefined;
    if (row === undefined) throw new Error(`No message awaits PUBREL under ${messageId}.`);
    return { cmd: 'publish', ...packetFields(row), retain: row.retain === 1, dup: false, messageId };
  }

  async remove(client: PacketClient, packet: Packet): Promise<void> {
    const id = packetIdOf(packet);
    if (this.#ofCleanSessions.get(client)?.delete(id)) return;
    const session = this.#sessions.find(client.id);
    const stored = session?.incoming.get(id);
    if (session === undefined || stored === undefined) return;
    const sql = 'DELETE FROM mqtt_incoming WHERE session = ? AND packet_id = ?';
    await this.#writes.finish([{ sql, parameters: [session.key, id] }]);
    if (session.incoming.get(id) === stored) session.incoming.delete(id);
  }

  /** Forgets all that came from this client. */
  async clear(client: PacketClient): Promise<void> {
    this.#ofCleanSessions.delete(client);
    // A clean connection never stored anything; what is stored under its id is of a session that came after it.
    if (client.clean === true) return;
    const session = this.#sessions.find(client.id);
    if (session === undefined || session.incoming.size === 0) return;
    session.incoming.clear();
    await this.#writes.write([{ sql: 'DELETE FROM mqtt_incoming WHERE session = ?', parameters: [session.key] }]);
  }
}

function packetIdOf(packet: Packet): number {
  if (packet.messageId === undefined) throw new Error('A QoS 2 packet has a packet id.');
  return packet.messageId;
}

function assertRoom<T extends { readonly size: number }>(awaiting: T): T {
  if (awaiting.size >= limits.inflightMax)
    throw new Error(`${limits.inflightMax} QoS 2 messages await PUBREL already.`);
  return awaiting;
}
