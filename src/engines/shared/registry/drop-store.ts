// The drop logs of devices in the registry: why MQTT messages were not stored. Bounded for each device.
import { sql } from 'kysely';
import { limits } from '../../../config/limits.ts';
import type { DeviceKey } from '../../../domain/device-key.ts';
import type { Drop, DropStore } from '../../../domain/devices/drop-log.ts';
import type { Registry } from './registry.ts';

export class SqlDropStore implements DropStore {
  readonly #registry: Registry;

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
    await this.#registry.write([
      insert,
      db.deleteFrom('drop_log').where('device', '=', device).where('key', '<=', boundary),
    ]);
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
