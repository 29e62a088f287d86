// A condition that is always true and lets a long query be ended: each engine provides an SQL function `within_time`
// that throws when the query's time is up (where the engine ends queries by itself, one that gives 1). It is called for one row in 64, because a call costs as much as examining
// several rows. It must be the first condition of each query that `Registry.search` runs.
import { type RawBuilder, type SqlBool, sql } from 'kysely';

/** @param table a table of the query that has a column `key`. */
export function withinTime(table: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`((${sql.ref(`${table}.key`)} & 63) <> 0 OR within_time() = 1)`;
}
