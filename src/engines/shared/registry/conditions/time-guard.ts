// A condition that is always true and lets a long query be ended: each engine provides an SQL function `within_time`
// that throws when the query's time is up. It is called for one row in 64, because a call costs as much as examining
// several rows. It must be the first condition of each query that `Registry.search` runs.
import { type RawBuilder, type SqlBool, sql } from 'kysely';

export function withinTime(table: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`((${sql.ref(`${table}.key`)} & 63) <> 0 OR within_time() = 1)`;
}
