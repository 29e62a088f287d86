// What PostgreSQL says in words of its own for the stores of the registry.
import { type SqlBool, sql } from 'kysely';
import {
  type EntryType,
  type JsonValue,
  naturalDigits,
  type Sql,
  type SqlDialect,
} from '../../shared/registry/sql-dialect.ts';
import { AskedLastValues } from './asked-last-values.ts';

export const postgresDialect: SqlDialect = {
  rows(json, columns) {
    const entries = Object.entries(columns).map(
      ([column, type], index) => sql`${cast(sql`entry.value ->> ${sql.lit(index)}`, type)} AS ${sql.ref(column)}`,
    );
    return sql`(SELECT ${sql.join(entries)}, entry.position
      FROM jsonb_array_elements(${asJson(json)}) WITH ORDINALITY AS entry (value, position))`;
  },
  values: (json, type) =>
    sql`(SELECT ${cast(sql`entry.value`, type)} AS value FROM jsonb_array_elements_text(${asJson(json)}) AS entry (value))`,
  collected: (value) => sql`coalesce(CAST(jsonb_agg(${value}) AS text), '[]')`,
  arrayOf: (values) => sql`jsonb_build_array(${sql.join(values)})`,
  appended: (json, text) => sql`CAST(${asJson(json)} || to_jsonb(${text}) AS text)`,
  jsonAt(column, path) {
    const whole = asJson(column);
    return jsonValue(path.length === 0 ? whole : sql`(${whole} #> CAST(ARRAY[${sql.join(path)}] AS text[]))`);
  },
  listEntries: (column, field) => ({
    from: sql`jsonb_path_query(${asJson(column)}, ${sql.lit(`lax $."${field}"[*]`)}) AS entry (value)`,
    entry: jsonValue(sql`entry.value`),
  }),
  contains: (column, text) => sql`${column} ILIKE ${`%${text.replaceAll(/[%_\\]/g, '\\$&')}%`} ESCAPE '\\'`,
  greater: (one, other) => sql`greatest(${one}, ${other})`,
  // Filled up with zeros, of which as many as possible are taken away again.
  naturalKey: (text) => sql<string>`regexp_replace(
    regexp_replace(${text}, '([0-9]+)', ${sql.lit(`${'0'.repeat(naturalDigits)}\\1`)}, 'g'),
    ${sql.lit(`0*([0-9]{${naturalDigits}})`)}, ${sql.lit('\\1')}, 'g')`,
  withoutIndex: (value) => value,
  // No function of the server: registry/searches.ts puts a list of devices in place of the parameter.
  lastValuesMeet(deviceKey, tests) {
    const asked = new AskedLastValues(tests);
    const isListed = sql<SqlBool>`(${deviceKey} = ANY (CAST(${asked} AS bigint[])))`;
    return asked.listsOthers ? sql<SqlBool>`(NOT ${isListed})` : isListed;
  },
  // The table `heard` is brought up to date before each search that asks (registry/searches.ts).
  lastSeenMs: (deviceKey) => sql`coalesce((SELECT max(heard.received) FROM sensor
    INNER JOIN heard ON heard.sensor = sensor.key WHERE sensor.device = ${deviceKey}), 0)`,
};

function asJson(text: Sql): Sql {
  return sql`CAST(${text} AS jsonb)`;
}

function cast(value: Sql, type: EntryType): Sql {
  return type === 'text' ? sql`(${value})` : sql`CAST(${value} AS bigint)`;
}

function jsonValue(value: Sql): JsonValue {
  return {
    isMissing: sql<SqlBool>`coalesce(jsonb_typeof(${value}), 'null') = 'null'`,
    isText: sql<SqlBool>`jsonb_typeof(${value}) NOT IN ('number', 'null')`,
    text: sql`(${value} #>> '{}')`,
    isNumber: sql<SqlBool>`jsonb_typeof(${value}) = 'number'`,
    number: sql`(CASE WHEN jsonb_typeof(${value}) = 'number' THEN CAST(${value} AS double precision) END)`,
  };
}
