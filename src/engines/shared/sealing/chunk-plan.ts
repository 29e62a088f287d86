// Decides where new datapoints of a sensor go among its chunks: into those whose span they fall in, and into new ones
// between and behind. Pure. Keeps that chunks of a sensor do not overlap, and that small ones are put together: seven of
// one size or less and what comes behind them become one, so that a datapoint is written a few times at most, however
// slowly its sensor sends; and that the end of a series, where datapoints that come a little late fall, is a chunk of its own.

import { lowerBound, upperBound } from '../../../base/sorted-numbers.ts';
import { limits } from '../../../config/limits.ts';
import type { Columns, Slice } from '../../../domain/datapoints/columns.ts';

/** A chunk as it lies in the table, without its bytes. */
export interface ChunkSpan {
  readonly id: number;
  /** Times of its first and last datapoint, milliseconds since 1970 UTC. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
  /** Of its bytes. */
  readonly size: number;
}

/** New datapoints from one index up to another, and the chunks they are put together with, first to last. */
export interface ChunkPlacement {
  readonly replaces: readonly ChunkSpan[];
  readonly from: number;
  readonly to: number;
  /** From this time on there may be more to come: it is kept apart from what lies before. */
  readonly tailMs?: number | undefined;
}

/** Bytes that a character takes in a chunk at most. */
const bytesPerChar = 3;
/** Small chunks of one size before they become one. */
const smallOnes = 7;
const sizeStep = 8;
/** The end of a series is cut off where the rest is as large, so that it is this rest no more that is written anew. */
const tailShare = 2;

/** True when a chunk is large enough to be left as it is. One of long texts is so with few datapoints. */
export function isFull({ count, size }: Pick<ChunkSpan, 'count' | 'size'>): boolean {
  return count >= limits.chunkDatapointsWanted / 2 || size >= limits.chunkBytesFull;
}

/**
 * Plans where sorted new datapoints go.
 * @param chunks those of the sensor that the new datapoints may fall into, and the small ones before; sorted.
 * @param countBehind datapoints in the chunks that begin after the new datapoints; asked for where it matters, and no
 *   more of them need be counted than a chunk holds.
 */
export function planPlacement(
  chunks: readonly ChunkSpan[],
  fresh: Columns,
  countBehind: () => number,
): ChunkPlacement[] {
  const placements: ChunkPlacement[] = [];
  let index = -1;
  /** Chunks up to here lie before what has been placed, and may not be put together with what comes now. */
  let floor = -1;
  for (let from = 0; from < fresh.count; ) {
    const ms = fresh.at[from] as number;
    while (index + 1 < chunks.length && (chunks[index + 1] as ChunkSpan).first <= ms) index += 1;
    const into = chunks[index];
    const next = chunks[index + 1];
    const nextFirst = next?.first ?? Number.POSITIVE_INFINITY;
    // What follows in the gap behind a chunk goes with what fell into it.
    const to = lowerBound(fresh.at, nextFirst, from, fresh.count);
    if (into !== undefined && ms <= into.last) {
      const behind = chunks.slice(index + 1).reduce((sum, { count }) => sum + count, 0);
      const isAtEnd = (behind + countBehind()) * tailShare <= into.count;
      // What lies before late datapoints is put together as well, because each of them may be late.
      const before = !isFull(into) ? chunks.slice(floor + 1, index) : [];
      const replaces = [...smallBefore(before, into.count + to - from), into];
      placements.push({ replaces, from, to, tailMs: isAtEnd ? ms : undefined });
    } else {
      placements.push({ replaces: smallBefore(chunks.slice(floor + 1, index + 1), to - from), from, to });
    }
    floor = index;
    from = to;
  }
  return placements;
}

/** Which of the chunks, from the last back, are put together with so many datapoints behind them. */
function smallBefore(chunks: readonly ChunkSpan[], fresh: number): ChunkSpan[] {
  let count = fresh;
  let taken = 0;
  for (let seen = 1; seen <= chunks.length; seen++) {
    const chunk = chunks[chunks.length - seen] as ChunkSpan;
    if (isFull(chunk)) break;
    const isLittle = taken === seen - 1 && chunk.count * smallOnes <= count;
    const untaken = chunks.slice(chunks.length - seen, chunks.length - taken);
    const size = sizeOf(chunk.count);
    const areMany =
      untaken.every((one) => sizeOf(one.count) <= size) &&
      untaken.filter((one) => sizeOf(one.count) === size).length >= smallOnes;
    if (!isLittle && !areMany) continue;
    taken = seen;
    count = fresh + chunks.slice(chunks.length - seen).reduce((sum, one) => sum + one.count, 0);
  }
  return chunks.slice(chunks.length - taken);
}

function sizeOf(count: number): number {
  return Math.floor(Math.log2(count) / Math.log2(sizeStep));
}

/** Cuts sorted datapoints into pieces for one chunk each; what lies at or behind `tailMs` apart where it is not most of them. */
export function cutForChunks(columns: Columns, tailMs = Number.POSITIVE_INFINITY): Slice[] {
  const tail = lowerBound(columns.at, tailMs, 0, columns.count);
  const isApart = (columns.count - tail) * tailShare <= columns.count;
  if (!isApart) return cutEqually(columns, 0, columns.count);
  return [...cutEqually(columns, 0, tail), ...cutEqually(columns, tail, columns.count)];
}

/**
 * Cuts into pieces about equally large. Between two of one time only where there
 * are more of it than a chunk holds; then each of its pieces begins with that time.
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

/** Of datapoints that are too many because of equal times: up to where the time last changes before, or as many as may be. */
function cutTogether(at: Float64Array, from: number, to: number): number {
  const start = lowerBound(at, at[to - 1] as number, from, to);
  return start > from ? start : Math.min(to, from + limits.chunkDatapointsMax);
}

/** Where texts are too long together: up to where the time last changes before, or, of one time, as many as a chunk holds. */
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
