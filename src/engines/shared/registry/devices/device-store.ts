// Devices in the registry, with their sensors, actuators and shares.
import { type Compilable, type Expression, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import { limits } from '../../../../config/limits.ts';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { ActuatorChange, ActuatorDraft } from '../../../../domain/devices/actuator.ts';
import type { Device, DeviceChange, DeviceDraft, DeviceId } from '../../../../domain/devices/device.ts';
import type {
  DeviceListQuery,
  DeviceMatch,
  DeviceStore,
  ModificationStamp,
  Share,
  ShareDirection,
  ShareOfDevice,
  SharesPage,
} from '../../../../domain/devices/device-store.ts';
import type { SensorChange, SensorDraft, SensorKey } from '../../../../domain/devices/sensor.ts';
import type { NewSetting } from '../../../../domain/devices/setting.ts';
import type { Audience } from '../../../../domain/permissions/permission.ts';
import type { Visibility } from '../../../../domain/permissions/visibility.ts';
import type { ScopeSet } from '../../../../domain/scopes.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { audienceCondition, callerOf } from '../conditions/audience.ts';
import { deviceConditions, orderOf, searchConditions } from '../conditions/device-filter.ts';
import { inheritedShares, isSharedGateway } from '../conditions/inherited-shares.ts';
import { nearCondition, nearness } from '../conditions/near-condition.ts';
import { withinTime } from '../conditions/time-guard.ts';
import { forgetNotesOfSensor } from '../notifications/alarm-handover.ts';
import type { Registry } from '../registry.ts';
import { settingStatements } from './actuator-setting-store.ts';
import { insertActuators, insertSensors, replaceActuator, replaceSensor } from './device-parts.ts';
import { actuatorColumns, deviceColumns, sensorColumns, toDevice } from './device-rows.ts';
import type { DeviceTable } from './device-tables.ts';
import { devicesByFormerIds, formerIdsOf } from './former-id-store.ts';

export class SqlDeviceStore implements DeviceStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(id: DeviceId): Promise<Device | undefined> {
    const rows = await this.#devices().where('device.id', '=', id).execute();
    return (await this.#withParts(rows))[0];
  }

  async listKeys(query: DeviceListQuery): Promise<DeviceKey[]> {
    const { audience, filter, near, order, limit, offset } = query;
    const { dialect } = this.#registry;
    // Selects keys first: skipped entries are counted in an index without reading their rows.
    const page = this.#db
      .selectFrom('device')
      .select('device.key')
      .where(this.#conditions(query))
      .orderBy(
        near === undefined || order !== undefined
          ? orderOf(dialect, order, filter)
          : sql`${nearness(near, dialect)}, device.key`,
      )
      .offset(offset)
      // SQL counts rows in 64 bits; a limit beyond that is no limit. SQLite has no OFFSET without LIMIT.
      .limit(Math.min(limit ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
    return (await this.#registry.search(page, callerOf(audience))).map(({ key }) => key as DeviceKey);
  }

  async listDomains(audience: Audience, limit: number): Promise<string[]> {
    const named = this.#db
      .selectFrom('device')
      .select(sql<string>`device.domain`.as('domain'))
      .distinct()
      .where(withinTime('device'))
      .where(audienceCondition('device', audience))
      .where(sql<SqlBool>`device.domain <> '' AND length(device.domain) <= ${sql.lit(limits.nameCharsMax)}`)
      .orderBy(sql`device.domain`)
      .limit(limit);
    return (await this.#registry.search(named, callerOf(audience))).map(({ domain }) => domain);
  }

  async listByKeys(keys: readonly DeviceKey[]): Promise<Device[]> {
    if (keys.length === 0) return [];
    const found = await this.#withParts(await this.#devices().where('device.key', 'in', keys).execute());
    const byKey = new Map(found.map((device) => [device.key, device]));
    return keys.flatMap((key) => byKey.get(key) ?? []);
  }

  async countParts(keys: readonly DeviceKey[], max: number): Promise<number[]> {
    if (keys.length === 0) return [];
    const upTo = (table: 'sensor' | 'actuator') => sql<number>`(SELECT count(*) FROM
      (SELECT 1 FROM ${sql.table(table)} WHERE device = device.key LIMIT ${max}) AS part)`;
    const counted = this.#db.selectFrom('device').select(['device.key']).where('device.key', 'in', keys);
    const rows = await counted.select(sql<number>`${upTo('sensor')} + ${upTo('actuator')}`.as('parts')).execute();
    const byKey = new Map(rows.map(({ key, parts }) => [key, parts]));
    return keys.map((key) => byKey.get(key) ?? 0);
  }

  async listKeysAfter(query: Parameters<DeviceStore['listKeysAfter']>[0]): Promise<{ readonly key: DeviceKey }[]> {
    const { audience, gateway, after, limit, offset } = query;
    const all = this.#db.selectFrom('device').select('device.key');
    const among = gateway === undefined ? all : all.where('device.gateway_id', '=', gateway);
    const behind = among.where('device.key', '>', after);
    const visible = behind.where(withinTime('device')).where(audienceCondition('device', audience));
    const page = visible.orderBy('device.key').limit(limit).offset(offset);
    return this.#registry.search(page, callerOf(audience));
  }

  async listKeysByIds(ids: readonly DeviceId[], atMs: number): Promise<DeviceKey[]> {
    if (ids.length === 0) return [];
    const rows = await this.#db.selectFrom('device').select(['id', 'key']).where('id', 'in', ids).execute();
    const byId = new Map(rows.map(({ id, key }) => [id, key]));
    const unknown = ids.filter((id) => !byId.has(id));
    for (const { id, device } of await devicesByFormerIds(this.#db, unknown, atMs)) byId.set(id, device);
    return [...new Set(ids.flatMap((id) => byId.get(id) ?? []))];
  }

  async count(query: DeviceMatch): Promise<number> {
    const counted = this.#db
      .selectFrom('device')
      .select(sql<number>`count(*)`.as('count'))
      .where(this.#conditions(query));
    const [row] = await this.#registry.search(counted, callerOf(query.audience));
    return row?.count ?? 0;
  }

  async create(
    draft: DeviceDraft & { visibility: Visibility },
    owner: UserKey,
    { atMs, ageMs }: { readonly atMs: number; readonly ageMs: number },
  ): Promise<void> {
    const { id, sensors, actuators, ...fields } = draft;
    const insert = this.#db.insertInto('device').values({
      ...(deviceColumns(fields) as { visibility: string }),
      id,
      owner,
      date_created: atMs,
      date_modified: atMs,
    });
    const device = sql<number>`(SELECT key FROM device WHERE id = ${id})`;
    await this.#registry.write([
      // A former id that answers no longer may be taken.
      this.#db.deleteFrom('former_device_id').where('id', '=', id).where('until', '<=', ageMs),
      insert,
      ...insertSensors(this.#registry, device, sensors),
      ...insertActuators(this.#registry, device, actuators),
    ]);
  }

  async update(
    stamp: ModificationStamp,
    change: DeviceChange,
    { onlyUnshared = false }: { readonly onlyUnshared?: boolean } = {},
  ): Promise<boolean> {
    const mark = this.#mark(stamp, deviceColumns(change));
    const isConditional = onlyUnshared && change.gatewayId !== undefined;
    const condition = isSharedGateway(change.gatewayId ?? '');
    const [changed] = await this.#registry.write([isConditional ? mark.where(sql<SqlBool>`NOT ${condition}`) : mark]);
    return changed === 1 || !isConditional;
  }

  async remove(device: DeviceKey): Promise<void> {
    const purge = sql`INSERT INTO purge (sensor) SELECT key FROM sensor WHERE device = ${device}`;
    const parts = (['share', 'handover', 'drop_log', 'actuator_setting', 'actuator', 'sensor'] as const).map((table) =>
      this.#db.deleteFrom(table).where('device', '=', device),
    );
    await this.#registry.write(
      [{ compile: () => purge.compile(this.#db) }, ...parts, this.#db.deleteFrom('device').where('key', '=', device)],
      { purge: true },
    );
  }

  async putSensor(stamp: ModificationStamp, draft: SensorDraft, ageMs = 0): Promise<void> {
    const { device } = stamp;
    const former = this.#db.deleteFrom('former_sensor_id').where('device', '=', device).where('id', '=', draft.id);
    await this.#registry.write([
      // A former id that answers no longer may be taken.
      former.where('until', '<=', ageMs),
      replaceSensor(this.#registry, device, draft),
      this.#mark(stamp),
    ]);
  }

  async updateSensor(stamp: ModificationStamp, sensor: SensorKey, change: SensorChange): Promise<void> {
    const columns = sensorColumns(change);
    const update = this.#db.updateTable('sensor').set(columns).where('key', '=', sensor);
    await this.#registry.write([...(isEmpty(columns) ? [] : [update]), this.#mark(stamp)]);
  }

  async removeSensor(stamp: ModificationStamp, sensor: SensorKey): Promise<void> {
    // Not of another device: it may have been moved there meanwhile.
    const purge = sql`INSERT INTO purge (sensor) SELECT key FROM sensor WHERE key = ${sensor} AND device = ${stamp.device}`;
    const remove = this.#db.deleteFrom('sensor').where('key', '=', sensor).where('device', '=', stamp.device);
    await this.#registry.write([{ compile: () => purge.compile(this.#db) }, remove, this.#mark(stamp)], {
      purge: true,
      loses: stamp.device,
    });
  }

  async moveSensor(stamp: ModificationStamp, sensor: SensorKey, target: DeviceKey, ageMs = 0): Promise<boolean> {
    const isThere = sql<SqlBool>`EXISTS (SELECT 1 FROM sensor WHERE key = ${sensor} AND device = ${stamp.device})`;
    const move = this.#db.updateTable('sensor').set({ device: target }).where('key', '=', sensor);
    const itsId = sql<string>`(SELECT id FROM sensor WHERE key = ${sensor} AND device = ${stamp.device})`;
    const former = this.#db.deleteFrom('former_sensor_id').where('device', '=', target).where('id', '=', itsId);
    // Marked first, because afterwards the sensor is no longer one of the device.
    const [changed] = await this.#registry.write(
      [
        this.#mark(stamp).where(isThere),
        this.#mark({ ...stamp, device: target }).where(isThere),
        ...forgetNotesOfSensor(sensor, stamp.device, target).map((one) => ({ compile: () => one.compile(this.#db) })),
        // A former id that answers no longer may be taken.
        former.where('until', '<=', ageMs),
        move.where('device', '=', stamp.device),
      ],
      { moves: true },
    );
    return changed === 1;
  }

  async putActuator(stamp: ModificationStamp, draft: ActuatorDraft, setting?: NewSetting): Promise<void> {
    const put = replaceActuator(this.#registry, stamp.device, draft);
    const itself = sql<number>`(SELECT key FROM actuator WHERE device = ${stamp.device} AND id = ${draft.id})`;
    const set = setting === undefined ? [] : this.#setting(stamp.device, itself, setting);
    await this.#registry.write([put, this.#mark(stamp), ...set]);
  }

  async updateActuator(
    stamp: ModificationStamp,
    actuator: number,
    change: ActuatorChange,
    setting?: NewSetting,
  ): Promise<boolean> {
    const columns = actuatorColumns(change);
    const update = this.#db.updateTable('actuator').set(columns).where('key', '=', actuator);
    const isThere = sql<SqlBool>`EXISTS (SELECT 1 FROM actuator WHERE key = ${actuator})`;
    const marked = this.#mark(stamp).where(isThere);
    const itself = sql<number>`(SELECT key FROM actuator WHERE key = ${actuator})`;
    const set = setting === undefined ? [] : this.#setting(stamp.device, itself, setting);
    const [changed] = await this.#registry.write([marked, ...set, ...(isEmpty(columns) ? [] : [update])], {
      fence: stamp.fence,
    });
    return changed === 1;
  }

  async removeActuator(stamp: ModificationStamp, actuator: number): Promise<void> {
    const settings = this.#db.deleteFrom('actuator_setting').where('actuator', '=', actuator);
    const remove = this.#db.deleteFrom('actuator').where('key', '=', actuator);
    await this.#registry.write([settings, remove, this.#mark(stamp)]);
  }

  async listShares(device: DeviceKey): Promise<Share[]> {
    return this.#db
      .selectFrom('share')
      .innerJoin('user', 'user.key', 'share.user')
      .select(['user.username', 'share.scopes'])
      .where('share.device', '=', device)
      .orderBy('user.username')
      .execute();
  }

  async listSharesOf(direction: ShareDirection, { limit, offset, after }: SharesPage): Promise<ShareOfDevice[]> {
    const isBehind = (key: number, username: string) =>
      sql<SqlBool>`(device.key, holder.username) > (${key}, ${username})`;
    const rows = await this.#sharesOf(direction)
      .innerJoin('user as owner', 'owner.key', 'device.owner')
      .innerJoin('user as holder', 'holder.key', 'share.user')
      .leftJoin('user as giver', 'giver.key', 'share.given_by')
      .select([
        'device.key as key',
        'device.id as device',
        'device.name as deviceName',
        'device.visibility',
        'owner.username as owner',
        'share.scopes',
      ])
      .select(['holder.username as username', 'giver.username as givenBy'])
      .where(after === undefined ? sql<SqlBool>`1 = 1` : isBehind(after.key, after.username))
      .orderBy('device.key')
      .orderBy('holder.username')
      .limit(limit)
      .offset(offset)
      .execute();
    return rows.map(({ key, deviceName, givenBy, visibility, ...row }) => ({
      ...row,
      isPublic: visibility === 'public',
      key: key as DeviceKey,
      ...(deviceName === null ? {} : { deviceName }),
      ...(givenBy === null ? {} : { givenBy }),
    }));
  }

  async countSharesOf(direction: ShareDirection): Promise<number> {
    const counted = this.#sharesOf(direction).select(sql<number>`count(*)`.as('count'));
    return (await counted.executeTakeFirstOrThrow()).count;
  }

  async putShare(device: DeviceKey, user: UserKey, share: { scopes: ScopeSet; givenBy: UserKey }): Promise<void> {
    const columns = { scopes: share.scopes, given_by: share.givenBy };
    const insert = this.#db.insertInto('share').values({ device, user, ...columns });
    await this.#registry.write([
      insert.onConflict((conflict) => conflict.columns(['device', 'user']).doUpdateSet(columns)),
    ]);
  }

  async removeShare(device: DeviceKey, user: UserKey): Promise<void> {
    await this.#registry.write([this.#db.deleteFrom('share').where('device', '=', device).where('user', '=', user)]);
  }

  get #db() {
    return this.#registry.read;
  }

  #devices() {
    return this.#db
      .selectFrom('device')
      .innerJoin('user', 'user.key', 'device.owner')
      .selectAll('device')
      .select('user.username as owner_name');
  }

  #sharesOf(direction: ShareDirection) {
    const shares = this.#db.selectFrom('share').innerJoin('device', 'device.key', 'share.device');
    if ('ownedBy' in direction) return shares.where('device.owner', '=', direction.ownedBy);
    return shares.where('share.user', '=', direction.sharedWith);
  }

  #conditions({ audience, filter, valuesFor, search = {}, near }: DeviceMatch): Expression<SqlBool> {
    return sql.join(
      [
        withinTime('device'),
        audienceCondition('device', audience),
        ...deviceConditions(filter, this.#registry.dialect, valuesFor),
        ...searchConditions(search, this.#registry.dialect),
        ...(near === undefined ? [] : [nearCondition(near, this.#registry.dialect)]),
      ],
      sql` AND `,
    ) as unknown as Expression<SqlBool>;
  }

  async #withParts(rows: (Selectable<DeviceTable> & { owner_name: string })[]): Promise<Device[]> {
    const keys = rows.map((row) => row.key);
    if (keys.length === 0) return [];
    const of = <T extends { device: number }>(parts: T[]) => Map.groupBy(parts, (part) => part.device);
    const sensors = of(
      await this.#db.selectFrom('sensor').selectAll().where('device', 'in', keys).orderBy('key').execute(),
    );
    const actuators = of(
      await this.#db.selectFrom('actuator').selectAll().where('device', 'in', keys).orderBy('key').execute(),
    );
    const given = this.#db.selectFrom('share').select(['device', 'user', 'scopes']).where('device', 'in', keys);
    const isOfThese = sql<SqlBool>`reached.key IN (${sql.join(keys)})`;
    const inherited = sql<{ device: number; user: number; scopes: number }>`SELECT device, "user", scopes
      FROM ${inheritedShares(isOfThese)} AS inherited`;
    const shares = of([...(await given.execute()), ...(await inherited.execute(this.#db)).rows]);
    const former = of(await formerIdsOf(this.#db, keys));
    const formerSensors = of(
      await this.#db
        .selectFrom('former_sensor_id')
        .selectAll()
        .where('device', 'in', keys)
        .orderBy('until', 'desc')
        .execute(),
    );
    return rows.map((row) =>
      toDevice(row, {
        sensors: sensors.get(row.key) ?? [],
        actuators: actuators.get(row.key) ?? [],
        shares: shares.get(row.key) ?? [],
        formerIds: former.get(row.key) ?? [],
        formerSensorIds: formerSensors.get(row.key) ?? [],
      }),
    );
  }

  #mark(stamp: ModificationStamp, columns: Record<string, unknown> = {}) {
    return this.#db
      .updateTable('device')
      .set({ ...columns, date_modified: stamp.atMs })
      .where('key', '=', stamp.device);
  }

  #setting(device: DeviceKey, actuator: RawBuilder<number>, setting: NewSetting): Compilable[] {
    return settingStatements(device, actuator, setting).map((statement) => ({
      compile: () => statement.compile(this.#db),
    }));
  }
}

/** SQL has no update without columns. */
function isEmpty(columns: object): boolean {
  return Object.keys(columns).length === 0;
}
