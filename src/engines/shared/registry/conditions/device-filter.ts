// Converts a `q` filter of devices to SQL conditions. Fields have the names of the API.
import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { DeviceOrder, DeviceSearch } from '../../../../domain/devices/device-store.ts';
import type { Condition, Filter } from '../../../../domain/devices/filter.ts';
import type { Audience } from '../../../../domain/permissions/permission.ts';
import type { SqlDialect } from '../sql-dialect.ts';
import { audienceCondition } from './audience.ts';
import { compareJson, compareNumber, compareText, compareTime, refuseField } from './comparison.ts';
import { deviceScopes, isDeviceSharedWith } from './inherited-shares.ts';
import { isOnLastValue, lastValueCondition } from './last-value.ts';
import { withinTime } from './time-guard.ts';

type Sql = RawBuilder<SqlBool>;

/**
 * @param valuesFor the devices whose values the caller may read; undefined: of none. Needed for filters on last values.
 * @throws Refusal `malformed` for fields that cannot be filtered by, and for invalid times.
 */
export function deviceConditions(
  filter: Filter,
  dialect: SqlDialect,
  valuesFor: Audience | undefined,
): Expression<SqlBool>[] {
  if (filter.length === 0) return [];
  const isReadable = valuesFor === undefined ? sql<SqlBool>`1 = 0` : audienceCondition('device', valuesFor);
  const onLastValues = filter.filter(isOnLastValue);
  const others = filter.filter((condition) => !isOnLastValue(condition));
  return [
    ...others.map((condition) => conditionOf(condition, { dialect, isReadable })),
    // Last, because it takes longest: it is looked at for devices alone that meet all else, so that what a stranger keeps to
    // themselves costs nobody anything.
    ...(onLastValues.length === 0 ? [] : [lastValueCondition(onLastValues, { dialect, fields, isReadable })]),
  ];
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
  last_heard: lastHeard,
};

/** As reads show it: the later of the stored change and the last value received. */
function dateModified({ greater, lastSeenMs }: SqlDialect): RawBuilder<number> {
  return greater(sql`device.date_modified`, lastSeenMs(sql`device.key`));
}

/** When a datapoint of the device was last received; none where it was never heard. */
function lastHeard({ lastSeenMs }: SqlDialect): RawBuilder<number> {
  return sql<number>`nullif(${lastSeenMs(sql`device.key`)}, 0)`;
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
  // Sorts all that match: no index has this order.
  if (field === 'natural')
    return sql`${dialect.naturalKey(sql`lower(coalesce(device.name, device.id))`)} ${direction}, device.key ${direction}`;
  // Not by when it was changed: who renames a dead device would hide it. What was never heard has been silent longest.
  if (field === 'heard') return sql`${dialect.lastSeenMs(sql`device.key`)} ${direction}, device.key ${direction}`;
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
      value: 'value',
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

interface Reading {
  readonly dialect: SqlDialect;
  /** Whether the values of the device may be known. */
  readonly isReadable: Sql;
}

function conditionOf(condition: Condition, reading: Reading): Sql {
  const { dialect } = reading;
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
  if (Object.hasOwn(partTables, field)) return partCondition(condition, reading);
  return refuseField(condition, fields);
}

/** Evaluated on the users first, because there are fewer users than devices. */
function ownerCondition(condition: Condition): Sql {
  const named = compareText(sql`"user".username`, condition);
  return sql`device.owner IN (SELECT "user".key FROM "user" WHERE ${named})`;
}

/** True for a device when one of its sensors (or actuators) meets the condition; for `!=`, when none equals. What may not be known is not there. */
function partCondition(condition: Condition, { dialect, isReadable }: Reading): Sql {
  const [field = '', name = '', ...deeper] = condition.path;
  const part = partTables[field];
  const column = part !== undefined && Object.hasOwn(part.columns, name) ? part.columns[name] : undefined;
  const isValue = column === 'value';
  const isJson = column === 'meta' || column === 'calib' || isValue;
  // A value may be any JSON; `meta` and `calib` are objects, whose fields alone are compared.
  const isWhole = deeper.length === 0 && !isValue;
  if (part === undefined || column === undefined || (isJson ? isWhole : deeper.length > 0))
    return refuseField(condition, fields);
  const negated = condition.operator === '!=';
  const positive: Condition = negated ? { ...condition, operator: '==' } : condition;
  const ref = sql.ref(`${part.table}.${column}`);
  const compare = column === 'retention_days' ? compareNumber : compareText;
  const inner = isJson ? compareJson(dialect.jsonAt(ref, deeper), positive) : compare(ref, positive);
  // A subquery that is run once, not once for each device.
  const isIn = sql<SqlBool>`device.key IN (SELECT ${sql.ref(`${part.table}.device`)} FROM ${sql.table(part.table)} WHERE ${withinTime(part.table)} AND ${inner})`;
  const has = isValue ? sql<SqlBool>`(${isReadable} AND ${isIn})` : isIn;
  return negated ? sql`NOT ${has}` : has;
}
