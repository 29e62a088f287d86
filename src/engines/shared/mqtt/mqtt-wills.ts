// Last wills, stored so that the next run publishes those of a run that crashed. A will belongs to a client and a run
// of the broker, so that a client which reconnects quickly after a crash does not delete its old will unsent. Bounded
// by the number of connections and limits.willBytesMax; charged to its owner's quota (I4).

import type { BrokerIdentity, PacketClient, StoredPacket, WillKey } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import { type PacketRow, packetColumns, packetFields } from './mqtt-packet.ts';
import type { MqttReads } from './mqtt-reads.ts';
import { type MqttUsage, messageCost } from './mqtt-usage.ts';
import type { MqttWrites } from './mqtt-writes.ts';

interface WillRow extends PacketRow {
  readonly client_id: string;
  readonly broker_id: string;
  readonly user: number | null;
  readonly retain: number;
}

export class MqttWills {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  #broker: BrokerIdentity = { id: '', counter: 0 };
  readonly #usage: MqttUsage;
  /** By client: the user and bytes of its will in this run. A client without an entry has nothing to delete. */
  readonly #clients = new Map<string, { readonly user: UserKey | undefined; readonly bytes: number }>();

  constructor(parts: { readonly writes: MqttWrites; readonly reads: MqttReads; readonly usage: MqttUsage }) {
    this.#writes = parts.writes;
    this.#reads = parts.reads;
    this.#usage = parts.usage;
  }

  start(broker: BrokerIdentity): void {
    this.#broker = broker;
    const rows = this.#reads.prepare('SELECT client_id FROM mqtt_will WHERE broker_id = ?').all(broker.id);
    for (const { client_id } of rows as { client_id: string }[])
      this.#clients.set(client_id, { user: undefined, bytes: 0 });
  }

  async put(client: PacketClient, will: StoredPacket): Promise<void> {
    // The broker expects these fields on the will.
    will.brokerId = this.#broker.id;
    will.clientId = client.id;
    const { user } = will;
    const columns = 'client_id, broker_id, user, topic, payload, rest, qos, retain';
    this.#release(client.id);
    const bytes = messageCost(will);
    this.#clients.set(client.id, { user, bytes });
    this.#usage.countBytes(user, bytes);
    await this.#writes.write([
      {
        sql: `INSERT OR REPLACE INTO mqtt_will (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        parameters: [
          ...[client.id, this.#broker.id, user ?? null],
          ...packetColumns(will),
          ...[will.qos ?? 0, will.retain === true ? 1 : 0],
        ],
      },
    ]);
  }

  async find({ id, brokerId = this.#broker.id }: WillKey): Promise<StoredPacket | undefined> {
    const row = this.#reads.prepare('SELECT * FROM mqtt_will WHERE client_id = ? AND broker_id = ?').get(id, brokerId);
    return row === undefined ? undefined : toWill(row as unknown as WillRow);
  }

  async remove({ id, brokerId = this.#broker.id }: WillKey): Promise<StoredPacket | undefined> {
    if (brokerId === this.#broker.id && !this.#release(id)) return undefined;
    const will = await this.find({ id, brokerId });
    const sql = 'DELETE FROM mqtt_will WHERE client_id = ? AND broker_id = ?';
    await this.#writes.write([{ sql, parameters: [id, brokerId] }]);
    return will;
  }

  async removeAllOf(user: UserKey): Promise<void> {
    await this.#writes.write([{ sql: 'DELETE FROM mqtt_will WHERE user = ?', parameters: [user] }]);
  }

  /** The wills of brokers that are not in the list. */
  async *ofOthersThan(brokers: Readonly<Record<string, unknown>>): AsyncGenerator<StoredPacket> {
    const keys = this.#reads.prepare('SELECT client_id, broker_id FROM mqtt_will').all() as unknown as WillRow[];
    for (const { client_id: id, broker_id: brokerId } of keys) {
      if (this.#reads.closed) return;
      if (brokers[brokerId] !== undefined) continue;
      const will = await this.find({ id, brokerId });
      if (will !== undefined) yield will;
    }
  }

  /** Returns the will's bytes to the user's quota; false where the client has no will. */
  #release(clientId: string): boolean {
    const will = this.#clients.get(clientId);
    if (will === undefined) return false;
    this.#clients.delete(clientId);
    this.#usage.releaseBytes(will.user, will.bytes);
    return true;
  }
}

function toWill(row: WillRow): StoredPacket {
  return {
    ...{ clientId: row.client_id, brokerId: row.broker_id },
    ...(row.user !== null && { user: row.user }),
    ...packetFields(row),
    retain: row.retain === 1,
  };
}
