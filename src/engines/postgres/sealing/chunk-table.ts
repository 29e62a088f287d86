// Statements on the table `chunk`, many rows at a time, or by shard (distributed-tables.ts) those of a sensor, inside the caller's
// transaction. Whoever changes chunks of a sensor changes the version of its row in `series` first, so that changes of one sensor come one
// after the other, a pass of sealing that was planned before is told, and a read that takes chunks from a standby knows whether they are the
// present ones.
import type { ChunkSpan } from '../../shared/sealing/chunk-plan.ts';
import type { SealedChunk } from '../../shared/sealing/sealed-sensor.ts';
import type { Connection } from '../database/postgres-database.ts';
import type { Query } from '../log/log-reader.ts';
import { forEach } from './shards.ts';

/** A chunk by its key, which an index has. */
export interface ChunkKey extends Pick<ChunkSpan, 'id' | 'first' | 'last'> {
  readonly sensor: number;
}

/** The statements of a transaction, for what only reads rows. */
export function queryOf(connection: Connection): Query {
  return async <Row>(sql: string, parameters: readonly unknown[]) =>
    (await connection.query<Row>(sql, parameters)).rows;
}

/** Versions stay whole numbers of JavaScript (2^53) for some 200 million changes of a sensor. */
const versionStepMax = 2 ** 26;

/**
 * By how much a change of chunks raises the version of their sensor. Random, so that two copies of the database that were changed
 * apart from each other do not come to the same version: who finds the same one has the same chunks (chunk-rows.ts).
 */
export function versionStep(): number {
  return 1 + Math.floor(Math.random() * versionStepMax);
}

/** @returns the version from then on, and that of before; undefined where the sensor has no chunks, and never had any. */
export async function lockSeries(
  connection: Connection,
  sensor: number,
): Promise<{ readonly version: number; readonly former: number } | undefined> {
  const sql = `UPDATE series SET version = version + CAST($2 AS bigint) WHERE sensor = $1
    RETURNING version, version - CAST($2 AS bigint) AS former`;
  return (await connection.query<{ version: number; former: number }>(sql, [sensor, versionStep()])).rows[0];
}

/** The bytes of all go as one parameter, because as an array of texts they would be twice as many. */
export async function addChunks(connection: Connection, chunks: readonly SealedChunk[]): Promise<void> {
  if (chunks.length === 0) return;
  if (connection.isByShard) {
    await Promise.all(chunks.map((chunk) => connection.query(addOneSql, parametersOfChunk(chunk))));
    return;
  }
  const offsets: number[] = [];
  let offset = 1;
  for (const { bytes } of chunks) {
    offsets.push(offset);
    offset += bytes.length;
  }
  const column = <Value>(of: (chunk: SealedChunk) => Value) => chunks.map(of);
  // Without numbers there are neither extremes nor a sum.
  const ofNumbers = (name: 'min' | 'max' | 'sum') =>
    column(({ summary }) => (summary.numbers > 0 ? summary[name] : null));
  await connection.query(addSql, [
    column(({ sensor }) => sensor),
    column(({ summary }) => summary.first),
    column(({ summary }) => summary.last),
    column(({ summary }) => summary.count),
    column(({ summary }) => summary.numbers),
    ofNumbers('min'),
    ofNumbers('max'),
    ofNumbers('sum'),
    offsets,
    column(({ bytes }) => bytes.length),
    Buffer.concat(chunks.map(({ bytes }) => bytes)),
  ]);
}

function parametersOfChunk({ sensor, summary, bytes }: SealedChunk): unknown[] {
  const { first, last, count, numbers, min, max, sum } = summary;
  const ofNumbers = numbers > 0 ? [min, max, sum] : [null, null, null];
  return [sensor, first, last, count, numbers, ...ofNumbers, bytes];
}

const addOneSql = `INSERT INTO chunk (sensor, first, last, count, numbers, min, max, sum, bytes)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

const arrays = (types: readonly string[]) => types.map((type, n) => `CAST($${n + 1} AS ${type}[])`).join(', ');

const addSql = `INSERT INTO chunk (sensor, first, last, count, numbers, min, max, sum, bytes)
  SELECT sensor, first, last, count, numbers, min, max, sum, substr(CAST($11 AS bytea), start, size)
  FROM unnest(${arrays(['bigint', 'bigint', 'bigint', 'integer', 'integer', 'double precision', 'double precision', 'double precision', 'integer', 'integer'])})
    WITH ORDINALITY AS one(sensor, first, last, count, numbers, min, max, sum, start, size, n) ORDER BY n`;

const keysSql = `unnest(${arrays(['bigint', 'bigint', 'bigint', 'bigint'])}) AS one(sensor, first, last, id)`;
const isKey = 'chunk.sensor = one.sensor AND chunk.first = one.first AND chunk.last = one.last AND chunk.id = one.id';

function parametersOf(keys: readonly ChunkKey[]): unknown[] {
  return (['sensor', 'first', 'last', 'id'] as const).map((name) => keys.map((key) => key[name]));
}

/** A condition on chunks of one sensor, with the parameters of `bySensor`: an id is that of one chunk. */
const ofOneSensor = 'sensor = $1 AND first = ANY(CAST($2 AS bigint[])) AND id = ANY(CAST($3 AS bigint[]))';
const removeOfOneSql = `DELETE FROM chunk WHERE ${ofOneSensor}`;
const setAsideOfOneSql = `INSERT INTO damaged_chunk (sensor, first, last, count, bytes)
  SELECT sensor, first, last, count, bytes FROM chunk WHERE ${ofOneSensor}`;
const bytesOfOneSql = `SELECT id, bytes FROM chunk WHERE ${ofOneSensor}`;

/** Parameters for a statement on the chunks of each sensor. */
function bySensor(keys: readonly ChunkKey[]): unknown[][] {
  return [...Map.groupBy(keys, ({ sensor }) => sensor)].map(([sensor, some]) => [
    sensor,
    some.map(({ first }) => first),
    some.map(({ id }) => id),
  ]);
}

/** @returns how many of them there were. */
export async function removeChunks(connection: Connection, keys: readonly ChunkKey[]): Promise<number> {
  if (keys.length === 0) return 0;
  if (connection.isByShard) {
    const gone = await Promise.all(bySensor(keys).map((some) => connection.query(removeOfOneSql, some)));
    return gone.reduce((sum, { count }) => sum + count, 0);
  }
  const sql = `DELETE FROM chunk USING ${keysSql} WHERE ${isKey}`;
  return (await connection.query(sql, parametersOf(keys))).count;
}

/** Keeps chunks whose bytes are damaged aside, for who may be able to read them. */
export async function setAside(connection: Connection, keys: readonly ChunkKey[]): Promise<void> {
  if (keys.length === 0) return;
  if (connection.isByShard) {
    await Promise.all(bySensor(keys).map((some) => connection.query(setAsideOfOneSql, some)));
    return;
  }
  await connection.query(
    `INSERT INTO damaged_chunk (sensor, first, last, count, bytes)
      SELECT chunk.sensor, chunk.first, chunk.last, chunk.count, chunk.bytes FROM chunk JOIN ${keysSql} ON ${isKey}`,
    parametersOf(keys),
  );
}

/** The bytes of chunks, by their ids; those that are gone are left out. */
export async function readBytes(
  query: Query,
  keys: readonly ChunkKey[],
  isByShard: boolean,
): Promise<Map<number, Buffer>> {
  if (keys.length === 0) return new Map();
  if (isByShard) {
    const found = await forEach(bySensor(keys), (some) => query<{ id: number; bytes: Buffer }>(bytesOfOneSql, some));
    return new Map(found.flat().map(({ id, bytes }) => [id, bytes]));
  }
  const sql = `SELECT chunk.id, chunk.bytes FROM ${keysSql} JOIN chunk ON ${isKey}`;
  const rows = await query<{ id: number; bytes: Buffer }>(sql, parametersOf(keys));
  return new Map(rows.map(({ id, bytes }) => [id, bytes]));
}

/** Credits the users who are charged for the device with what was deleted ($1 datapoints of the sensor $2), in proportion. */
export const creditSql = `UPDATE push_charge SET
    bytes = bytes - CAST(trunc(bytes * gone.share) AS bigint),
    datapoints = datapoints - CAST(trunc(datapoints * gone.share) AS bigint)
  FROM (SELECT sensor.device, least(1.0, CAST($1 AS double precision) / greatest(1, (SELECT sum(datapoints)
    FROM push_charge WHERE device = sensor.device))) AS share FROM sensor WHERE sensor.key = $2) AS gone
  WHERE push_charge.device = gone.device`;
