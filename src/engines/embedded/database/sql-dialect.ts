// What SQLite says in words of its own for the stores of the registry. (dialect.ts is how Kysely reaches SQLite.)
import { type SqlBool, sql } from 'kysely';
import type { JsonValue, Sql, SqlDialect } from '../../shared/registry/sql-dialect.ts';

export const sqliteDialect: SqlDialect = {
  rows(json, columns) {
    const entries = Object.keys(columns).map(
      (column, index) => sql`json_extract(value, ${sql.lit(`$[${index}]`)}) AS ${sql.ref(column)}`,
    );
    // The rowid is the order in which json_each reads anyway: ORDER BY position sorts nothing.
    return sql`(SELECT ${sql.join(entries)}, rowid AS position FROM json_each(${json}))`;
  },
  values: (json) => sql`(SELECT value FROM json_each(${json}))`,
  collected: (value) => sql`json_group_array(${value})`,
  arrayOf: (values) => sql`json_array(${sql.join(values)})`,
  appended: (json, text) => sql`json_insert(${json}, '$[#]', ${text})`,
  jsonAt(column, path) {
    const jsonPath = `$${path.map((step) => `."${step}"`).join('')}`;
    const extracted = sql`json_extract(${column}, ${jsonPath})`;
    // SQLite extracts JSON true and false as 1 and 0; their JSON type distinguishes them from numbers.
    const value = sql`CASE json_type(${column}, ${jsonPath}) WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE ${extracted} END`;
    return jsonValue(sql`(${value})`);
  },
  listEntries: (column, field) => ({
    from: sql`json_each(${column}, ${`$.${field}`}) AS entry`,
    entry: jsonValue(sql`entry.value`),
  }),
  // Twice as fast as comparing `lower` of the column.
  contains: (column, text) => sql`${column} LIKE ${`%${text.replaceAll(/[%_\\]/g, '\\$&')}%`} ESCAPE '\\'`,
  greater: (one, other) => sql`max(${one}, ${other})`,
  // An SQL function of each connection (natural-key.ts).
  naturalKey: (text) => sql<string>`natural_key(${text})`,
  withoutIndex: (value) => sql`+${value}`,
  // An SQL function of the search thread (reads/last-seen-index.ts).
  lastSeenMs: (deviceKey) => sql`device_last_seen(${deviceKey})`,
  // Of the search thread too (reads/last-value-filter.ts). The subquery is run once, and before the first device, because it
  // is an argument: of the sides of an AND, SQLite may begin with either.
  lastValuesMeet: (deviceKey, tests) =>
    sql<SqlBool>`(last_values_meet(${deviceKey}, (SELECT last_value_tests(${tests}))) = 1)`,
};

function jsonValue(value: Sql): JsonValue {
  return {
    isMissing: sql<SqlBool>`${value} IS NULL`,
    isText: sql<SqlBool>`typeof(${value}) = 'text'`,
    text: value,
    isNumber: sql<SqlBool>`typeof(${value}) IN ('integer', 'real')`,
    number: value,
  };
}
