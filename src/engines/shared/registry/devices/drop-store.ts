// The drop logs of devices in the registry: why MQTT messages were not stored. Bounded for each device, and for all,
// because strangers add entries that are charged to nobody's quota (I4).
import { sql } from 'kysely';
import { limits } from '../../../../config/limits.ts';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { Drop, DropStore } from '../../../../domain/devices/drop-log.ts';
import type { Registry } from '../registry.ts';

export class SqlDropStore implements DropStore {
  readonly #registry: Registry;
  /**
   * Drops of all devices, or too many by those of devices removed meanwhile. Undefined until they are first counted.
   */
  #count: number | undefined;
  #isRemoving = false;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async append(device: DeviceKey, drop: Drop): Promise<void> {
    const { atMs: at, topic, username, reason } = drop;
    const db = this.#registry.read;
    const boundary = sql<number>`(SELECT key FROM drop_log WHERE device = ${device} ORDER BY key DESC LIMIT 1 OFFSET ${sql.lit(limits.dropsPerDeviceMax)})`;
    // Inserts nothing where the device was removed meanwhile.
    const insert = db
      .insertInto('drop_log')
      .columns(['device', 'at', 'topic', 'username', 'reason'])
      .expression(
        db
          .selectFrom('device')
          .select([
            'key',
            sql.val(at).as('at'),
            sql.val(topic).as('topic'),
            sql.val(username).as('username'),
            sql.val(reason).as('reason'),
          ])
          .where('key', '=', device),
      );
    const [added = 0, removed = 0] = await this.#registry.write([
      insert,
      db.deleteFrom('drop_log').where('device', '=', device).where('key', '<=', boundary),
    ]);
    if (this.#count === undefined) this.#count = await this.#countAll();
    else this.#count += added - removed;
    await this.#keepWithinMax(this.#count);
  }

  async #keepWithinMax(count: number): Promise<void> {
    // One call at a time: its loop sees what the others add meanwhile.
    if (count <= limits.dropsMax || this.#isRemoving) return;
    this.#isRemoving = true;
    try {
      for (let before = count; before > limits.dropsMax; before = this.#count) {
        const counted = await this.#countAll();
        const removed = await this.#removeOldest(Math.ceil(counted - limits.dropsMax * keptShare));
        if (removed === 0 && counted >= before) return;
        this.#count = (this.#count ?? before) - Math.max(0, before - counted) - removed;
      }
    } finally {
      this.#isRemoving = false;
    }
  }

  /** Removes at most `count` drops: the oldest of the owner whose devices have the most. Returns how many. */
  async #removeOldest(count: number): Promise<number> {
    if (count <= 0) return 0;
    const db = this.#registry.read;
    const [most, next] = await db
      .selectFrom('drop_log')
      .innerJoin('device', 'device.key', 'drop_log.device')
      .select(['device.owner', sql<number>`count(*)`.as('count')])
      .groupBy('device.owner')
      .orderBy('count', 'desc')
      .limit(2)
      .execute();
    if (most === undefined) return 0;
    // Removes the difference to the owner with the second most; at least a tenth, because with two owners of equal
    // numbers all rows would be counted again for each drop.
    const removable = Math.max(most.count - (next?.count ?? 0), Math.ceil(most.count / 10));
    const oldest = db
      .selectFrom('drop_log')
      .innerJoin('device', 'device.key', 'drop_log.device')
      .select('drop_log.key')
      .where('device.owner', '=', most.owner)
      .orderBy('drop_log.key')
      .limit(Math.min(count, removable));
    const [removed = 0] = await this.#registry.write([db.deleteFrom('drop_log').where('key', 'in', oldest)]);
    return removed;
  }

  async #countAll(): Promise<number> {
    const counted = this.#registry.read.selectFrom('drop_log').select(sql<number>`count(*)`.as('count'));
    return (await counted.executeTakeFirst())?.count ?? 0;
  }

  async list(device: DeviceKey): Promise<Drop[]> {
    return this.#registry.read
      .selectFrom('drop_log')
      .select(['at as atMs', 'topic', 'username', 'reason'])
      .where('device', '=', device)
      .orderBy('key', 'desc')
      .execute();
  }
}

/** Part of `dropsMax` that is kept, so that not every further drop has to remove one. */
const keptShare = 0.9;
