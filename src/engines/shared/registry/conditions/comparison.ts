// One condition of a `q` filter (contract 1) as SQL, for any kind of record; values are passed as parameters only.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { Refusal } from '../../../../base/refusal.ts';
import { parseTimestamp } from '../../../../base/time/timestamp.ts';
import type { Condition } from '../../../../domain/devices/filter.ts';

type Sql = RawBuilder<SqlBool>;

/** An unknown field: equal to nothing, unequal to everything. */
export function compareNothing({ operator }: Condition): Sql {
  return operator === '!=' ? sql`1 = 1` : sql`1 = 0`;
}

export function compareJson(column: RawBuilder<unknown>, path: readonly string[], condition: Condition): Sql {
  const jsonPath = `$${path.map((step) => `."${step}"`).join('')}`;
  const extracted = sql`json_extract(${column}, ${jsonPath})`;
  // SQLite extracts JSON true and false as 1 and 0; their JSON type distinguishes them from numbers.
  const asText = sql`CASE json_type(${column}, ${jsonPath}) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE ${extracted} END`;
  return compare(sql`(${asText})`, condition, (value) => value);
}

/**
 * Compares a column with each value: one must match; for `!=`, none may. A stored number is compared with the values
 * that read as numbers, a stored text with all. The column, whose JSON may be long, is evaluated a few times, however
 * many values there are.
 */
export function compare(
  column: RawBuilder<unknown>,
  { operator, values }: Condition,
  convert: (value: string) => string | number,
): Sql {
  const converted = values.map(convert);
  const texts = converted.map(String);
  const numbers = converted.map((value) => (typeof value === 'number' ? value : asNumber(value))).filter((value) => value !== undefined); // biome-ignore format: one line
  const isText = sql<SqlBool>`typeof(${column}) = 'text'`;
  const isNumber = sql<SqlBool>`typeof(${column}) IN ('integer', 'real')`;
  if (operator === '!=') {
    const none = sql<SqlBool>`(${isText} AND ${column} NOT IN (${sql.join(texts)}))`;
    // A stored number differs from every value that is not a number.
    if (numbers.length < values.length) return sql`(${column} IS NULL OR ${none})`;
    return sql`(${column} IS NULL OR ${none} OR (${isNumber} AND ${column} NOT IN (${sql.join(numbers)})))`;
  }
  const asText = sql<SqlBool>`(${isText} AND ${oneOf(column, operator, texts)})`;
  if (numbers.length === 0) return asText;
  return sql`(${asText} OR (${isNumber} AND ${oneOf(column, operator, numbers)}))`;
}

function oneOf(
  column: RawBuilder<unknown>,
  operator: Condition['operator'],
  values: readonly (string | number)[],
): Sql {
  if (operator === '==') return sql`${column} IN (${sql.join(values)})`;
  const symbol = sql.raw(operator);
  const [first] = values;
  if (values.length === 1) return sql`${column} ${symbol} ${first}`;
  // "Greater than one of several" is "greater than the least of them", which SQLite computes once for all rows.
  const widest = sql.raw(operator.startsWith('>') ? 'min' : 'max');
  return sql`${column} ${symbol} ${widest}(${sql.join(values)})`;
}

/** Computing the time is expensive, so it is compared once, however many values there are. */
export function compareTime(column: RawBuilder<unknown>, { operator, values }: Condition): Sql {
  const times = values.map(toMilliseconds);
  if (operator === '==') return sql`${column} IN (${sql.join(times)})`;
  if (operator === '!=') return sql`${column} NOT IN (${sql.join(times)})`;
  const widest = operator.startsWith('>') ? Math.min(...times) : Math.max(...times);
  return sql`${column} ${sql.raw(operator)} ${widest}`;
}

function asNumber(text: string): number | undefined {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : undefined;
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
