// Settings of actuators in the registry: their history, and what gateways are still to be given.
import { type Compilable, type RawBuilder, type Selectable, sql } from 'kysely';
import { limits } from '../../../../config/limits.ts';
import type { ActuatorSettingStore, PendingQuery } from '../../../../domain/actuators/actuator-setting-store.ts';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type {
  Downlink,
  NewSetting,
  PendingSetting,
  Setting,
  SettingDoor,
  SettingId,
} from '../../../../domain/devices/setting.ts';
import { withinTime } from '../conditions/time-guard.ts';
import type { Registry } from '../registry.ts';
import type { ActuatorSettingTable } from './device-tables.ts';

export class SqlActuatorSettingStore implements ActuatorSettingStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async list(actuator: number): Promise<Setting[]> {
    const rows = await this.#db
      .selectFrom('actuator_setting')
      .leftJoin('user', 'user.key', 'actuator_setting.user')
      .leftJoin('api_key', 'api_key.id', 'actuator_setting.api_key')
      .selectAll('actuator_setting')
      .select(['user.username', 'api_key.name as key_name'])
      .where('actuator', '=', actuator)
      .orderBy('actuator_setting.key', 'desc')
      .execute();
    return rows.map(toSetting);
  }

  async listPending(gateway: string, { after, limit, withQueued, caller }: PendingQuery): Promise<PendingSetting[]> {
    const setting = this.#db
      .selectFrom('device')
      .innerJoin('actuator_setting', 'actuator_setting.device', 'device.key')
      .innerJoin('actuator', 'actuator.key', 'actuator_setting.actuator')
      .select(['actuator_setting.key', 'actuator_setting.id', 'actuator_setting.at as atMs'])
      .select(['actuator_setting.value as valueJson', 'device.id as device', 'device.key as deviceKey'])
      .select(['actuator.id as actuator', 'actuator.key as actuatorKey'])
      .where(withinTime('device'))
      .where('device.gateway_id', '=', gateway)
      .where('actuator_setting.downlink', '<>', 'none')
      .where('actuator_setting.key', '>', after);
    const newest = setting.where(
      sql<boolean>`NOT EXISTS (SELECT 1 FROM actuator_setting AS newer
        WHERE newer.actuator = actuator_setting.actuator AND newer.key > actuator_setting.key)`,
    );
    const wanted = withQueued ? newest : newest.where('actuator_setting.downlink', '<>', 'queued');
    return this.#registry.search(wanted.orderBy('actuator_setting.key').limit(limit), { caller: caller.key });
  }

  async lastSetMs(actuator: number): Promise<number | undefined> {
    const settings = this.#db.selectFrom('actuator_setting').select('at').where('actuator', '=', actuator);
    return (await settings.orderBy('key', 'desc').limit(1).executeTakeFirst())?.at;
  }

  async markReplayed(actuators: readonly number[], atMs: number): Promise<void> {
    await this.#registry.write([
      this.#db
        .updateTable('actuator_setting')
        .set({ downlink: 'none', delivered: atMs })
        .where('actuator', 'in', actuators)
        .where('downlink', '=', 'queued'),
    ]);
  }

  async claim(ids: readonly SettingId[]): Promise<boolean[]> {
    const changed = await this.#registry.write(
      ids.map((id) =>
        this.#db
          .updateTable('actuator_setting')
          .set({ downlink: 'none' })
          .where('id', '=', id)
          .where('downlink', '<>', 'none'),
      ),
    );
    return changed.map((count) => count === 1);
  }

  async giveBack(ids: readonly SettingId[]): Promise<void> {
    await this.#registry.write(
      ids.map((id) =>
        this.#compiled(sql`UPDATE actuator_setting SET downlink = 'pending'
          WHERE id = ${id} AND delivered IS NULL AND NOT EXISTS (SELECT 1 FROM actuator_setting AS newer
            WHERE newer.actuator = actuator_setting.actuator AND newer.key > actuator_setting.key)`),
      ),
    );
  }

  async markDelivered(marks: readonly { readonly id: SettingId; readonly atMs: number }[]): Promise<void> {
    const entries = this.#registry.dialect.rows(sql`${JSON.stringify(marks.map(({ id, atMs }) => [id, atMs]))}`, {
      id: 'text',
      at: 'integer',
    });
    await this.#registry.write([
      this.#compiled(sql`UPDATE actuator_setting SET downlink = 'none',
          delivered = (SELECT entry.at FROM ${entries} AS entry WHERE entry.id = actuator_setting.id)
        WHERE delivered IS NULL AND id IN (SELECT entry.id FROM ${entries} AS entry)`),
    ]);
  }

  async confirm(
    id: SettingId,
    { atMs, ackJson }: { readonly atMs: number; readonly ackJson: string | undefined },
  ): Promise<boolean> {
    const ackBytes = ackJson === undefined ? 0 : Buffer.byteLength(ackJson);
    const [changed] = await this.#registry.write([
      this.#compiled(sql`UPDATE actuator_setting
        SET confirmed = ${atMs}, ack = ${ackJson ?? null}, bytes = bytes + ${ackBytes}, downlink = 'none'
        WHERE id = ${id} AND confirmed IS NULL`),
    ]);
    return changed === 1;
  }

  #compiled(statement: RawBuilder<unknown>): Compilable {
    return { compile: () => statement.compile(this.#db) };
  }

  get #db() {
    return this.#registry.read;
  }
}

/**
 * The statements that write a setting, to be run in one unit with the value. `actuator`: a query of the actuator's key,
 * which finds none where the value is not set; then nothing is changed.
 */
export function settingStatements(
  device: DeviceKey,
  actuator: RawBuilder<number>,
  setting: NewSetting,
): readonly RawBuilder<unknown>[] {
  const { id, atMs, valueJson, user, keyId, door, rule, downlink } = setting;
  const bytes = settingBytes + Buffer.byteLength(valueJson);
  const own = sql`(SELECT actuator FROM actuator_setting WHERE id = ${id})`;
  return [
    sql`INSERT INTO actuator_setting (id, device, actuator, at, bytes, downlink, "user", api_key, door, rule, value)
      SELECT ${id}, ${device}, found.key, ${atMs}, ${bytes}, ${downlink}, ${user}, ${keyId ?? null}, ${door}, ${rule ?? null}, ${valueJson}
      FROM ${actuator} AS found`,
    // The gateway is given the last value alone.
    sql`UPDATE actuator_setting SET downlink = 'none' WHERE actuator = ${own} AND id <> ${id} AND downlink = 'pending'`,
    sql`DELETE FROM actuator_setting WHERE actuator = ${own} AND key <= (SELECT key FROM actuator_setting AS counted
      WHERE counted.actuator = ${own} ORDER BY key DESC LIMIT 1 OFFSET ${limits.settingsPerActuatorMax})`,
    // What a gateway is still to be given stays: it is one setting of each actuator.
    sql`DELETE FROM actuator_setting WHERE device = ${device} AND id <> ${id} AND downlink <> 'pending'
      AND key <= (SELECT max(key) FROM (SELECT key, sum(bytes) OVER (ORDER BY key DESC) AS bytes_since
        FROM actuator_setting WHERE device = ${device}) AS summed WHERE bytes_since > ${limits.settingHistoryBytesMax})`,
  ];
}

/** What a row counts for beside its texts. */
const settingBytes = 200;

type Row = Selectable<ActuatorSettingTable> & { readonly username: string | null; readonly key_name: string | null };

function toSetting(row: Row): Setting {
  const { user, username, key_name: keyName, rule, delivered, confirmed, ack } = row;
  return {
    id: row.id,
    atMs: row.at,
    valueJson: row.value,
    downlink: row.downlink as Downlink,
    door: row.door as SettingDoor,
    ...(rule === null ? {} : { rule }),
    ...(user === null || username === null ? {} : { user: { key: user, username } }),
    ...(keyName === null ? {} : { keyName }),
    ...(delivered === null ? {} : { deliveredMs: delivered }),
    ...(confirmed === null ? {} : { confirmedMs: confirmed }),
    ...(ack === null ? {} : { ackJson: ack }),
  };
}
