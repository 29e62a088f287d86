// Converts a `q` filter of devices to SQL conditions. Fields have the names of the API.
import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { Refusal } from '../../../../base/refusal.ts';
import type { DeviceOrder, DeviceSearch } from '../../../../domain/devices/device-store.ts';
import type { Condition, Filter } from '../../../../domain/devices/filter.ts';
import type { SqlDialect } from '../sql-dialect.ts';
import { compareJson, compareNumber, compareText, compareTime, refuseField } from './comparison.ts';
import { deviceScopes, isDeviceSharedWith } from './inherited-shares.ts';
import { withinTime } from './time-guard.ts';

type Sql = RawBuilder<SqlBool>;

/** @throws Refusal `malformed` for values that cannot be filtered by, and for invalid times. */
export function deviceConditions(filter: Filter, dialect: SqlDialect): Expression<SqlBool>[] {
  return filter.map((condition) => conditionOf(condition, dialect));
}

const textColumns: Record<string, RawBuilder<unknown>> = {
  id: sql`device.id`,
  gateway_id: sql`device.gateway_id`,
  name: sql`device.name`,
  domain: sql`device.domain`,
  visibility: sql`device.visibility`,
};

const timeColumns: Record<string, (dialect: SqlDialect) => RawBuilder<unknown>> = {
  date_created: () => sql`device.date_created`,
  date_modified: dateModified,
};

/** As reads show it: the later of the stored change and the last value received. */
function dateModified({ greater, lastSeenMs }: SqlDialect): RawBuilder<number> {
  return greater(sql`device.date_modified`, lastSeenMs(sql`device.key`));
}

/** Conditions for a text anywhere in names or ids, and for devices shared with a user. */
export function searchConditions(
  { text, sensorText, sharedWith }: DeviceSearch,
  { contains }: SqlDialect,
): Expression<SqlBool>[] {
  const conditions: Sql[] = [];
  if (text !== undefined) {
    conditions.push(sql`(${contains(sql`device.id`, text)} OR ${contains(sql`device.name`, text)})`);
  }
  if (sensorText !== undefined) {
    const found = sql`${contains(sql`sensor.id`, sensorText)} OR ${contains(sql`sensor.name`, sensorText)}`;
    conditions.push(sql`device.key IN (SELECT sensor.device FROM sensor WHERE ${withinTime('sensor')} AND (${found}))`);
  }
  if (sharedWith !== undefined) {
    conditions.push(isDeviceSharedWith(sharedWith, deviceScopes));
  }
  return conditions;
}

/** The order of a list: by the field, equal values by creation. */
export function orderOf(dialect: SqlDialect, order: DeviceOrder = 'created', filter: Filter = []): RawBuilder<unknown> {
  const direction = sql.raw(order.startsWith('-') ? 'DESC' : 'ASC');
  const field = order.replace('-', '');
  if (field === 'name') {
    const name = sql`lower(coalesce(device.name, device.id))`;
    // The index of names has none of the columns of filters: with a filter, sorting the matching rows is faster than
    // using it.
    return sql`${filter.length === 0 ? name : dialect.withoutIndex(name)} ${direction}, device.key ${direction}`;
  }
  if (field === 'heard') return sql`${dateModified(dialect)} ${direction}, device.key ${direction}`;
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

/** The fields of a device that can be filtered by, as messages name them. */
const fields = `${[
  ...Object.keys(textColumns),
  'owner',
  ...Object.keys(timeColumns),
  'deployed',
  'retention_days',
].join(', ')}, those in location and in meta, and those of its sensors and actuators`;

function conditionOf(condition: Condition, dialect: SqlDialect): Sql {
  const [field = '', ...rest] = condition.path;
  const text = Object.hasOwn(textColumns, field) ? textColumns[field] : undefined;
  if (text !== undefined && rest.length === 0) return compareText(text, condition);
  if (field === 'owner' && rest.length === 0) return ownerCondition(condition);
  const time = Object.hasOwn(timeColumns, field) ? timeColumns[field] : undefined;
  if (time !== undefined && rest.length === 0) return compareTime(time(dialect), condition);
  if (field === 'deployed' && rest.length === 0) {
    const values = condition.values.map((value) => (value === 'true' ? '1' : value === 'false' ? '0' : '-1'));
    return compareNumber(sql`device.deployed`, { ...condition, values });
  }
  if (field === 'retention_days' && rest.length === 0) return compareNumber(sql`device.retention_days`, condition);
  if ((field === 'location' || field === 'meta') && rest.length > 0) {
    return compareJson(dialect.jsonAt(sql.ref(`device.${field}`), rest), condition);
  }
  if (Object.hasOwn(partTables, field)) return partCondition(condition, dialect);
  return refuseField(condition, fields);
}

/** Evaluated on the users first, because there are fewer users than devices. */
function ownerCondition(condition: Condition): Sql {
  const named = compareText(sql`"user".username`, condition);
  return sql`device.owner IN (SELECT "user".key FROM "user" WHERE ${named})`;
}

/** True for a device when one of its sensors (or actuators) meets the condition; for `!=`, when none equals. */
function partCondition(condition: Condition, dialect: SqlDialect): Sql {
  const [field = '', name = '', ...deeper] = condition.path;
  const part = partTables[field];
  if (name === 'last_value' || name === 'value') {
    throw new Refusal(
      'malformed',
      'Values cannot be filtered by here. Filter by a field of the device or of the description of its sensors.',
    );
  }
  const column = part !== undefined && Object.hasOwn(part.columns, name) ? part.columns[name] : undefined;
  const isJson = column === 'meta' || column === 'calib';
  const isWhole = deeper.length === 0;
  if (part === undefined || column === undefined || isJson === isWhole) return refuseField(condition, fields);
  const negated = condition.operator === '!=';
  const positive: Condition = negated ? { ...condition, operator: '==' } : condition;
  const ref = sql.ref(`${part.table}.${column}`);
  const compare = column === 'retention_days' ? compareNumber : compareText;
  const inner = isJson ? compareJson(dialect.jsonAt(ref, deeper), positive) : compare(ref, positive);
  // A subquery that is run once, not once for each device.
  const has = sql<SqlBool>`device.key IN (SELECT ${sql.ref(`${part.table}.device`)} FROM ${sql.table(part.table)} WHERE ${withinTime(part.table)} AND ${inner})`;
  return negated ? sql`NOT ${has}` : has;
}
