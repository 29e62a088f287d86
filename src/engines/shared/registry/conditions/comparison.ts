// One condition of a `q` filter (contract 1) as SQL, for any kind of record; values are passed as parameters only. Stored
// numbers are compared with the values that read as numbers, anything else with all values as texts.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { Refusal } from '../../../../base/refusal.ts';
import { parseTimestamp } from '../../../../base/time/timestamp.ts';
import type { Condition } from '../../../../domain/devices/filter.ts';
import type { JsonValue } from '../sql-dialect.ts';

type Sql = RawBuilder<SqlBool>;
type Operator = Condition['operator'];

/**
 * Refuses a field that no record has, which would match nothing for ever; and one that holds fields of its own.
 * @param fields the valid fields, as text for the message.
 */
export function refuseField({ path: [field = '', ...deeper] }: Condition, fields: string): never {
  const name = [field, ...deeper].join('.');
  const known = `The fields are ${fields}.`;
  throw new Refusal('malformed', `There is no field ${JSON.stringify(name)} to filter by. ${known}`, {
    faults: [{ pointer: '/q', detail: `must name a field to filter by, not ${JSON.stringify(name)}` }],
  });
}

/** Compares a column of texts with each value: one must match; for `!=`, none may. */
export function compareText(column: RawBuilder<unknown>, { operator, values }: Condition): Sql {
  const met = matches(column, operator, values);
  return operator === '!=' ? sql`(${column} IS NULL OR ${met})` : met;
}

/** The same of a column of numbers. Values that are no numbers match none; `!=` them are only rows without a number. */
export function compareNumber(column: RawBuilder<unknown>, { operator, values }: Condition): Sql {
  const numbers = numbersOf(values);
  if (operator !== '!=') return numbers.length === 0 ? sql`1 = 0` : matches(column, operator, numbers);
  if (numbers.length < values.length) return sql`${column} IS NULL`;
  return sql`(${column} IS NULL OR ${matches(column, operator, numbers)})`;
}

/** The same of a value in JSON, which may be a number or a text; a missing one is equal to nothing. */
export function compareJson(json: JsonValue, { operator, values }: Condition): Sql {
  const numbers = numbersOf(values);
  const asText = sql<SqlBool>`(${json.isText} AND ${matches(json.text, operator, values)})`;
  const hasNumbers = operator === '!=' ? numbers.length === values.length : numbers.length > 0;
  const met = hasNumbers
    ? sql<SqlBool>`(${asText} OR (${json.isNumber} AND ${matches(json.number, operator, numbers)}))`
    : asText;
  return operator === '!=' ? sql`(${json.isMissing} OR ${met})` : met;
}

/** Computing the time is expensive, so it is compared once, however many values there are. */
export function compareTime(column: RawBuilder<unknown>, { operator, values }: Condition): Sql {
  return matches(column, operator, values.map(toMilliseconds));
}

/** "Greater than one of several" is "greater than the least of them". */
function matches(column: RawBuilder<unknown>, operator: Operator, values: readonly (string | number)[]): Sql {
  if (operator === '==') return sql`${column} IN (${sql.join(values)})`;
  if (operator === '!=') return sql`${column} NOT IN (${sql.join(values)})`;
  const sorted = [...values].sort(ascending);
  return sql`${column} ${sql.raw(operator)} ${operator.startsWith('>') ? sorted[0] : sorted.at(-1)}`;
}

/** Texts in the order in which engines compare them: that of their bytes in UTF-8. */
function ascending(one: string | number, other: string | number): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}

/** Those of the values that read as numbers. */
export function numbersOf(values: readonly string[]): number[] {
  return values.filter((value) => /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(value)).map(Number);
}

/** @throws Refusal `malformed` for what is no timestamp. */
export function toMilliseconds(value: string): number {
  const ms = parseTimestamp(value);
  if (ms === undefined)
    throw new Refusal(
      'malformed',
      `${JSON.stringify(value)} in the filter is no timestamp such as 2016-06-08T18:20:27Z.`,
    );
  return ms;
}
