// Decides where a sensor's new datapoints are stored: in the chunks whose span they fall in, or in new chunks between
// and after them. Pure. Chunks of a sensor never overlap. Small chunks are merged: seven to eleven of similar size become
// one with what follows, so that each datapoint is rewritten only a few times, however slowly its sensor sends. How many
// differs by sensor and time, so that no pass merges those of all sensors: commits wait for a pass that is long (decision 65).
// The end of a series is a chunk of its own, because slightly late datapoints fall there.

import { lowerBound, upperBound } from '../../../base/sorted-numbers.ts';
import { limits } from '../../../config/limits.ts';
import type { Columns, Slice } from '../../../domain/datapoints/columns.ts';

/** A row of the table `chunk` without its bytes. */
export interface ChunkSpan {
  readonly id: number;
  /** Times of the first and the last datapoint, in milliseconds since 1970 UTC. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
  /** Size of its bytes. */
  readonly size: number;
}

/** New datapoints from one index to another, and the chunks they are merged with, in ascending order. */
export interface ChunkPlacement {
  readonly replaces: readonly ChunkSpan[];
  readonly from: number;
  readonly to: number;
  /** Datapoints from this time on go into a chunk of their own, because more may be added to it. */
  readonly tailMs?: number | undefined;
}

/** Bytes that a character takes in a chunk at most. */
const bytesPerChar = 3;
/** Least number of small chunks of similar size that are merged, and how many numbers from there on are in use. */
const smallOnes = 7;
const moreOnes = 5;
const sizeStep = 8;
/** The end is cut off where the rest is at least as large, so that the rest is not rewritten again. */
const tailShare = 2;

/** True when a chunk is large enough to be left alone; with long texts, a few datapoints are enough. */
export function isFull({ count, size }: Pick<ChunkSpan, 'count' | 'size'>): boolean {
  return count >= limits.chunkDatapointsWanted / 2 || size >= limits.chunkBytesFull;
}

/** The sensor whose datapoints are placed. */
export interface PlacedSensor {
  /** Its key. */
  readonly key: number;
  /**
   * The number of datapoints in chunks that begin after the new ones; called only where it matters, and may stop counting at
   * the size of a chunk.
   */
  readonly countBehind: () => number;
}

/**
 * Plans the placement of sorted new datapoints.
 * @param chunks the sensor's chunks that they may fall into, and the small ones before; sorted.
 */
export function planPlacement(
  chunks: readonly ChunkSpan[],
  fresh: Columns,
  { key, countBehind }: PlacedSensor,
): ChunkPlacement[] {
  const placements: ChunkPlacement[] = [];
  let index = -1;
  /** Chunks up to this index precede an earlier placement, and must not be merged with the next one. */
  let floor = -1;
  for (let from = 0; from < fresh.count; ) {
    const ms = fresh.at[from] as number;
    while (index + 1 < chunks.length && (chunks[index + 1] as ChunkSpan).first <= ms) index += 1;
    const into = chunks[index];
    const next = chunks[index + 1];
    const nextFirst = next?.first ?? Number.POSITIVE_INFINITY;
    // Up to the next chunk: new datapoints in the gap behind a chunk are written together with those inside its span.
    const to = lowerBound(fresh.at, nextFirst, from, fresh.count);
    if (into !== undefined && ms <= into.last) {
      const behind = chunks.slice(index + 1).reduce((sum, { count }) => sum + count, 0);
      const isAtEnd = (behind + countBehind()) * tailShare <= into.count;
      // Late datapoints are merged with the small chunks before them too, because all datapoints may be late.
      const before = !isFull(into) ? chunks.slice(floor + 1, index) : [];
      const replaces = [...smallBefore(before, into.count + to - from, key), into];
      placements.push({ replaces, from, to, tailMs: isAtEnd ? ms : undefined });
    } else {
      placements.push({ replaces: smallBefore(chunks.slice(floor + 1, index + 1), to - from, key), from, to });
    }
    floor = index;
    from = to;
  }
  return placements;
}

/** The chunks, from the last backwards, that are merged with `fresh` datapoints after them. */
function smallBefore(chunks: readonly ChunkSpan[], fresh: number, key: number): ChunkSpan[] {
  let count = fresh;
  let taken = 0;
  for (let seen = 1; seen <= chunks.length; seen++) {
    const chunk = chunks[chunks.length - seen] as ChunkSpan;
    if (isFull(chunk)) break;
    const isLittle = taken === seen - 1 && chunk.count * smallOnes <= count;
    const untaken = chunks.slice(chunks.length - seen, chunks.length - taken);
    const size = sizeOf(chunk.count);
    const areMany =
      untaken.length >= smallOnes &&
      untaken.every((one) => sizeOf(one.count) <= size) &&
      untaken.filter((one) => sizeOf(one.count) === size).length >=
        onesOf(key, oldestOf(chunks, { from: chunks.length - seen, size }));
    if (!isLittle && !areMany) continue;
    taken = seen;
    count = fresh + chunks.slice(chunks.length - seen).reduce((sum, one) => sum + one.count, 0);
  }
  return chunks.slice(chunks.length - taken);
}

/** The first chunk of those before and at `from` that would be merged together. */
function oldestOf(
  chunks: readonly ChunkSpan[],
  { from, size }: { readonly from: number; readonly size: number },
): ChunkSpan {
  let oldest = chunks[from] as ChunkSpan;
  for (let index = from - 1; index >= 0; index--) {
    const chunk = chunks[index] as ChunkSpan;
    if (isFull(chunk) || sizeOf(chunk.count) > size) break;
    oldest = chunk;
  }
  return oldest;
}

/**
 * How many of similar size are merged. By sensor and time: sensors that send as much would otherwise have eight passes'
 * datapoints rewritten in one, all in the same, and whatever has once put them in step would leave them so.
 */
function onesOf(key: number, { first }: ChunkSpan): number {
  const mixed = Math.imul(Math.imul(key ^ (key >>> 15), 0x2c1b3c6d) ^ (first / 1000), 0x297a2d39);
  return smallOnes + (((mixed ^ (mixed >>> 16)) >>> 0) % moreOnes);
}

function sizeOf(count: number): number {
  return Math.floor(Math.log2(count) / Math.log2(sizeStep));
}

/**
 * Cuts sorted datapoints into pieces of one chunk each. Those from `tailMs` on get a piece of their own where they are
 * not the majority.
 */
export function cutForChunks(columns: Columns, tailMs = Number.POSITIVE_INFINITY): Slice[] {
  const tail = lowerBound(columns.at, tailMs, 0, columns.count);
  const isApart = (columns.count - tail) * tailShare <= columns.count;
  if (!isApart) return cutEqually(columns, 0, columns.count);
  return [...cutEqually(columns, 0, tail), ...cutEqually(columns, tail, columns.count)];
}

/**
 * Cuts into pieces of about equal size. Datapoints of one time are separated only where a chunk cannot hold them; each
 * of those pieces then begins with that time.
 */
function cutEqually(columns: Columns, start: number, end: number): Slice[] {
  const { at } = columns;
  const slices: Slice[] = [];
  for (let from = start; from < end; ) {
    const left = end - from;
    const wanted = from + Math.ceil(left / Math.ceil(left / limits.chunkDatapointsWanted));
    let to = upperBound(at, at[wanted - 1] as number, wanted - 1, end);
    if (to - from > limits.chunkDatapointsWanted) to = cutTogether(at, from, to);
    to = cutByTexts(columns, from, to);
    slices.push({ columns, from, to });
    from = to;
  }
  return slices;
}

/**
 * Where to cut too many datapoints: at the last change of time before the bound, or at the bound where all have one
 * time.
 */
function cutTogether(at: Float64Array, from: number, to: number): number {
  const start = lowerBound(at, at[to - 1] as number, from, to);
  return start > from ? start : Math.min(to, from + limits.chunkDatapointsMax);
}

/**
 * Where to cut when texts are too long: at the last change of time before the bound, or, within one time, where a chunk
 * is full.
 */
function cutByTexts({ at, texts }: Columns, from: number, to: number): number {
  if (texts === undefined) return to;
  const charsMax = limits.chunkTextBytesMax / bytesPerChar;
  let chars = 0;
  let start = from;
  for (let index = from; index < to; index++) {
    if (at[index] !== at[start]) start = index;
    chars += texts.get(index)?.length ?? 0;
    if (chars > limits.chunkTextCharsWanted && start > from) return start;
    if (chars > charsMax && index > from) return index;
  }
  return to;
}
