// Former ids in the registry, and the records that change when a device gets another id.
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import { limits } from '../../../../config/limits.ts';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { DeviceId } from '../../../../domain/devices/device.ts';
import type { FormerDeviceId } from '../../../../domain/devices/former-ids/former-id.ts';
import type {
  Asker,
  FormerIdStore,
  PreparedRename,
  RenamedDevice,
  RenamedSensor,
  RenameTimes,
  StoredRename,
} from '../../../../domain/devices/former-ids/former-id-store.ts';
import type { SensorId } from '../../../../domain/devices/sensor.ts';
import type { Audience } from '../../../../domain/permissions/permission.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { audienceCondition } from '../conditions/audience.ts';
import { withinTime } from '../conditions/time-guard.ts';
import type { Registry } from '../registry.ts';
import type { Tables } from '../tables.ts';
import type { FormerDeviceIdTable } from './device-tables.ts';
import { type NamingRow, NamingRows } from './naming-rows.ts';

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

  async presentIds(
    ids: readonly DeviceId[],
    owner: UserKey,
    audience: Audience,
  ): Promise<ReadonlyMap<DeviceId, DeviceId>> {
    const isSeen = audienceCondition('device', audience);
    const led = await presentIdsOf(this.#registry, ids, sql`device.owner = ${owner} AND ${isSeen}`);
    return new Map([...led].map(([id, former]) => [id, former.id]));
  }

  async prepareRename(names: RenamedDevice, asker: Asker): Promise<PreparedRename | undefined> {
    const found = await this.#findNaming(names, asker);
    if (isBeyond(found)) return undefined;
    const naming = new NamingRows(await this.#readNaming(found), names);
    if (naming.projectIds > limits.renameProjectIdsMax) return undefined;
    return { store: (times) => this.#rename(names, times, naming) };
  }

  /**
   * The id itself is changed last, so that all statements before it can have the same condition, on the present id. A condition on
   * the new id would also hold after another request has given the device that id.
   */
  async #rename({ device, from, to, owner }: RenamedDevice, times: RenameTimes, naming: NamingRows) {
    const { atMs, ageMs, untilMs } = times;
    const isBefore = sql`EXISTS (SELECT 1 FROM device WHERE key = ${device} AND id = ${from} AND owner = ${owner})`;
    const mayBe = sql`(${isBefore} AND ${sql.lit(limits.formerIdsMax)} >
      (SELECT count(*) FROM former_device_id AS counted WHERE counted.device = ${device} AND counted.id <> ${from}))`;
    const changes = await this.#write([
      sql`DELETE FROM former_device_id WHERE device = ${device} AND until <= ${ageMs}`,
      // Going back to a former id: it is the present id again.
      sql`DELETE FROM former_device_id WHERE id = ${to} AND (until <= ${ageMs} OR device = ${device}) AND ${isBefore}`,
      // Messages retained under the new id are of a device that no longer exists.
      sql`DELETE FROM mqtt_retained WHERE ${mayBe} AND topic IN (SELECT topic FROM ${topicsOf(device, to, to)} AS gone)`,
      sql`UPDATE mqtt_retained SET topic = moved.present FROM ${topicsOf(device, from, to)} AS moved
        WHERE mqtt_retained.topic = moved.topic AND ${mayBe}`,
      ...naming.statements(this.#registry.dialect, mayBe),
      sql`INSERT INTO former_device_id (id, device, until) SELECT ${from}, ${device}, ${untilMs} WHERE ${mayBe}`,
      sql`UPDATE device SET id = ${to}, date_modified = ${atMs} WHERE key = ${device} AND ${mayBe}`,
    ]);
    return changes.at(-1) === 1 ? { retainedGone: changes[2] ?? 0, rules: naming.rules } : undefined;
  }

  async forgetDevice(device: DeviceKey, id: DeviceId): Promise<boolean> {
    const [removed] = await this.#write([sql`DELETE FROM former_device_id WHERE device = ${device} AND id = ${id}`]);
    return removed === 1;
  }

  async renameSensor(names: RenamedSensor, times: RenameTimes): Promise<StoredRename | undefined> {
    const { device, sensor, from, to, owner } = names;
    const { atMs, ageMs, untilMs } = times;
    const isBefore = sql`(EXISTS (SELECT 1 FROM sensor AS renamed WHERE renamed.key = ${sensor} AND renamed.device = ${device}
        AND renamed.id = ${from}) AND EXISTS (SELECT 1 FROM device WHERE key = ${device} AND owner = ${owner}))`;
    const others = sql`SELECT count(*) FROM former_sensor_id AS counted WHERE counted.device = ${device} AND counted.id <> ${from}`;
    const { formerIdsMax, formerSensorIdsMax } = limits;
    const mayBe = sql`(${isBefore} AND (${others}) < ${sql.lit(formerSensorIdsMax)}
      AND (${others} AND counted.sensor = ${sensor}) < ${sql.lit(formerIdsMax)})`;
    const changes = await this.#write([
      // Expired ones of other sensors stay as long as there is room, because rules find sensors by them.
      sql`DELETE FROM former_sensor_id WHERE device = ${device} AND until <= ${ageMs} AND (sensor = ${sensor}
        OR (SELECT count(*) FROM former_sensor_id AS counted WHERE counted.device = ${device}) >= ${sql.lit(formerSensorIdsMax)})`,
      // Going back to a former id: it is the present id again.
      sql`DELETE FROM former_sensor_id WHERE device = ${device} AND id = ${to} AND (until <= ${ageMs} OR sensor = ${sensor})
        AND ${isBefore}`,
      // Messages retained under the new id are of a sensor that no longer exists.
      sql`DELETE FROM mqtt_retained WHERE ${mayBe} AND topic IN (SELECT topic FROM ${sensorTopicsOf(device, to, to)} AS gone)`,
      sql`UPDATE mqtt_retained SET topic = moved.present FROM ${sensorTopicsOf(device, from, to)} AS moved
        WHERE mqtt_retained.topic = moved.topic AND ${mayBe}`,
      sql`INSERT INTO former_sensor_id (device, id, sensor, until) SELECT ${device}, ${from}, ${sensor}, ${untilMs} WHERE ${mayBe}`,
      sql`UPDATE device SET date_modified = ${atMs} WHERE key = ${device} AND ${mayBe}`,
      sql`UPDATE sensor SET id = ${to} WHERE key = ${sensor} AND ${mayBe}`,
    ]);
    return changes.at(-1) === 1 ? { retainedGone: changes[2] ?? 0, rules: [] } : undefined;
  }

  async forgetSensor(device: DeviceKey, id: SensorId): Promise<boolean> {
    const [removed] = await this.#write([sql`DELETE FROM former_sensor_id WHERE device = ${device} AND id = ${id}`]);
    return removed === 1;
  }

  /**
   * The keys, rules and projects of the device’s owner whose texts contain the id, whether or not they mean the device; of each kind
   * one more than may follow at most. Found by indexes of the owner, on the thread for searches.
   */
  async #findNaming({ from, owner }: RenamedDevice, asker: Asker): Promise<readonly FoundNaming[]> {
    const { contains } = this.#registry.dialect;
    const quoted = JSON.stringify(from);
    const named = (column: string) => contains(sql.ref(column), quoted);
    const max = sql.lit(limits.renameFollowersMax + 1);
    const part = (rows: RawBuilder<unknown>) => sql`SELECT * FROM (${rows} LIMIT ${max}) AS part`;
    const found = sql<FoundNaming>`
      ${part(sql`SELECT 'key' AS kind, key, octet_length(devices) AS bytes FROM api_key
        WHERE ${withinTime('api_key')} AND "user" = ${owner} AND devices IS NOT NULL AND ${named('devices')}`)}
      UNION ALL ${part(sql`SELECT 'rule', key, octet_length(condition) + octet_length(action) FROM notification
        WHERE ${withinTime('notification')} AND author = ${owner} AND (${named('condition')} OR ${named('action')})`)}
      UNION ALL ${part(sql`SELECT 'project', project.key, octet_length(device_ids) FROM project_device
        INNER JOIN project ON project.key = project_device.project
        WHERE project_device.device_id = ${from} AND project_device.owner = ${owner}`)}`;
    const { read } = this.#registry;
    return this.#registry.search({ compile: () => found.compile(read) }, asker);
  }

  async #readNaming(found: readonly FoundNaming[]): Promise<readonly NamingRow[]> {
    const { read, dialect } = this.#registry;
    const keysOf = (kind: FoundNaming['kind']) => {
      const keys = found.filter((each) => each.kind === kind).map(({ key }) => key);
      return dialect.values(sql`${JSON.stringify(keys)}`, 'integer');
    };
    const rows = sql<NamingRow>`SELECT 'key' AS kind, key, id, devices AS text, NULL AS action FROM api_key
        WHERE key IN ${keysOf('key')} AND devices IS NOT NULL
      UNION ALL SELECT 'rule', key, id, condition, action FROM notification WHERE key IN ${keysOf('rule')}
      UNION ALL SELECT 'project', key, id, device_ids, NULL FROM project WHERE key IN ${keysOf('project')}`;
    return (await rows.execute(read)).rows;
  }

  #write(statements: readonly RawBuilder<unknown>[]): Promise<readonly number[]> {
    const { read } = this.#registry;
    return this.#registry.write(statements.map((statement) => ({ compile: () => statement.compile(read) })));
  }
}

/** A row that may name the device, and the bytes of its texts. */
interface FoundNaming {
  readonly kind: NamingRow['kind'];
  readonly key: number;
  readonly bytes: number;
}

function isBeyond(found: readonly FoundNaming[]): boolean {
  const bytes = found.reduce((sum, each) => sum + each.bytes, 0);
  const counts = Map.groupBy(found, ({ kind }) => kind).values();
  return bytes > limits.renameFollowersBytesMax || counts.some(({ length }) => length > limits.renameFollowersMax);
}

/**
 * The topics of the device’s sensors and actuators under an id, in both forms (mqtt/topics.ts), and as they are `present`. Each
 * by itself: other topics below the same id are those of a gateway.
 */
function topicsOf(device: DeviceKey, id: DeviceId, present: DeviceId): RawBuilder<unknown> {
  const parts = sql`(SELECT '/sensors/' || sensor.id || '/value' AS rest FROM sensor WHERE sensor.device = ${device}
    UNION ALL SELECT '/sensors/' || sensor.id || '/values' FROM sensor WHERE sensor.device = ${device}
    UNION ALL SELECT '/actuators/' || actuator.id || '/value' FROM actuator WHERE actuator.device = ${device})`;
  const form = (root: 'devices/' | '/devices/') =>
    sql`SELECT ${sql.lit(root)} || ${id} || part.rest AS topic, ${sql.lit(root)} || ${present} || part.rest AS present FROM ${parts} AS part`;
  return sql`(${form('devices/')} UNION ALL ${form('/devices/')})`;
}

/** The same of one sensor, under two of its ids. */
function sensorTopicsOf(device: DeviceKey, id: SensorId, present: SensorId): RawBuilder<unknown> {
  const form = (root: 'devices/' | '/devices/', leaf: '/value' | '/values') => {
    const of = (sensor: SensorId) => sql`${sql.lit(root)} || device.id || '/sensors/' || ${sensor} || ${sql.lit(leaf)}`;
    return sql`SELECT ${of(id)} AS topic, ${of(present)} AS present FROM device WHERE key = ${device}`;
  };
  return sql`(${form('devices/', '/value')} UNION ALL ${form('devices/', '/values')}
    UNION ALL ${form('/devices/', '/value')} UNION ALL ${form('/devices/', '/values')})`;
}

/** Where those of these ids lead that are former ones, whether or not they still answer. */
export async function presentIdsOf(
  { read, dialect }: Registry,
  ids: readonly DeviceId[],
  condition = sql`1 = 1`,
): Promise<ReadonlyMap<DeviceId, FormerDeviceId>> {
  const found = sql<FormerDeviceId & { readonly former: DeviceId }>`SELECT former.id AS former, former.device,
      former.until AS "untilMs", device.id FROM former_device_id AS former INNER JOIN device ON device.key = former.device
    WHERE former.id IN ${dialect.values(sql`${JSON.stringify(ids)}`, 'text')} AND ${condition}`;
  const { rows } = await found.execute(read);
  return new Map(rows.map(({ former, ...present }) => [former, present]));
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
