// A condition that is always true, by which a query that looks at many rows can be ended: every engine gives a function
// `within_time` that throws when the time of the query is up. Asked for one row in 64, since a call costs as much as
// looking at several rows. It stands first among the conditions of each query that `Registry.search` runs.
import { type RawBuilder, type SqlBool, sql } from 'kysely';

export function withinTime(table: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`((${sql.ref(`${table}.key`)} & 63) <> 0 OR within_time() = 1)`;
}
