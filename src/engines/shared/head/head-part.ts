// The part of the head that one step of a read can need. It is copied to the reader thread, so it is cut as small as
// possible.

import { lowerBound, upperBound } from '../../../base/sorted-numbers.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import type { RangeQuery } from '../../../domain/ports/series.ts';

/** Datapoints of one sensor in the head, in order of time. */
export interface HeadPart extends Columns {
  readonly seqs: Float64Array;
}

/** The fields of a query that decide which part is needed. */
export type NeededPart = Pick<RangeQuery, 'sensor' | 'fromMs' | 'toMs' | 'after' | 'descending' | 'limit'>;

/** A query for all datapoints of a range. */
export function wholeRange({ sensor, fromMs, toMs }: Pick<RangeQuery, 'sensor' | 'fromMs' | 'toMs'>): NeededPart {
  return { sensor, fromMs, toMs, descending: false, limit: Number.POSITIVE_INFINITY };
}

/** Greater than any time that JavaScript dates can have. */
export const timeEnd = 8.64e15 + 1;

/** The first and last time that a step may need. */
export interface TimeSpan {
  readonly firstMs: number;
  readonly lastMs: number;
}

export function spanOf({ fromMs = -timeEnd, toMs = timeEnd, after, descending }: NeededPart): TimeSpan {
  if (after === undefined) return { firstMs: fromMs, lastMs: toMs };
  return descending
    ? { firstMs: fromMs, lastMs: Math.min(toMs, after.order) }
    : { firstMs: Math.max(fromMs, after.order), lastMs: toMs };
}

export function isWithin(one: TimeSpan, other: TimeSpan): boolean {
  return one.firstMs >= other.firstMs && one.lastMs <= other.lastMs;
}

/**
 * Cuts a part down to the datapoints that the next step may return: at most `limit` behind its start position, and one
 * more, which tells that there is a next step. Descending, datapoints of one time are all taken or none, because the
 * next position counts them.
 */
export function headPartFor(query: NeededPart, part: HeadPart): HeadPart {
  const { from, to } = query.descending ? spanDown(query, part) : spanUp(query, part);
  if (from === 0 && to === part.count) return part;
  const texts = new Map<number, string>();
  for (const [index, text] of part.texts ?? []) if (index >= from && index < to) texts.set(index - from, text);
  return {
    count: to - from,
    at: part.at.slice(from, to),
    received: part.received.slice(from, to),
    stamped: part.stamped.slice(from, to),
    values: part.values.slice(from, to),
    seqs: part.seqs.slice(from, to),
    texts: texts.size === 0 ? undefined : texts,
  };
}

function spanUp({ fromMs, toMs, after, limit }: NeededPart, { at, count }: HeadPart) {
  const firstMs = Math.max(fromMs ?? Number.NEGATIVE_INFINITY, after?.order ?? Number.NEGATIVE_INFINITY);
  const from = lowerBound(at, firstMs, 0, count);
  const end = upperBound(at, toMs ?? Number.POSITIVE_INFINITY, from, count);
  return { from, to: Math.min(end, from + limit + (after?.index ?? 0) + 1) };
}

function spanDown({ fromMs, toMs, after, limit }: NeededPart, { at, count }: HeadPart) {
  const lastMs = Math.min(toMs ?? Number.POSITIVE_INFINITY, after?.order ?? Number.POSITIVE_INFINITY);
  const to = upperBound(at, lastMs, 0, count);
  const start = lowerBound(at, fromMs ?? Number.NEGATIVE_INFINITY, 0, to);
  const passed = after === undefined ? to : lowerBound(at, after.order, start, to);
  const from = Math.max(start, passed - limit - 1);
  return { from: from < to ? lowerBound(at, at[from] as number, start, to) : from, to };
}
