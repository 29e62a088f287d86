// Changes chunks of one sensor for removals, corrections and retention, inside the caller's transaction, which has locked the
// sensor (chunk-table.ts): a chunk is replaced by one with what is left, or goes as a whole where nothing is. Chunks of a sensor
// stay in order and never overlap.
import type { Columns } from '../../../domain/datapoints/columns.ts';
import { CorruptChunk, UnknownVersion } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { chunkVersions, decodeChunk } from '../../shared/codec/chunk-codec.ts';
import { gather } from '../../shared/codec/gathering.ts';
import { cutForChunks } from '../../shared/sealing/chunk-plan.ts';
import { writeChunk } from '../../shared/sealing/written-chunk.ts';
import type { Connection } from '../database/postgres-database.ts';
import { addChunks, type ChunkKey, queryOf, readBytes, removeChunks } from './chunk-table.ts';

/** A chunk without its bytes. */
export interface FoundChunk extends ChunkKey {
  readonly count: number;
}

/** A place between two chunks of a sensor, in their order. */
export type ChunkPlace = Pick<ChunkKey, 'first' | 'last' | 'id'>;

/** In this thread: the version in which every server on the database reads chunks. It only grows. */
export const written = { chunkVersion: chunkVersions.oldest };

export const beforeAll: ChunkPlace = { first: Number.MIN_SAFE_INTEGER, last: Number.MIN_SAFE_INTEGER, id: 0 };

/** The next chunks of a sensor that reach into a range, behind a place, in ascending order. */
export async function nextChunks(
  connection: Connection,
  { sensor, fromMs, toMs }: { readonly sensor: number; readonly fromMs: number; readonly toMs: number },
  { after, limit }: { readonly after: ChunkPlace; readonly limit: number },
): Promise<FoundChunk[]> {
  const parameters = [sensor, fromMs, toMs, after.first, after.last, after.id, limit];
  const { rows } = await connection.query<FoundChunk>(nextSql, parameters);
  return rows.map((row) => ({ ...row, sensor }));
}

/** The last chunk that begins before the range may reach into it. */
const nextSql = `SELECT id, first, last, count FROM chunk WHERE sensor = $1
  AND first >= coalesce((SELECT max(first) FROM chunk WHERE sensor = $1 AND first < $2), $2) AND first <= $3
  AND last >= $2 AND (first, last, id) > ($4, $5, $6) ORDER BY first, last, id LIMIT $7`;

/** The datapoints of a chunk; undefined where it is damaged. @throws UnknownVersion */
export async function decode(connection: Connection, chunk: ChunkKey): Promise<Columns | undefined> {
  const bytes = (await readBytes(queryOf(connection), [chunk], connection.isByShard)).get(chunk.id);
  try {
    return decodeChunk(bytes ?? new Uint8Array(0));
  } catch (error) {
    if (error instanceof CorruptChunk && !(error instanceof UnknownVersion)) return undefined;
    throw error;
  }
}

/**
 * Replaces a chunk. Those of a single time are in order of their ids alone: where others follow it, they get new ids behind
 * the new ones.
 * @returns true where those have new ids.
 */
export async function replace(connection: Connection, chunk: ChunkKey, columns: Columns | undefined): Promise<boolean> {
  const { sensor, last, id } = chunk;
  const slices = columns === undefined ? [] : cutForChunks(columns);
  const chunks = slices.map((slice) => ({ sensor, ...writeChunk(gather([slice]), { version: written.chunkVersion }) }));
  const isBeforeOthers = chunks.at(-1)?.summary.first === last;
  const followers = isBeforeOthers
    ? (await connection.query<ChunkPlace>(followersSql, [sensor, last, id])).rows.map((row) => ({ ...row, sensor }))
    : [];
  await removeChunks(connection, [chunk]);
  await addChunks(connection, chunks);
  for (const follower of followers) {
    await connection.query(copySql, [sensor, last, follower.id]);
    await removeChunks(connection, [follower]);
  }
  return followers.length > 0;
}

const followersSql =
  'SELECT id, first, last FROM chunk WHERE sensor = $1 AND first = $2 AND last = $2 AND id > $3 ORDER BY id';
const copySql = `INSERT INTO chunk (sensor, first, last, count, numbers, min, max, sum, bytes)
  SELECT sensor, first, last, count, numbers, min, max, sum, bytes FROM chunk WHERE sensor = $1 AND first = $2 AND last = $2 AND id = $3`;
