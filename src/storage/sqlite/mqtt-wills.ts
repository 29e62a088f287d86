// Last wills, kept so that those of a run that crashed are published by the next. A will belongs to a client and to
// a run of the broker: a client that comes back quickly after a crash does not take its old will away unsent.
import type { Broker } from './mqtt-outgoing.ts';
import { type Packet, type PacketClient, type PacketRow, packetColumns, packetFields } from './mqtt-packet.ts';
import type { MqttReads } from './mqtt-reads.ts';
import type { MqttWrites } from './mqtt-writes.ts';

/** Whose will; without a broker id, that of the present run. */
export interface WillKey extends PacketClient {
  readonly brokerId?: string;
}

interface WillRow extends PacketRow {
  readonly client_id: string;
  readonly broker_id: string;
  readonly username: string | null;
  readonly retain: number;
}

export class MqttWills {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  #broker: Broker = { id: '', counter: 0 };
  /** Clients with a will of this run: without one a connect has nothing to delete. */
  readonly #clients = new Set<string>();

  constructor(parts: { readonly writes: MqttWrites; readonly reads: MqttReads }) {
    this.#writes = parts.writes;
    this.#reads = parts.reads;
  }

  start(broker: Broker): void {
    this.#broker = broker;
    const rows = this.#reads.prepare('SELECT client_id FROM mqtt_will WHERE broker_id = ?').all(broker.id);
    for (const { client_id } of rows as { client_id: string }[]) this.#clients.add(client_id);
  }

  async put(client: PacketClient, will: Packet): Promise<void> {
    // The broker expects to find on the will whose it is.
    will.brokerId = this.#broker.id;
    will['clientId'] = client.id;
    const username = typeof will['username'] === 'string' ? will['username'] : null;
    const columns = 'client_id, broker_id, username, topic, payload, rest, qos, retain';
    this.#clients.add(client.id);
    await this.#writes.write([
      {
        sql: `INSERT OR REPLACE INTO mqtt_will (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        parameters: [
          ...[client.id, this.#broker.id, username],
          ...packetColumns(will),
          ...[will.qos ?? 0, will.retain === true ? 1 : 0],
        ],
      },
    ]);
  }

  async find({ id, brokerId = this.#broker.id }: WillKey): Promise<Packet | undefined> {
    const row = this.#reads.prepare('SELECT * FROM mqtt_will WHERE client_id = ? AND broker_id = ?').get(id, brokerId);
    return row === undefined ? undefined : toWill(row as unknown as WillRow);
  }

  async remove({ id, brokerId = this.#broker.id }: WillKey): Promise<Packet | undefined> {
    if (brokerId === this.#broker.id && !this.#clients.delete(id)) return undefined;
    const will = await this.find({ id, brokerId });
    const sql = 'DELETE FROM mqtt_will WHERE client_id = ? AND broker_id = ?';
    await this.#writes.write([{ sql, parameters: [id, brokerId] }]);
    return will;
  }

  async removeAllOf(username: string): Promise<void> {
    await this.#writes.write([{ sql: 'DELETE FROM mqtt_will WHERE username = ?', parameters: [username] }]);
  }

  /** The wills of brokers other than these. */
  async *ofOthersThan(brokers: Readonly<Record<string, unknown>>): AsyncGenerator<Packet> {
    const keys = this.#reads.prepare('SELECT client_id, broker_id FROM mqtt_will').all() as unknown as WillRow[];
    for (const { client_id: id, broker_id: brokerId } of keys) {
      if (this.#reads.closed) return;
      if (brokers[brokerId] !== undefined) continue;
      const will = await this.find({ id, brokerId });
      if (will !== undefined) yield will;
    }
  }
}

function toWill(row: WillRow): Packet {
  return {
    ...{ clientId: row.client_id, brokerId: row.broker_id },
    ...(row.username !== null && { username: row.username }),
    ...packetFields(row),
    retain: row.retain === 1,
  };
}
