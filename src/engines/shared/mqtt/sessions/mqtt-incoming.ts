// Inbound QoS 2 messages that await PUBREL, stored so that a repeat is recognised after a restart too. Those of a clean
// session live in memory until the connection ends; those whose repeats are recognised otherwise (usual readings, by the
// fingerprints in the commits of their datapoints) in memory until the session does. Bounded by limits.inflightMax, and in
// bytes by the quota of the session's user (I4).

import { Refusal } from '../../../../base/refusal.ts';
import { limits } from '../../../../config/limits.ts';
import type { IncomingIds, JoinedWrites, PacketClient, StoredPacket } from '../../../../domain/ports/mqtt-sessions.ts';
import { packetColumns, packetFields } from '../mqtt-packet.ts';
import type { MqttReads } from '../mqtt-tables.ts';
import { type MqttUsage, messageCost } from '../mqtt-usage.ts';
import type { MqttWrites } from '../mqtt-writes.ts';
import type { StoredSession } from './mqtt-session.ts';
import type { SessionIndex } from './session-index.ts';
import type { StoredSessions } from './stored-sessions.ts';

/**
 * A single object: it is thrown for each new message, and making an error takes longer than the rest of the look-up.
 */
const nothingAwaits = new Error('No message awaits PUBREL under this packet id.');

export class MqttIncoming {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  readonly #index: SessionIndex;
  readonly #sessions: Pick<StoredSessions, 'hasEnded' | 'write'>;
  readonly #usage: MqttUsage;
  readonly #ofCleanSessions = new WeakMap<PacketClient, CleanIds>();
  readonly #ofKeptSessions = new WeakMap<PacketClient, HeldIds>();

  constructor(parts: {
    readonly writes: MqttWrites;
    readonly reads: MqttReads;
    readonly index: SessionIndex;
    readonly sessions: Pick<StoredSessions, 'hasEnded' | 'write'>;
    readonly usage: MqttUsage;
  }) {
    this.#writes = parts.writes;
    this.#reads = parts.reads;
    this.#index = parts.index;
    this.#sessions = parts.sessions;
    this.#usage = parts.usage;
  }

  idsOf(client: PacketClient): IncomingIds | undefined {
    return client.clean === true ? this.#cleanIdsOf(client) : this.#heldIdsOf(client);
  }

  #cleanIdsOf(client: PacketClient): CleanIds {
    let ids = this.#ofCleanSessions.get(client);
    if (ids === undefined) {
      ids = new CleanIds();
      this.#ofCleanSessions.set(client, ids);
    }
    return ids;
  }

  #heldIdsOf(client: PacketClient): HeldIds | undefined {
    const known = this.#ofKeptSessions.get(client);
    if (known?.session.ended === false) return known;
    const session = this.#sessions.hasEnded(client) ? undefined : this.#index.find(client.id);
    if (session === undefined) return undefined;
    const ids = new HeldIds(session, this.#usage);
    this.#ofKeptSessions.set(client, ids);
    return ids;
  }

  /**
   * Takes the room of a message. @returns what stores it.
   * @throws Refusal `too-many` when too many messages await PUBREL, `quota` when they exceed the quota.
   */
  reserve(client: PacketClient, packet: StoredPacket): (joined?: JoinedWrites) => Promise<void> {
    const id = packetIdOf(packet);
    if (client.clean === true) {
      assertCapacity(this.#cleanIdsOf(client)).add(id);
      return nothingToStore;
    }
    if (this.#sessions.hasEnded(client)) return nothingToStore;
    const session = this.#index.getOrCreate(client.id);
    assertCapacity(session.incoming);
    const bytes = messageCost(packet);
    if (!this.#usage.takeBytes(session, bytes))
      throw new Refusal('quota', 'The messages of QoS 2 under way take more than the quota of MQTT sessions.');
    this.#forget(session, id);
    const { promise: stored, resolve, reject } = Promise.withResolvers<void>();
    stored.catch(() => {});
    const incoming = { stored, bytes };
    session.putIncoming(id, incoming);
    return async (joined) => {
      const { qos = 0, retain = false } = packet;
      const row = { session: session.key, packetId: id, qos, retain };
      try {
        await this.#sessions.write(session, [{ kind: 'incoming', ...row, ...packetColumns(packet) }], joined);
        resolve();
      } catch (error) {
        if (session.incoming.get(id) === incoming) this.#forget(session, id);
        reject(error);
        throw error;
      }
    };
  }

  /** @throws Error when no message is stored under this packet id. */
  async get(client: PacketClient, packet: StoredPacket): Promise<StoredPacket> {
    const messageId = packetIdOf(packet);
    if (this.#ofCleanSessions.get(client)?.has(messageId)) return { cmd: 'publish', messageId };
    const session = this.#index.find(client.id);
    const stored = session?.incoming.get(messageId);
    if (session === undefined || stored === undefined) throw nothingAwaits;
    if (stored.stored === undefined) return { cmd: 'publish', messageId };
    // A repeat may arrive before the first is on disk; its PUBREC must not leave before that.
    await stored.stored;
    const row = await this.#reads.incoming(session.key, messageId);
    if (row === undefined) throw nothingAwaits;
    return { cmd: 'publish', ...packetFields(row), retain: row.isRetain, dup: false, messageId };
  }

  async remove(client: PacketClient, packet: StoredPacket): Promise<void> {
    const id = packetIdOf(packet);
    if (this.#ofCleanSessions.get(client)?.delete(id)) return;
    const session = this.#index.find(client.id);
    const stored = session?.incoming.get(id);
    if (session === undefined || stored === undefined) return;
    if (stored.stored === undefined) {
      this.#forget(session, id);
      return;
    }
    await this.#writes.finish([{ kind: 'incoming-removed', session: session.key, packetId: id }]);
    if (session.incoming.get(id) === stored) this.#forget(session, id);
  }

  /** Removes all messages of this client. */
  async clear(client: PacketClient): Promise<void> {
    this.#ofCleanSessions.delete(client);
    // A clean connection has stored nothing; what is stored under its client id belongs to a later session.
    if (client.clean === true) return;
    const session = this.#index.find(client.id);
    if (session === undefined || session.incoming.size === 0) return;
    const ids = [...session.incoming.keys()];
    for (const id of ids) this.#forget(session, id);
    await this.#writes.write(ids.map((packetId) => ({ kind: 'incoming-removed', session: session.key, packetId })));
  }

  #forget(session: StoredSession, id: number): void {
    const incoming = session.incoming.get(id);
    if (incoming === undefined) return;
    session.removeIncoming(id);
    // The bytes of an ended session were given back when it ended.
    if (!session.ended) this.#usage.releaseBytes(session.user, incoming.bytes);
  }
}

class CleanIds extends Set<number> implements IncomingIds {
  hasCapacityFor(): boolean {
    return true;
  }
}

/** Of a kept session. */
class HeldIds implements IncomingIds {
  readonly session: StoredSession;
  readonly #usage: MqttUsage;

  constructor(session: StoredSession, usage: MqttUsage) {
    this.session = session;
    this.#usage = usage;
  }

  get size(): number {
    return this.session.incoming.size;
  }

  has(id: number): boolean {
    return this.session.incoming.has(id);
  }

  hasCapacityFor(count: number): boolean {
    return this.#usage.hasCapacityFor(this.session, count * heldIdBytes);
  }

  add(id: number): void {
    // Looked at before; what others have taken meanwhile does not keep it out, because its message is stored.
    this.#usage.countBytes(this.session.user, heldIdBytes);
    this.session.putIncoming(id, { stored: undefined, bytes: heldIdBytes });
  }

  delete(id: number): boolean {
    const incoming = this.session.incoming.get(id);
    if (incoming === undefined || incoming.stored !== undefined) return false;
    this.session.removeIncoming(id);
    this.#usage.releaseBytes(this.session.user, incoming.bytes);
    return true;
  }
}

/** What an id counts for the quota that is held in memory: its entry there. */
const heldIdBytes = 64;

async function nothingToStore(): Promise<void> {}

function packetIdOf(packet: StoredPacket): number {
  if (packet.messageId === undefined) throw new Error('A QoS 2 packet has a packet id.');
  return packet.messageId;
}

function assertCapacity<T extends { readonly size: number }>(awaiting: T): T {
  if (awaiting.size >= limits.inflightMax)
    throw new Refusal('too-many', `${limits.inflightMax} QoS 2 messages await PUBREL already.`);
  return awaiting;
}
