// Converts a `q` filter of devices to SQL conditions. Fields have the names of the API.
import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { Refusal } from '../../../../base/refusal.ts';
import type { DeviceOrder, DeviceSearch } from '../../../../domain/devices/device-store.ts';
import type { Condition, Filter } from '../../../../domain/devices/filter.ts';
import { compare, compareJson, compareNothing, compareTime } from './comparison.ts';
import { withinTime } from './time-guard.ts';

type Sql = RawBuilder<SqlBool>;

export function deviceConditions(filter: Filter): Expression<SqlBool>[] {
  return filter.map(conditionOf);
}

const textColumns: Record<string, RawBuilder<unknown>> = {
  id: sql`device.id`,
  gateway_id: sql`device.gateway_id`,
  name: sql`device.name`,
  domain: sql`device.domain`,
  visibility: sql`device.visibility`,
};

const timeColumns: Record<string, RawBuilder<unknown>> = {
  date_created: sql`device.date_created`,
  // As reads show it: the later of the stored change and the last value received. `device_last_seen` is an SQL function
  // that each engine provides: when a datapoint of the device was last received, sealed or in the log, or 0.
  date_modified: sql`max(device.date_modified, device_last_seen(device.key))`,
};

/** Text searched anywhere in names and ids. */
export function searchConditions({ text, sensorText, sharedWith }: DeviceSearch): Expression<SqlBool>[] {
  const conditions: Sql[] = [];
  if (text !== undefined) conditions.push(sql`(${holds(sql`device.id`, text)} OR ${holds(sql`device.name`, text)})`);
  if (sensorText !== undefined) {
    const found = sql`${holds(sql`sensor.id`, sensorText)} OR ${holds(sql`sensor.name`, sensorText)}`;
    conditions.push(sql`device.key IN (SELECT sensor.device FROM sensor WHERE ${withinTime('sensor')} AND (${found}))`);
  }
  if (sharedWith !== undefined) {
    conditions.push(sql`device.key IN (SELECT share.device FROM share WHERE share.user = ${sharedWith})`);
  }
  return conditions;
}

/** Case-insensitive; twice as fast as comparing `lower` of the column. */
function holds(column: RawBuilder<unknown>, text: string): Sql {
  return sql`${column} LIKE ${`%${text.replaceAll(/[%_\\]/g, '\\$&')}%`} ESCAPE '\\'`;
}

/** By the field, equal ones by creation. */
export function orderOf(order: DeviceOrder = 'created', filter: Filter = []): RawBuilder<unknown> {
  const direction = sql.raw(order.startsWith('-') ? 'DESC' : 'ASC');
  const field = order.replace('-', '');
  if (field === 'name') {
    // The index of names has none of the columns of filters: with a filter, sorting the matching rows is faster than
    // using it, which the `+` prevents.
    const index = sql.raw(filter.length === 0 ? '' : '+');
    return sql`${index}lower(coalesce(device.name, device.id)) ${direction}, device.key ${direction}`;
  }
  if (field === 'heard') return sql`${timeColumns['date_modified']} ${direction}, device.key ${direction}`;
  return sql`device.key ${direction}`;
}

const partTables: Record<string, { readonly table: string; readonly columns: Record<string, string> }> = {
  sensors: {
    table: 'sensor',
    columns: {
      id: 'id',
      name: 'name',
      sensing_device: 'kind',
      sensor_kind: 'kind',
      quantity_kind: 'quantity_kind',
      unit: 'unit',
      meta: 'meta',
      calib: 'calib',
      retention_days: 'retention_days',
    },
  },
  actuators: {
    table: 'actuator',
    columns: {
      id: 'id',
      name: 'name',
      actuator_kind: 'actuator_kind',
      value_type: 'value_type',
      actuator_value_type: 'value_type',
      meta: 'meta',
    },
  },
};

function conditionOf(condition: Condition): Sql {
  const [field = '', ...rest] = condition.path;
  const text = Object.hasOwn(textColumns, field) ? textColumns[field] : undefined;
  if (text !== undefined && rest.length === 0) return compare(text, condition, (value) => value);
  if (field === 'owner' && rest.length === 0) return ownerCondition(condition);
  const time = Object.hasOwn(timeColumns, field) ? timeColumns[field] : undefined;
  if (time !== undefined && rest.length === 0) return compareTime(time, condition);
  if (field === 'deployed' && rest.length === 0)
    return compare(sql`device.deployed`, condition, (value) => (value === 'true' ? 1 : value === 'false' ? 0 : -1));
  if (field === 'retention_days' && rest.length === 0)
    return compare(sql`device.retention_days`, condition, (value) => value);
  if (field === 'location' || field === 'meta') return compareJson(sql.ref(`device.${field}`), rest, condition);
  if (Object.hasOwn(partTables, field)) return partCondition(field, rest, condition);
  return compareNothing(condition);
}

/** Evaluated on the users first, who are fewer. */
function ownerCondition(condition: Condition): Sql {
  const named = compare(sql`"user".username`, condition, (value) => value);
  return sql`device.owner IN (SELECT "user".key FROM "user" WHERE ${named})`;
}

/** True for a device when one of its sensors (or actuators) meets the condition; for `!=`, when none equals. */
function partCondition(field: string, rest: readonly string[], condition: Condition): Sql {
  const part = partTables[field];
  const [name = '', ...deeper] = rest;
  if (name === 'last_value' || name === 'value') {
    throw new Refusal(
      'malformed',
      'Values cannot be filtered by here. Filter by a field of the device or of the description of its sensors.',
    );
  }
  const column = part !== undefined && Object.hasOwn(part.columns, name) ? part.columns[name] : undefined;
  if (part === undefined || column === undefined) return compareNothing(condition);
  const negated = condition.operator === '!=';
  const positive: Condition = negated ? { ...condition, operator: '==' } : condition;
  const ref = sql.ref(`${part.table}.${column}`);
  const isJson = column === 'meta' || column === 'calib';
  const inner = isJson ? compareJson(ref, deeper, positive) : compare(ref, positive, (value) => value);
  // A subquery that SQLite runs once, not once for each device.
  const has = sql<SqlBool>`device.key IN (SELECT ${sql.ref(`${part.table}.device`)} FROM ${sql.table(part.table)} WHERE ${withinTime(part.table)} AND ${inner})`;
  return negated ? sql`NOT ${has}` : has;
}
