// What the stores of the registry need and SQL engines say differently. All other SQL in engines/shared is text that SQLite
// and PostgreSQL both understand, which portable-sql.test.ts checks. Each engine implements this in its own database folder, and
// provides one SQL function, `within_time()` (conditions/time-guard.ts).
import type { RawBuilder, SqlBool } from 'kysely';

/** Digits to which `naturalKey` fills up numbers. Beyond: they are compared digit by digit. */
export const naturalDigits = 20;

export type Sql<Value = unknown> = RawBuilder<Value>;

/** What an entry of a JSON array is taken for. Null stays null. */
export type EntryType = 'integer' | 'text';

/**
 * A value in JSON as filters compare it: a number with numbers, anything else with texts (true and false as `true` and
 * `false`). JSON null counts as missing.
 */
export interface JsonValue {
  readonly isMissing: Sql<SqlBool>;
  readonly isText: Sql<SqlBool>;
  readonly text: Sql;
  readonly isNumber: Sql<SqlBool>;
  readonly number: Sql;
}

export interface SqlDialect {
  /**
   * A JSON array of arrays as a subquery for FROM. Each inner array is a row: the columns take its entries in their order,
   * and `position` is its place in the outer array. A null array has no rows.
   */
  rows(json: Sql, columns: Readonly<Record<string, EntryType>>): Sql;
  /** A JSON array of scalars as a subquery with one column, `value`; for FROM, and for IN. */
  values(json: Sql, type: EntryType): Sql;
  /** An aggregate: the values of all rows as a JSON array; an empty array without rows. */
  collected(value: Sql): Sql<string>;
  /** The values as a JSON array, for `collected` alone. */
  arrayOf(values: readonly Sql[]): Sql;
  /** The JSON array with one more text at its end. */
  appended(json: Sql, text: Sql): Sql<string>;
  /** The value of nested fields of a JSON column; of the whole column where the path is empty. */
  jsonAt(column: Sql, path: readonly string[]): JsonValue;
  /** What a list in a JSON column holds, as a subquery for FROM named `entry`; one that is no list is its only entry. */
  listEntries(column: Sql, field: string): { readonly from: Sql; readonly entry: JsonValue };
  /** Whether the column contains the text, regardless of the case of ASCII letters. */
  contains(column: Sql, text: string): Sql<SqlBool>;
  /** The greater of two numbers that are not null. */
  greater(one: Sql, other: Sql): Sql<number>;
  /**
   * The text with each number in it at one width, so that 9 comes before 10: leading zeros dropped, filled up to
   * `naturalDigits` digits.
   */
  naturalKey(text: Sql): Sql<string>;
  /** The value; the planner must not take it from an index. */
  withoutIndex(value: Sql): Sql;
  /** When a datapoint of the device was last received, sealed or not, in milliseconds since 1970 UTC; 0: never. */
  lastSeenMs(deviceKey: Sql): Sql<number>;
  /** Whether the last values of the device's sensors, sealed or not, meet all tests (parseLastValueTests). Ends with the time of the search. */
  lastValuesMeet(deviceKey: Sql, tests: string): Sql<SqlBool>;
}
