// By what chunks of a database are compared with those of the other side of a move.
import { type ChunkMark, type SensorDigest, tailBytes } from '../../shared/move/moved-data.ts';
import type { Query } from '../log/log-reader.ts';

const marksAtOnce = 5_000;
/** Keys of sensors whose digests are asked for at a time. */
const sensorsAtOnce = 200;

export function marksAfter(query: Query, id: number): Promise<ChunkMark[]> {
  return query<ChunkMark>(marksSql, [id]);
}

export async function* digestsOf(query: Query): AsyncIterable<readonly SensorDigest[]> {
  for (let after = 0; ; ) {
    const found = await query<SensorDigest>(digestsSql, [after, sensorsAtOnce]);
    const last = found.at(-1);
    if (last === undefined) return;
    yield found;
    after = last.sensor;
  }
}

const marksSql = `SELECT id, sensor, first, last, count, octet_length(bytes) AS size,
    encode(substr(bytes, greatest(1, octet_length(bytes) - ${tailBytes - 1})), 'hex') AS tail
  FROM chunk WHERE id > $1 ORDER BY id LIMIT ${marksAtOnce}`;
const digestsSql = `SELECT sensor, CAST(sum(count) AS bigint) AS count,
    md5(string_agg(md5(bytes), '' ORDER BY first, last, id)) AS digest
  FROM chunk WHERE sensor IN (SELECT DISTINCT sensor FROM chunk WHERE sensor > $1 ORDER BY sensor LIMIT $2)
  GROUP BY sensor ORDER BY sensor`;
