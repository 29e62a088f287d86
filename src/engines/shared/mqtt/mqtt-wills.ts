// Last wills, stored so that the next run publishes those of a run that crashed. A will belongs to a client and a run
// of the broker, so that a client which reconnects quickly after a crash does not delete its old will unsent. Bounded
// by the number of connections and limits.willBytesMax; charged to its owner's quota (I4).

import type { BrokerIdentity, PacketClient, StoredPacket, WillKey } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import { packetColumns, packetFields } from './mqtt-packet.ts';
import type { MqttReads, WillRow } from './mqtt-tables.ts';
import { type MqttUsage, messageCost } from './mqtt-usage.ts';
import type { MqttWrites } from './mqtt-writes.ts';

export class MqttWills {
  readonly #writes: MqttWrites;
  readonly #reads: MqttReads;
  #broker: BrokerIdentity = { id: '' };
  readonly #usage: MqttUsage;
  /** By client: the user and bytes of its will in this run. A client without an entry has nothing to delete. */
  readonly #clients = new Map<string, { readonly user: UserKey | undefined; readonly bytes: number }>();

  constructor(parts: { readonly writes: MqttWrites; readonly reads: MqttReads; readonly usage: MqttUsage }) {
    this.#writes = parts.writes;
    this.#reads = parts.reads;
    this.#usage = parts.usage;
  }

  async start(broker: BrokerIdentity): Promise<void> {
    this.#broker = broker;
    for (const clientId of await this.#reads.willClients(broker.id))
      this.#clients.set(clientId, { user: undefined, bytes: 0 });
  }

  async put(client: PacketClient, will: StoredPacket): Promise<void> {
    // By these it is deleted when it has been published.
    will.brokerId = this.#broker.id;
    will.clientId = client.id;
    const { user, qos = 0, retain = false } = will;
    this.#release(client.id);
    const bytes = messageCost(will);
    this.#clients.set(client.id, { user, bytes });
    this.#usage.countBytes(user, bytes);
    const row = { clientId: client.id, brokerId: this.#broker.id, user: user ?? null, qos, retain };
    await this.#writes.write([{ kind: 'will', ...row, ...packetColumns(will) }]);
  }

  async find({ id, brokerId = this.#broker.id }: WillKey): Promise<StoredPacket | undefined> {
    const row = await this.#reads.will(id, brokerId);
    return row === undefined ? undefined : toWill(row);
  }

  /** @returns the will where it is one of another run. */
  async remove({ id, brokerId = this.#broker.id }: WillKey): Promise<StoredPacket | undefined> {
    if (brokerId === this.#broker.id && !this.#release(id)) return undefined;
    // Of this run the client may leave its next will in the next moment: that is stored behind the removal.
    const will = brokerId === this.#broker.id ? undefined : await this.find({ id, brokerId });
    await this.#writes.write([{ kind: 'will-removed', clientId: id, brokerId }]);
    return will;
  }

  async removeAllOf(user: UserKey): Promise<void> {
    await this.#writes.write([{ kind: 'wills-removed', user }]);
  }

  /** The wills of brokers that are not in the list. */
  async *ofOthersThan(brokers: Readonly<Record<string, unknown>>): AsyncGenerator<StoredPacket> {
    for (const { clientId: id, brokerId } of await this.#reads.wills()) {
      if (this.#writes.closed) return;
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
    ...{ clientId: row.clientId, brokerId: row.brokerId },
    ...(row.user !== null && { user: row.user }),
    ...packetFields(row),
    retain: row.isRetain,
  };
}
