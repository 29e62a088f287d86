// Turns who may see what, and a `q` filter, into SQL conditions. Fields of spec.md and the contract by their names
// on the wire; values travel as parameters only.
import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely';
import { Refusal } from '../../base/refusal.ts';
import { parseTimestamp } from '../../base/timestamp.ts';
import type { Condition, Filter } from '../../domain/devices/filter.ts';
import type { Audience } from '../../domain/permissions/permission.ts';

type Sql = RawBuilder<SqlBool>;

/** The rows of `device` that the audience may see: the same rule as Permissions.scopesOf (I6). */
export function audienceCondition(audience: Audience): Sql {
  if (audience.only === undefined) return whoseCondition(audience);
  if (audience.only.length === 0) return sql`1 = 0`;
  return sql`(device.id IN (${sql.join(audience.only)}) AND ${whoseCondition(audience)})`;
}

function whoseCondition(audience: Audience): Sql {
  if (audience.all) return sql`1 = 1`;
  const conditions: Sql[] = [];
  if (audience.public) conditions.push(sql`device.visibility = 'public'`);
  if (audience.user !== undefined) {
    conditions.push(sql`device.owner = ${audience.user}`);
    conditions.push(
      sql`device.key IN (SELECT share.device FROM share WHERE share.user = ${audience.user} AND (share.scopes & ${audience.shared}) <> 0)`,
    );
  }
  return conditions.length === 0 ? sql`1 = 0` : sql`(${sql.join(conditions, sql` OR `)})`;
}

export function filterConditions(filter: Filter): Expression<SqlBool>[] {
  return filter.map(conditionOf);
}

const textColumns: Record<string, RawBuilder<unknown>> = {
  id: sql`device.id`,
  gateway_id: sql`device.gateway_id`,
  name: sql`device.name`,
  domain: sql`device.domain`,
  visibility: sql`device.visibility`,
  owner: sql`(SELECT user.username FROM user WHERE user.key = device.owner)`,
};

const timeColumns: Record<string, RawBuilder<unknown>> = {
  date_created: sql`device.date_created`,
  // As a read shows it: the later of the stored change and the last value received, settled or still in the log.
  // The log is gathered once for the whole query; it is bounded.
  date_modified: sql`max(device.date_modified,
    coalesce((SELECT max(latest.received) FROM latest JOIN sensor ON sensor.key = latest.sensor
      WHERE sensor.device = device.key), 0),
    coalesce((SELECT fresh.received FROM (SELECT sensor.device AS device, max(log.received) AS received
      FROM log JOIN sensor ON sensor.key = log.sensor GROUP BY sensor.device) AS fresh
      WHERE fresh.device = device.key), 0))`,
};

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
  const time = Object.hasOwn(timeColumns, field) ? timeColumns[field] : undefined;
  if (time !== undefined && rest.length === 0) return compareTime(time, condition);
  if (field === 'deployed' && rest.length === 0)
    return compare(sql`device.deployed`, condition, (value) => (value === 'true' ? 1 : value === 'false' ? 0 : -1));
  if (field === 'location' || field === 'meta') return compareJson(sql.ref(`device.${field}`), rest, condition);
  if (Object.hasOwn(partTables, field)) return partCondition(field, rest, condition);
  // A field that no record has: equal to nothing, unequal to everything.
  return condition.operator === '!=' ? sql`1 = 1` : sql`1 = 0`;
}

/** True for a device when one of its sensors (or actuators) meets the condition; `!=` when none equals. */
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
  if (part === undefined || column === undefined) return condition.operator === '!=' ? sql`1 = 1` : sql`1 = 0`;
  const negated = condition.operator === '!=';
  const positive: Condition = negated ? { ...condition, operator: '==' } : condition;
  const ref = sql.ref(`${part.table}.${column}`);
  const isJson = column === 'meta' || column === 'calib';
  const inner = isJson ? compareJson(ref, deeper, positive) : compare(ref, positive, (value) => value);
  const exists = sql<SqlBool>`EXISTS (SELECT 1 FROM ${sql.table(part.table)} WHERE ${sql.ref(`${part.table}.device`)} = device.key AND ${inner})`;
  return negated ? sql`NOT ${exists}` : exists;
}

export function compareJson(column: RawBuilder<unknown>, path: readonly string[], condition: Condition): Sql {
  const jsonPath = `$${path.map((step) => `."${step}"`).join('')}`;
  const extracted = sql`json_extract(${column}, ${jsonPath})`;
  // JSON true and false come out as 1 and 0; their type tells them from numbers.
  const asText = sql`CASE json_type(${column}, ${jsonPath}) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE ${extracted} END`;
  return compare(sql`(${asText})`, condition, (value) => value);
}

export function compare(
  column: RawBuilder<unknown>,
  { operator, values }: Condition,
  convert: (value: string) => string | number,
): Sql {
  const compared = values.map((value) => compareOne(column, operator, convert(value)));
  if (operator === '!=') return sql`(${column} IS NULL OR (${sql.join(compared, sql` AND `)}))`;
  return sql`(${sql.join(compared, sql` OR `)})`;
}

/** A time is dear to find out, so it is compared once, whatever the number of values. */
export function compareTime(column: RawBuilder<unknown>, { operator, values }: Condition): Sql {
  const times = values.map(toMilliseconds);
  if (operator === '==') return sql`${column} IN (${sql.join(times)})`;
  if (operator === '!=') return sql`${column} NOT IN (${sql.join(times)})`;
  const widest = operator.startsWith('>') ? Math.min(...times) : Math.max(...times);
  return sql`${column} ${sql.raw(operator)} ${widest}`;
}

/** A value that reads as a number is compared as one where the stored value is one, and as text where it is text. */
function compareOne(column: RawBuilder<unknown>, operator: Condition['operator'], value: string | number): Sql {
  const symbol = sql.raw(operator === '==' ? '=' : operator);
  const numeric = typeof value === 'number' ? value : asNumber(value);
  if (numeric === undefined) return sql`(typeof(${column}) = 'text' AND ${column} ${symbol} ${value})`;
  const asNumeric = sql`(typeof(${column}) IN ('integer', 'real') AND ${column} ${symbol} ${numeric})`;
  return sql`(${asNumeric} OR (typeof(${column}) = 'text' AND ${column} ${symbol} ${String(value)}))`;
}

function asNumber(text: string): number | undefined {
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : undefined;
}

function toMilliseconds(value: string): number {
  const ms = parseTimestamp(value);
  if (ms === undefined)
    throw new Refusal(
      'malformed',
      `${JSON.stringify(value)} in the filter is no timestamp such as 2016-06-08T18:20:27Z.`,
    );
  return ms;
}
