// Which sensors lie in one shard: a unit of sealing is a transaction, and where it touches one shard it is visible there when its COMMIT
// is answered. Over several it would be committed in two phases, the second of which may come later on a worker that was cut off.
import type { PostgresDatabase } from '../database/postgres-database.ts';

/** The sensors in groups, each of one shard. One group where the tables are not distributed. */
export async function groupByShard(database: PostgresDatabase, sensors: readonly number[]): Promise<number[][]> {
  if (sensors.length === 0) return [];
  if (database.distribution.value < 2) return [[...sensors]];
  const rows = await database.query<{ sensor: number; shard: number }>(shardsSql, [sensors]);
  const groups = Map.groupBy(rows, ({ shard }) => shard);
  return [...groups.values()].map((group) => group.map(({ sensor }) => sensor));
}

const shardsSql = `SELECT sensor, get_shard_id_for_distribution_column('series', sensor) AS shard
  FROM unnest(CAST($1 AS bigint[])) AS one(sensor)`;

/** Statements that wait for a connection together, or for each other on one. */
const atOnce = 32;

/** Runs work for each item, some at once; the results are in their order. */
export async function forEach<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    results.push(...(await Promise.all(items.slice(from, from + atOnce).map(work))));
  return results;
}
