// One condition of a `q` filter (contract 1) as SQL, whatever record it is about; values travel as parameters only.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { Refusal } from '../../base/refusal.ts';
import { parseTimestamp } from '../../base/timestamp.ts';
import type { Condition } from '../../domain/devices/filter.ts';

type Sql = RawBuilder<SqlBool>;

/** A field that no record has: equal to nothing, unequal to everything. */
export function compareNothing({ operator }: Condition): Sql {
  return operator === '!=' ? sql`1 = 1` : sql`1 = 0`;
}

export function compareJson(column: RawBuilder<unknown>, path: readonly string[], condition: Condition): Sql {
  const jsonPath = `$${path.map((step) => `."${step}"`).join('')}`;
  const extracted = sql`json_extract(${column}, ${jsonPath})`;
  // JSON true and false come out as 1 and 0; their type tells them from numbers.
  const asText = sql`CASE json_type(${column}, ${jsonPath}) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE ${extracted} END`;
  return compare(sql`(${asText})`, condition, (value) => value);
}

/** Compares a column with each value: one must match, or for `!=` none may. */
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
