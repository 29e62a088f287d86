// The chunks into which new datapoints of many sensors may go, read by one statement; or, by shard, by one for each sensor.
import { limits } from '../../../config/limits.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import { type ChunkSpan, isFull } from '../../shared/sealing/chunk-plan.ts';
import type { SealedPlaces } from '../../shared/sealing/sealed-sensor.ts';
import type { Query } from '../log/log-reader.ts';
import { forEach } from './shards.ts';

/** The chunks of a sensor when the pass looked at them. */
export interface PlacesOfSensor extends SealedPlaces {
  readonly version: number;
}

interface OwnRow extends ChunkSpan {
  readonly version: number;
  readonly behind: number;
}

interface Row extends OwnRow {
  readonly sensor: number;
}

/** Chunks that are read of each sensor: usually the few small ones at its end are enough. */
const spansUsual = 16;

export async function readPlaces(
  query: Query,
  fresh: ReadonlyMap<number, Columns>,
  isByShard: boolean,
): Promise<Map<number, PlacesOfSensor>> {
  const places = new Map<number, PlacesOfSensor>();
  let sensors = [...fresh.keys()];
  for (let most = spansUsual; sensors.length > 0; most *= spansUsual) {
    const lasts = sensors.map((sensor) => lastOf(fresh.get(sensor) as Columns));
    const found = new Map<number, OwnRow[]>(sensors.map((sensor) => [sensor, []]));
    if (isByShard) {
      await forEach([...sensors.entries()], async ([n, sensor]) =>
        found.set(sensor, await query<OwnRow>(placesOfOneSql, [sensor, lasts[n], most])),
      );
    } else for (const row of await query<Row>(placesSql, [sensors, lasts, most])) found.get(row.sensor)?.push(row);
    const left: number[] = [];
    for (const [sensor, rows] of found) {
      const spans = rows.filter(({ id }) => id !== null);
      if (spans.length === most && !isEnough(spans, fresh.get(sensor) as Columns)) left.push(sensor);
      const [{ version, behind } = { version: 0, behind: 0 }] = rows;
      places.set(sensor, { sensor, version, spans: () => spans, countBehind: () => behind });
    }
    sensors = left;
  }
  return places;
}

function lastOf({ at, count }: Columns): number {
  return at[count - 1] as number;
}

/** Whether earlier chunks do not matter: one before the new datapoints is full. */
function isEnough(spans: readonly ChunkSpan[], fresh: Columns): boolean {
  return spans.some((span) => span.last < (fresh.at[0] as number) && isFull(span));
}

const placesSql = `SELECT one.sensor, coalesce(series.version, 0) AS version, place.*,
    (SELECT coalesce(sum(part.count), 0) FROM (SELECT count FROM chunk WHERE sensor = one.sensor AND first > one.last
      ORDER BY first LIMIT ${Math.ceil(limits.chunkDatapointsWanted / 256)}) AS part) AS behind
  FROM unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[])) AS one(sensor, last)
  LEFT JOIN series ON series.sensor = one.sensor
  LEFT JOIN LATERAL (SELECT id, first, last, count, octet_length(bytes) AS size FROM chunk
    WHERE chunk.sensor = one.sensor AND first <= one.last ORDER BY first DESC, chunk.last DESC, id DESC LIMIT $3) AS place ON true
  ORDER BY one.sensor, place.first DESC, place.last DESC, place.id DESC`;

const placesOfOneSql = `SELECT place.*, coalesce((SELECT version FROM series WHERE sensor = $1), 0) AS version,
    (SELECT coalesce(sum(part.count), 0) FROM (SELECT count FROM chunk WHERE sensor = $1 AND first > $2
      ORDER BY first LIMIT ${Math.ceil(limits.chunkDatapointsWanted / 256)}) AS part) AS behind
  FROM (SELECT 1) AS one LEFT JOIN (SELECT id, first, last, count, octet_length(bytes) AS size FROM chunk
    WHERE sensor = $1 AND first <= $2 ORDER BY first DESC, last DESC, id DESC LIMIT $3) AS place ON true
  ORDER BY place.first DESC, place.last DESC, place.id DESC`;
