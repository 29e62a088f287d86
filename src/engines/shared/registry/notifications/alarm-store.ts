// Alarms in the registry: for people who look at them, and for what keeps them up to date.
import { type Compilable, type RawBuilder, type SqlBool, sql } from 'kysely';
import { limits } from '../../../../config/limits.ts';
import type { Alarm, AlarmChange, AlarmId, AlarmKind } from '../../../../domain/alarms/alarm.ts';
import type {
  AlarmCursor,
  AlarmHandling,
  AlarmQuery,
  AlarmStore,
  HeardGateway,
  OpenAlarm,
} from '../../../../domain/alarms/alarm-store.ts';
import type { SensorKey } from '../../../../domain/devices/sensor.ts';
import type { AlarmView } from '../../../../domain/permissions/permission.ts';
import type { Fence } from '../../../../domain/ports/coordination.ts';
import { audienceCondition, callerOf } from '../conditions/audience.ts';
import { inheritedShares } from '../conditions/inherited-shares.ts';
import { withinTime } from '../conditions/time-guard.ts';
import type { Registry } from '../registry.ts';
import { AlarmRows, changeCount, countChange } from './alarm-rows.ts';

export class SqlAlarmStore implements AlarmStore {
  readonly #registry: Registry;
  readonly #rows: AlarmRows;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#rows = new AlarmRows(registry);
  }

  async list(query: AlarmQuery & { readonly limit: number; readonly offset: number }): Promise<Alarm[]> {
    const { view, limit, offset } = query;
    const rows = await this.#search(
      sql<Row>`${selectAlarms(view)} WHERE ${conditionsOf(query)}
        ORDER BY alarm.since DESC, alarm.key DESC LIMIT ${limit} OFFSET ${offset}`,
      view,
    );
    return rows.map(toAlarm);
  }

  async count(query: AlarmQuery): Promise<number> {
    const counted = sql<{ readonly count: number }>`SELECT count(*) AS count ${from} WHERE ${conditionsOf(query)}`;
    const [row] = await this.#search(counted, query.view);
    return Number(row?.count ?? 0);
  }

  async find(id: AlarmId, view: AlarmView): Promise<Alarm | undefined> {
    const found = sql<Row>`${selectAlarms(view)} WHERE ${withinTime('alarm')} AND alarm.id = ${id} AND ${isSeen(view)}`;
    const [row] = await this.#search(found, view);
    return row && toAlarm(row);
  }

  async listChanged(
    { changed, key }: AlarmCursor,
    view: AlarmView,
  ): Promise<{ readonly alarms: readonly Alarm[]; readonly cursor: AlarmCursor; readonly isEnd: boolean }> {
    const step = await sql<AlarmCursor>`SELECT changed, key FROM alarm
      WHERE changed >= ${changed} AND (changed > ${changed} OR key > ${key})
      ORDER BY changed, key LIMIT ${limits.alarmChangesStep}`.execute(this.#registry.read);
    const last = step.rows.at(-1);
    if (last === undefined) return { alarms: [], cursor: { changed, key }, isEnd: true };
    const keys = this.#values(
      step.rows.map((row) => row.key),
      'integer',
    );
    const rows = await this.#search(
      sql<Row>`${selectAlarms(view)} WHERE ${withinTime('alarm')} AND alarm.key IN ${keys} AND ${isSeen(view)}
        ORDER BY alarm.changed, alarm.key`,
      view,
    );
    const isEnd = step.rows.length < limits.alarmChangesStep;
    return { alarms: rows.map(toAlarm), cursor: { changed: last.changed, key: last.key }, isEnd };
  }

  async lastChange(): Promise<AlarmCursor> {
    const { rows } =
      await sql<AlarmCursor>`SELECT changed, key FROM alarm ORDER BY changed DESC, key DESC LIMIT 1`.execute(
        this.#registry.read,
      );
    return rows[0] ?? { changed: 0, key: 0 };
  }

  async handle(id: AlarmId, { acknowledged, snoozedUntilMs, assignee }: AlarmHandling): Promise<void> {
    const sets = [sql`changed = ${changeCount}`];
    if (acknowledged !== undefined) {
      const { atMs = null, by = null, note = null } = acknowledged ?? {};
      sets.push(sql`acknowledged = ${atMs}, acknowledged_by = ${by}, note = ${note ?? null}`);
    }
    if (snoozedUntilMs !== undefined) sets.push(sql`snoozed = ${snoozedUntilMs}`);
    if (assignee !== undefined) sets.push(sql`assignee = ${assignee}`);
    await this.#registry.write(
      this.#compiled(countChange, sql`UPDATE alarm SET ${sql.join(sets)} WHERE alarm.id = ${id}`),
    );
  }

  async record(changes: readonly AlarmChange[], fence: Fence): Promise<void> {
    if (changes.length > 0) await this.#registry.write(this.#rows.statements(changes), { isWeighed: false, fence });
  }

  async listOpen(
    kind: AlarmKind,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<OpenAlarm[]> {
    const open = sql<OpenRow>`SELECT key, since, keeper, sensor, gateway FROM alarm
      WHERE kind = ${kind} AND cleared IS NULL AND key > ${after} ORDER BY key LIMIT ${limit}`;
    const { rows } = await open.execute(this.#registry.read);
    return rows.map(({ key, since, keeper, sensor, gateway }) => ({
      ...{ key, sinceMs: since, keeper: keeper ?? undefined },
      ...{ sensor: sensor ?? undefined, gateway: gateway ?? undefined },
    }));
  }

  async ownersOf(sensors: readonly SensorKey[]): ReturnType<AlarmStore['ownersOf']> {
    const { rows } = await sql<{ readonly sensor: number; readonly device: number; readonly owner: number }>`
      SELECT sensor.key AS sensor, device.key AS device, device.owner FROM sensor
        INNER JOIN device ON device.key = sensor.device
        WHERE sensor.key IN ${this.#values(sensors, 'integer')}`.execute(this.#registry.read);
    return new Map(rows.map(({ sensor, device, owner }) => [sensor, { device, owner }]));
  }

  async listHeardGateways({
    after,
    limit,
  }: {
    readonly after: number;
    readonly limit: number;
  }): Promise<HeardGateway[]> {
    const { rows } = await sql<HeardGateway>`SELECT key, id, owner, last_seen AS "lastSeenMs" FROM gateway
      WHERE last_seen IS NOT NULL AND key > ${after} ORDER BY key LIMIT ${limit}`.execute(this.#registry.read);
    return rows;
  }

  async endExpired(atMs: number, fence: Fence): Promise<void> {
    const expired = sql`SELECT alarm.key FROM alarm INNER JOIN notification ON notification.key = alarm.notification
      WHERE alarm.kind = 'rule' AND alarm.cleared IS NULL AND notification.expires <= ${atMs}`;
    const { rows } = await sql`${expired} LIMIT 1`.execute(this.#registry.read);
    if (rows.length === 0) return;
    const end = sql`UPDATE alarm SET cleared = ${atMs}, changed = ${changeCount} WHERE key IN (${expired})`;
    await this.#registry.write(this.#compiled(countChange, end), { fence });
  }

  async trim(beforeMs: number, fence: Fence): Promise<void> {
    const beyond = (by: string, max: number) => sql`DELETE FROM alarm WHERE key IN (SELECT placed.key
      FROM (SELECT key, row_number() OVER (PARTITION BY ${sql.ref(by)} ORDER BY key DESC) AS place FROM alarm
        WHERE cleared IS NOT NULL AND ${sql.ref(by)} IS NOT NULL) AS placed WHERE placed.place > ${max})`;
    await this.#registry.write(
      this.#compiled(
        sql`DELETE FROM alarm WHERE cleared < ${beforeMs}`,
        beyond('device', limits.alarmsPerDeviceMax),
        beyond('gateway', limits.alarmsPerDeviceMax),
        beyond('keeper', limits.alarmsPerUserMax),
        sql`DELETE FROM alarm WHERE kind = 'storage' AND cleared IS NOT NULL AND key NOT IN (SELECT key FROM alarm
          WHERE kind = 'storage' ORDER BY key DESC LIMIT ${limits.alarmsPerDeviceMax})`,
      ),
      { fence },
    );
  }

  #values(values: readonly (number | string)[], type: 'integer' | 'text') {
    return this.#registry.dialect.values(sql`${JSON.stringify(values)}`, type);
  }

  #search<R>(query: RawBuilder<R>, { devices }: AlarmView): Promise<R[]> {
    return this.#registry.search({ compile: () => query.compile(this.#registry.read) }, callerOf(devices));
  }

  #compiled(...statements: readonly RawBuilder<unknown>[]): Compilable[] {
    return statements.map((statement) => ({ compile: () => statement.compile(this.#registry.read) }));
  }
}

interface OpenRow {
  readonly key: number;
  readonly since: number;
  readonly keeper: number | null;
  readonly sensor: number | null;
  readonly gateway: number | null;
}

interface Row {
  readonly key: number;
  readonly id: string;
  readonly kind: AlarmKind;
  readonly since: number;
  readonly cleared: number | null;
  readonly times: number;
  readonly value: string | null;
  readonly condition: string | null;
  readonly threshold: string | null;
  readonly usual: number | null;
  readonly acknowledged: number | null;
  readonly note: string | null;
  readonly snoozed: number | null;
  readonly changed: number;
  readonly device_id: string | null;
  readonly device_name: string | null;
  readonly location: string | null;
  readonly sensor_id: string | null;
  readonly sensor_name: string | null;
  readonly unit: string | null;
  readonly gateway_id: string | null;
  readonly gateway_name: string | null;
  readonly rule_id: string | null;
  readonly description: string | null;
  readonly acknowledged_name: string | null;
  readonly assignee: string | null;
  readonly updatable: number;
  readonly described: number;
  readonly told: number;
}

const from = sql`FROM alarm
  LEFT JOIN device ON device.key = alarm.device
  LEFT JOIN sensor ON sensor.key = alarm.sensor
  LEFT JOIN gateway ON gateway.key = alarm.gateway
  LEFT JOIN notification ON notification.key = alarm.notification
  LEFT JOIN "user" AS writer ON writer.key = notification.author
  LEFT JOIN "user" AS acknowledger ON acknowledger.key = alarm.acknowledged_by
  LEFT JOIN "user" AS assigned ON assigned.key = alarm.assignee`;

function selectAlarms(view: AlarmView): RawBuilder<Row> {
  const { devices, gateways } = view.updatable;
  const storage = view.all ? sql`WHEN alarm.kind = 'storage' THEN 1` : sql``;
  const own = view.updatesOwn ? sql`WHEN alarm.author = ${view.user} THEN 1` : sql``;
  return sql<Row>`SELECT alarm.key, alarm.id, alarm.kind, alarm.since, alarm.cleared, alarm.times, alarm.value, alarm.condition,
      alarm.threshold, alarm.usual, alarm.acknowledged, alarm.note, alarm.snoozed, alarm.changed,
      device.id AS device_id, device.name AS device_name, coalesce(device.location, gateway.location) AS location,
      sensor.id AS sensor_id, sensor.name AS sensor_name, sensor.unit,
      coalesce(gateway.id, device.gateway_id) AS gateway_id, coalesce(gateway.name, ${nameOfGateway(view)}) AS gateway_name,
      notification.id AS rule_id, notification.description, acknowledger.username AS acknowledged_name, assigned.username AS assignee,
      CASE ${storage} ${own}
        WHEN device.key IS NOT NULL AND ${audienceCondition('device', devices)} THEN 1
        WHEN gateway.key IS NOT NULL AND ${audienceCondition('gateway', gateways)} THEN 1 ELSE 0 END AS updatable,
      CASE WHEN device.key IS NULL OR ${audienceCondition('device', view.described)} THEN 1 ELSE 0 END AS described,
      ${isTold(view)} AS told
    ${from}`;
}

/** Of the gateway of the device, for who sees its alarms too: the id stands with the device, the name does not. */
function nameOfGateway(view: AlarmView): RawBuilder<string | null> {
  return sql<string | null>`(SELECT gateway.name FROM gateway
    WHERE gateway.id = device.gateway_id AND ${audienceCondition('gateway', view.gateways)})`;
}

/**
 * What a rule says is told to its author and admins, and to those who see the alarm for as long as its author has to do with the
 * device: who gets a device does not get the words of rules of those who had it.
 */
function isTold(view: AlarmView): RawBuilder<number> {
  const all = view.all ? sql`WHEN 1 = 1 THEN 1` : sql``;
  const isOfAuthor = sql<SqlBool>`given."user" = notification.author AND reached.key = device.key`;
  return sql<number>`CASE ${all} WHEN alarm.notification IS NULL OR notification.author = ${view.user}
      OR notification.author = device.owner OR writer.admin = 1 THEN 1
    WHEN EXISTS (SELECT 1 FROM share WHERE share.device = device.key AND share."user" = notification.author) THEN 1
    WHEN EXISTS (SELECT 1 FROM ${inheritedShares(isOfAuthor)} AS inherited) THEN 1
    ELSE 0 END`;
}

/** The alarms that the view shows (Permissions.alarmViewOf). */
function isSeen(view: AlarmView): RawBuilder<SqlBool> {
  const ofDevice = view.all ? sql`1 = 1` : sql`alarm.author IS NULL`;
  const service = view.all ? sql` OR alarm.kind = 'storage'` : sql``;
  return sql<SqlBool>`((device.key IS NOT NULL AND ${ofDevice} AND ${audienceCondition('device', view.devices)})
    OR (device.key IS NOT NULL AND alarm.author = ${view.user} AND ${audienceCondition('device', view.ownRules)})
    OR (gateway.key IS NOT NULL AND ${audienceCondition('gateway', view.gateways)})${service})`;
}

function conditionsOf(query: AlarmQuery): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.join([withinTime('alarm'), ...filterOf(query), isSeen(query.view)], sql` AND `)}`;
}

function filterOf({ view, nowMs, ...filter }: AlarmQuery): RawBuilder<SqlBool>[] {
  const { isOpen, isAcknowledged, isSnoozed, kind, device, gateway, assignee } = filter;
  const conditions: RawBuilder<SqlBool>[] = [];
  const isSet = (column: RawBuilder<unknown>, set: boolean) =>
    sql<SqlBool>`${column} ${set ? sql`IS NOT NULL` : sql`IS NULL`}`;
  if (isOpen !== undefined) conditions.push(isSet(sql`alarm.cleared`, !isOpen));
  if (isAcknowledged !== undefined) conditions.push(isSet(sql`alarm.acknowledged`, isAcknowledged));
  if (isSnoozed !== undefined)
    conditions.push(sql`coalesce(alarm.snoozed, 0) ${isSnoozed ? sql`>` : sql`<=`} ${nowMs}`);
  if (kind !== undefined) conditions.push(sql`alarm.kind = ${kind}`);
  if (device !== undefined)
    conditions.push(sql`alarm.device = (SELECT named.key FROM device AS named WHERE named.id = ${device})`);
  if (gateway !== undefined)
    conditions.push(sql`(gateway.id = ${gateway}
      OR (device.gateway_id = ${gateway} AND ${audienceCondition('device', view.described)}))`);
  if (assignee !== undefined) conditions.push(sql`assigned.username = ${assignee}`);
  return conditions;
}

/** What an alarm says of its device to whoever may view the values of that alone. */
const undescribed: Pick<Row, 'device_name' | 'location' | 'sensor_name' | 'unit' | 'gateway_id' | 'gateway_name'> = {
  ...({ device_name: null, location: null, sensor_name: null, unit: null } as const),
  ...({ gateway_id: null, gateway_name: null } as const),
};

function toAlarm(row: Row): Alarm {
  const { key, id, kind, times, changed, device_id: device, sensor_id: sensor, rule_id: rule } = row;
  // The rights to view values and to view the device are given apart from each other.
  const described = row.described === 1 ? row : undescribed;
  const isTold = row.told === 1;
  const { gateway_id: gateway } = described;
  return {
    ...{ key, id, kind, times, changed, sinceMs: row.since, mayUpdate: row.updatable === 1 },
    ...present({
      clearedMs: row.cleared,
      valueJson: row.value,
      condition: isTold ? row.condition : null,
      usualS: row.usual,
    }),
    ...(row.threshold === null || !isTold ? {} : { threshold: Number(row.threshold) }),
    ...present({ locationJson: described.location }),
    ...(device === null ? {} : { device: { id: device, ...present({ name: described.device_name }) } }),
    ...(sensor === null
      ? {}
      : { sensor: { id: sensor, ...present({ name: described.sensor_name, unit: described.unit }) } }),
    ...(gateway === null ? {} : { gateway: { id: gateway, ...present({ name: described.gateway_name }) } }),
    ...(rule === null || !isTold ? {} : { rule: { id: rule, ...present({ description: row.description }) } }),
    ...(row.acknowledged === null
      ? {}
      : { acknowledged: { atMs: row.acknowledged, ...present({ by: row.acknowledged_name, note: row.note }) } }),
    ...present({ snoozedUntilMs: row.snoozed, assignee: row.assignee }),
  };
}

type Present<T> = { [K in keyof T]?: NonNullable<T[K]> };

function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Present<T>;
}
