// What sealing makes of one sensor: its new datapoints put together with the chunks they fall into.
import type { Columns } from '../../../domain/datapoints/columns.ts';
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import { gather, mergeUp, pieceUp } from '../codec/gathering.ts';
import { type ChunkPlacement, type ChunkSpan, cutForChunks, isFull, planPlacement } from './chunk-plan.ts';
import type { WrittenChunk } from './written-chunk.ts';

/** A chunk to be inserted, with the key of its sensor. */
export interface SealedChunk extends WrittenChunk {
  readonly sensor: number;
}

/** The last datapoint of a sensor. */
export interface SealedLatest {
  readonly sensor: number;
  readonly seq: number;
  readonly at: number;
  readonly stamped: number;
  readonly received: number;
  readonly value: StoredValue;
}

/** Number of small chunks before the new datapoints that are considered for merging. */
const placesMax = 100;

/** The chunks of a sensor, as sealing looks at them. */
export interface SealedPlaces {
  /** The key of the sensor. */
  readonly sensor: number;
  /** The spans of chunks that begin at or before a time, in descending order. */
  spans(toMs: number): Iterable<ChunkSpan>;
  /** The number of datapoints in chunks that begin after a time; counting may stop at the size of a chunk. */
  countBehind(ms: number): number;
}

/** Where new datapoints, in order of time, go. */
export function planSensor(fresh: Columns, places: SealedPlaces): ChunkPlacement[] {
  const lastMs = fresh.at[fresh.count - 1] as number;
  return planPlacement(placesFor(places, fresh), fresh, {
    key: places.sensor,
    countBehind: () => places.countBehind(lastMs),
  });
}

/**
 * Puts new datapoints together with the chunks that they replace.
 * @param decode the datapoints of a chunk; undefined where it is damaged and set aside, or no longer exists.
 * @returns the datapoints of each new chunk.
 */
export function* sealSensor(
  fresh: Columns,
  placements: readonly ChunkPlacement[],
  decode: (span: ChunkSpan) => Columns | undefined,
): Generator<Columns> {
  for (const { replaces, from, to, tailMs } of placements) {
    const older: Columns[] = [];
    for (const span of replaces) {
      const columns = decode(span);
      if (columns !== undefined) older.push(columns);
    }
    const pieces = older.map((columns) => pieceUp({ columns, from: 0, to: columns.count }));
    const all = gather([...mergeUp(pieces, { columns: fresh, from, to })]);
    for (const slice of cutForChunks(all, tailMs)) yield gather([slice]);
  }
}

/** The chunks that new datapoints may fall into, and the small ones before them, in ascending order. */
function placesFor(places: Pick<SealedPlaces, 'spans'>, fresh: Columns): ChunkSpan[] {
  const firstMs = fresh.at[0] as number;
  const lastMs = fresh.at[fresh.count - 1] as number;
  const found: ChunkSpan[] = [];
  let before = 0;
  for (const span of places.spans(lastMs)) {
    found.push(span);
    if (span.last >= firstMs) continue;
    before += 1;
    if (isFull(span) || before === placesMax) break;
  }
  return found.reverse();
}
