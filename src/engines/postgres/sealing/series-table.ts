// Statements on the table `series` for a unit of sealing: all of its sensors at a time; or, by shard, one after the other, sent together.
import type { SealedLatest } from '../../shared/sealing/sealed-sensor.ts';
import type { Connection } from '../database/postgres-database.ts';
import { toColumns } from '../database/value-column.ts';
import { versionStep } from './chunk-table.ts';

/** Locks the sensors, in the order in which a unit puts them. */
export async function lockSensors(connection: Connection, sensors: readonly number[]): Promise<void> {
  if (!connection.isByShard) {
    await connection.query(lockAllSql, [sensors]);
    return;
  }
  await Promise.all(inOrder(sensors).map((sensor) => connection.query(lockSql, [sensor])));
}

/**
 * Says that the sensors were sealed with a pass, where their versions are those that were planned with.
 * @returns of how many that was so.
 */
export async function putLatest(
  connection: Connection,
  latest: readonly SealedLatest[],
  { pass, versionOf }: { readonly pass: number; readonly versionOf: (sensor: number) => number },
): Promise<number> {
  const rows = latest.map(({ sensor, at, seq, stamped, received, value }) => {
    const { number, text } = toColumns(value);
    return [sensor, versionOf(sensor), at, seq, stamped, received, number, text] as const;
  });
  const ofAll = [pass, versionStep()];
  if (!connection.isByShard) {
    const columns = Array.from({ length: 8 }, (_, n) => rows.map((row) => row[n]));
    return (await connection.query(putAllSql, [...columns, ...ofAll])).count;
  }
  const ordered = rows.toSorted(([a], [b]) => a - b);
  const put = await Promise.all(ordered.map((row) => connection.query(putSql, [...row, ...ofAll])));
  return put.reduce((sum, { count }) => sum + count, 0);
}

function inOrder(sensors: readonly number[]): number[] {
  return sensors.toSorted((a, b) => a - b);
}

/** In the order in which the unit puts them. */
const lockAllSql = 'SELECT FROM series WHERE sensor = ANY(CAST($1 AS bigint[])) ORDER BY sensor FOR UPDATE';
const lockSql = 'SELECT sensor FROM series WHERE sensor = $1 FOR UPDATE';

const columns = '(sensor, version, pass, at, position, stamped, received, number, text)';
/** Only where the version is the one that was planned with. */
const unlessChanged = `ON CONFLICT (sensor) DO UPDATE SET version = excluded.version, pass = excluded.pass, at = excluded.at,
    position = excluded.position, stamped = excluded.stamped, received = excluded.received, number = excluded.number,
    text = excluded.text WHERE old.version = excluded.version - CAST($10 AS bigint) AND old.pass < excluded.pass
  RETURNING sensor`;
const putAllSql = `INSERT INTO series AS old ${columns}
  SELECT sensor, version + CAST($10 AS bigint), CAST($9 AS bigint), at, position, stamped, received, number, text
  FROM unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[]), CAST($3 AS bigint[]), CAST($4 AS bigint[]), CAST($5 AS integer[]),
    CAST($6 AS bigint[]), CAST($7 AS double precision[]), CAST($8 AS text[]))
    AS one(sensor, version, at, position, stamped, received, number, text) ORDER BY sensor
  ${unlessChanged}`;
const putSql = `INSERT INTO series AS old ${columns}
  VALUES ($1, CAST($2 AS bigint) + CAST($10 AS bigint), CAST($9 AS bigint), $3, $4, $5, $6, $7, $8)
  ${unlessChanged}`;
