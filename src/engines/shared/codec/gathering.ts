// Joins and merges slices of columns, ascending or descending. Sealing builds its chunks with it, and reads their
// steps.
import { lowerBound, upperBound } from '../../../base/sorted-numbers.ts';
import { type Columns, makeColumns, type Slice } from '../../../domain/datapoints/columns.ts';

/**
 * The datapoints of all slices, one slice after the other; `reversed` reverses the whole. `isCopy` copies always;
 * otherwise a slice that spans all of its columns may be returned as they are.
 */
export function gather(
  slices: readonly Slice[],
  { reversed = false, isCopy = false }: { readonly reversed?: boolean; readonly isCopy?: boolean } = {},
): Columns {
  let count = 0;
  for (const { from, to } of slices) count += to - from;
  const only = slices[0];
  if (!isCopy && !reversed && slices.length === 1 && only?.from === 0 && only.to === only.columns.count)
    return only.columns;
  const gathered = makeColumns(count);
  const isFull = slices.every(({ columns }) => columns.received.length === columns.count);
  const texts = new Map<number, string>();
  let at = 0;
  for (const slice of slices) {
    copy(slice, gathered, at);
    copyTexts(slice, texts, reversed ? (index) => at + slice.to - 1 - index : (index) => at + index - slice.from);
    const size = slice.to - slice.from;
    if (reversed) for (const column of numberColumns(gathered)) column.subarray(at, at + size).reverse();
    at += size;
  }
  const rest = isFull ? {} : { received: new Float64Array(0), stamped: new Uint8Array(0) };
  const seqs = gatherSeqs(slices, { count, reversed });
  return { ...gathered, ...rest, texts: texts.size === 0 ? undefined : texts, ...(seqs && { seqs }) };
}

function gatherSeqs(
  slices: readonly Slice[],
  { count, reversed }: { readonly count: number; readonly reversed: boolean },
): Float64Array | undefined {
  if (slices.every(({ columns }) => columns.seqs === undefined)) return undefined;
  const seqs = new Float64Array(count);
  let at = 0;
  for (const { columns, from, to } of slices) {
    const some = columns.seqs?.slice(from, to);
    if (some !== undefined) seqs.set(reversed ? some.reverse() : some, at);
    at += to - from;
  }
  return seqs;
}

function copy({ columns, from, to }: Slice, into: Omit<Columns, 'texts'>, at: number): void {
  into.at.set(columns.at.subarray(from, to), at);
  into.values.set(columns.values.subarray(from, to), at);
  into.received.set(columns.received.subarray(from, to), at);
  into.stamped.set(columns.stamped.subarray(from, to), at);
}

function copyTexts({ columns, from, to }: Slice, into: Map<number, string>, indexOf: (index: number) => number): void {
  if (columns.texts === undefined) return;
  if (columns.texts.size <= to - from) {
    for (const [index, text] of columns.texts) if (index >= from && index < to) into.set(indexOf(index), text);
    return;
  }
  for (let index = from; index < to; index++) {
    const text = columns.texts.get(index);
    if (text !== undefined) into.set(indexOf(index), text);
  }
}

function numberColumns({ at, received, stamped, values }: Omit<Columns, 'texts'>) {
  return [at, received, stamped, values];
}

/** A slice that is decoded only when it is needed. */
export interface Piece {
  /** No datapoint of it comes before this time, in the direction of the merge. */
  readonly edgeMs: number;
  /** Undefined: nothing from here on is wanted. */
  open(): Slice | undefined;
}

/** A piece that is decoded already. */
export function pieceUp(slice: Slice): Piece {
  return { edgeMs: slice.columns.at[slice.from] as number, open: () => slice };
}

/**
 * Merges two sorted series by (time, arrival), in which `older` arrived first.
 * @param older pieces in ascending order.
 */
export function* mergeUp(older: Iterable<Piece>, newer: Slice): Generator<Slice> {
  const { columns, to: end } = newer;
  let next = newer.from;
  for (const { edgeMs, open } of older) {
    const first = lowerBound(columns.at, edgeMs, next, end);
    if (first > next) yield { columns, from: next, to: first };
    next = first;
    const piece = open();
    if (piece === undefined) return;
    let { from } = piece;
    const times = piece.columns.at;
    while (from < piece.to) {
      const newerMs = next < end ? (columns.at[next] as number) : Number.POSITIVE_INFINITY;
      const until = upperBound(times, newerMs, from, piece.to);
      if (until > from) yield { columns: piece.columns, from, to: until };
      from = until;
      if (from === piece.to) break;
      const before = next;
      next = lowerBound(columns.at, times[from] as number, next, end);
      yield { columns, from: before, to: next };
    }
  }
  if (next < end) yield { columns, from: next, to: end };
}

/**
 * The same in descending order: the last piece of `older` comes first, and each returned slice is to be read backwards.
 */
export function* mergeDown(older: Iterable<Piece>, newer: Slice): Generator<Slice> {
  const { columns, from: start } = newer;
  let end = newer.to;
  for (const { edgeMs, open } of older) {
    const behind = lowerBound(columns.at, edgeMs, start, end);
    if (behind < end) yield { columns, from: behind, to: end };
    end = behind;
    const piece = open();
    if (piece === undefined) return;
    let { to } = piece;
    const times = piece.columns.at;
    while (to > piece.from) {
      const first = lowerBound(columns.at, times[to - 1] as number, start, end);
      if (first < end) yield { columns, from: first, to: end };
      end = first;
      const newerMs = start < end ? (columns.at[end - 1] as number) : Number.NEGATIVE_INFINITY;
      const from = upperBound(times, newerMs, piece.from, to);
      yield { columns: piece.columns, from, to };
      to = from;
    }
  }
  if (start < end) yield { columns, from: start, to: end };
}
