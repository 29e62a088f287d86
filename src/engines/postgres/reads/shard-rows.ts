// Where the rows of a sensor's chunks come from where servers go by shard (database/distributed-tables.ts): one statement, on the shard of the
// sensor, says with which pass it was sealed last and which chunks there are; another before it, on the coordinator, says which passes
// there are. Both are sent together, and are of two states of the database.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { ChunkSpan } from '../../shared/sealing/chunk-plan.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import {
  asideSql,
  type ChunkBytes,
  type ChunkRow,
  type ChunkRows,
  chunksOf,
  chunksSql,
  down,
  type FetchedRows,
  isInRange,
  namesSql,
  parametersOf,
  type SensorState,
  up,
  type WantedChunks,
} from './chunk-rows.ts';

/** What reads of chunks need of the database. */
export type ChunkDatabase = Pick<PostgresDatabase, 'query' | 'queryBoth' | 'isByShard'>;

type OfShard = Pick<SensorState, 'aside'> & {
  /** The last pass that had datapoints of the sensor. */
  readonly pass: number;
};

interface Passes extends Pick<SensorState, 'names'> {
  /** The number of the newest pass, and how far it seals. */
  readonly newest: number;
  readonly newestUpTo: number;
  /** The same of the last whole one. */
  readonly whole: number;
  readonly wholeUpTo: number;
}

export class ShardRows implements ChunkRows {
  readonly #database: ChunkDatabase;

  constructor(database: ChunkDatabase) {
    this.#database = database;
  }

  async fetch(wanted: WantedChunks, most: number): Promise<FetchedRows> {
    for (let attempt = 1; attempt <= limits.postgresConflictsMax; attempt++) {
      const [[passes], rows] = await this.#database.queryBoth<Passes, OfShard & ChunkRow>(
        [passesSql, [wanted.sensor]],
        [wanted.descending ? downSql : upSql, parametersOf(wanted, most)],
      );
      const [{ pass, aside } = { pass: 0, aside: null }] = rows;
      const sealed = sealedWith(pass, passes as Passes);
      // A pass has begun between the two: how far it seals is known by now.
      if (sealed === undefined) continue;
      return { sealed, aside, names: passes?.names ?? null, rows: chunksOf(rows), version: null };
    }
    throw new Refusal('storage', 'The coordinator of the database is behind its workers.');
  }

  fetchBytes({ sensor }: WantedChunks, spans: readonly ChunkSpan[]): Promise<readonly ChunkBytes[]> {
    return this.#database.query<ChunkBytes>(bytesSql, bytesParametersOf(sensor, spans));
  }

  damaged(damaged: Error): Error {
    return damaged;
  }
}

/**
 * How far a sensor is sealed whose last pass this is: by that pass where it is the one under way, else by the last whole one, which had
 * nothing of the sensor or is that pass. Units of a whole pass are visible before it is whole.
 * @returns undefined where the pass is newer than those that were read before.
 */
function sealedWith(pass: number, { newest, newestUpTo, whole, wholeUpTo }: Passes): number | undefined {
  if (pass <= whole) return wholeUpTo;
  return pass === newest ? newestUpTo : undefined;
}

function bytesParametersOf(sensor: SensorKey, spans: readonly ChunkSpan[]): readonly unknown[] {
  return [sensor, spans.map(({ first }) => first), spans.map(({ id }) => id)];
}

const passesSql = `SELECT coalesce(max(number), 0) AS newest, coalesce(max(up_to), 0) AS "newestUpTo",
    coalesce(max(number) FILTER (WHERE is_whole = 1), 0) AS whole, coalesce(max(up_to) FILTER (WHERE is_whole = 1), 0) AS "wholeUpTo",
    ${namesSql} FROM seal_pass`;
const ofShard = `(SELECT coalesce(max(pass), 0) FROM series WHERE sensor = $1) AS pass, ${asideSql}`;
const upSql = chunksSql(ofShard, isInRange, up);
const downSql = chunksSql(ofShard, isInRange, down);
/** An id is that of one chunk; the key begins with the time. */
const bytesSql = `SELECT id, bytes FROM chunk
  WHERE sensor = $1 AND first = ANY(CAST($2 AS bigint[])) AND id = ANY(CAST($3 AS bigint[]))`;
