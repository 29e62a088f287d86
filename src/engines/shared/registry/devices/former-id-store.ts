// Former ids in the registry. What else names a device by its id follows by triggers (migration 0034).
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { DeviceId } from '../../../../domain/devices/device.ts';
import type { ModificationStamp } from '../../../../domain/devices/device-store.ts';
import type { FormerDeviceId } from '../../../../domain/devices/former-id.ts';
import type { FormerIdStore, NewDeviceId } from '../../../../domain/devices/former-id-store.ts';
import type { Registry } from '../registry.ts';
import type { FormerDeviceIdTable, Tables } from '../tables.ts';

export class SqlFormerIdStore implements FormerIdStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async findDevice(id: DeviceId): Promise<FormerDeviceId | undefined> {
    return this.#registry.read
      .selectFrom('former_device_id as former')
      .innerJoin('device', 'device.key', 'former.device')
      .select(['device.key as device', 'device.id', 'former.until as untilMs'])
      .where('former.id', '=', id)
      .executeTakeFirst();
  }

  async renameDevice(stamp: ModificationStamp, renaming: NewDeviceId): Promise<boolean> {
    const { device, atMs } = stamp;
    const { from, to, untilMs, formerMax } = renaming;
    const isRenamed = sql`EXISTS (SELECT 1 FROM device WHERE key = ${device} AND id = ${to})`;
    const [, changed] = await this.#write([
      sql`DELETE FROM former_device_id WHERE device = ${device} AND until <= ${atMs}`,
      // A way back to a former id ends that one, so it does not count.
      sql`UPDATE device SET id = ${to}, date_modified = ${atMs} WHERE key = ${device} AND id = ${from}
        AND (SELECT count(*) FROM former_device_id WHERE device = ${device} AND id <> ${to}) < ${formerMax}`,
      sql`INSERT INTO former_device_id (id, device, until) SELECT ${from}, ${device}, ${untilMs} WHERE ${isRenamed}
        ON CONFLICT (id) DO NOTHING`,
    ]);
    return changed === 1;
  }

  async forgetDevice(device: DeviceKey, id: DeviceId): Promise<boolean> {
    const [removed] = await this.#write([sql`DELETE FROM former_device_id WHERE device = ${device} AND id = ${id}`]);
    return removed === 1;
  }

  #write(statements: readonly RawBuilder<unknown>[]): Promise<readonly number[]> {
    const { read } = this.#registry;
    return this.#registry.write(statements.map((statement) => ({ compile: () => statement.compile(read) })));
  }
}

/** The former ids of these devices, the latest first. */
export async function formerIdsOf(
  db: Kysely<Tables>,
  devices: readonly DeviceKey[],
): Promise<Selectable<FormerDeviceIdTable>[]> {
  const former = db.selectFrom('former_device_id').selectAll().where('device', 'in', devices);
  return former.orderBy('until', 'desc').execute();
}

/** The devices that answer at `atMs` by these former ids. */
export async function devicesByFormerIds(
  db: Kysely<Tables>,
  ids: readonly DeviceId[],
  atMs: number,
): Promise<readonly { readonly id: DeviceId; readonly device: DeviceKey }[]> {
  if (ids.length === 0) return [];
  const former = db.selectFrom('former_device_id').select(['id', 'device']).where('id', 'in', ids);
  return former.where('until', '>', atMs).execute();
}
