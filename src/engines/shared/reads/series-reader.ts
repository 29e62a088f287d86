// Reads one step of one sensor's datapoints: its chunks and its part of the head as one series. Used by the main thread
// for short reads and by the reader thread for long ones. The caller passes the part of the head. How much of it has
// been sealed meanwhile is read in the same transaction as the chunks, so that each datapoint appears exactly once.
import { lowerBound, upperBound } from '../../../base/sorted-numbers.ts';
import { bytesOfRow, type Columns, type Slice } from '../../../domain/datapoints/columns.ts';
import type { RangeQuery, RangeStep, SeriesCursor } from '../../../domain/ports/series.ts';
import { gather, mergeDown, mergeUp, type Piece } from '../codec/gathering.ts';
import type { HeadPart } from '../head/head-part.ts';
import type { ChunkSource, UnopenedChunk } from './chunk-source.ts';

const earliest = -8_640_000_000_000_001;
const latest = 8_640_000_000_000_001;

/** A step whose slices have not been copied together. */
export interface SelectedStep extends Pick<RangeStep, 'next'> {
  readonly slices: readonly Slice[];
}

export class SeriesReader {
  readonly #chunks: ChunkSource;

  constructor(chunks: ChunkSource) {
    this.#chunks = chunks;
  }

  /** @throws Refusal `damaged` */
  read(query: RangeQuery, head: HeadPart): RangeStep {
    return this.inSnapshot(() => {
      const { slices, next } = this.take(query, head);
      // A copy, which may be transferred to another thread; the decoded chunks stay in the cache.
      return { columns: gather(slices, { reversed: query.descending, isCopy: true }), next };
    });
  }

  /**
   * The datapoints of a step as slices of chunks and of the head; descending, the last slice first. Call it within
   * `inSnapshot`; the slices are valid until that ends.
   * @throws Refusal `damaged`
   */
  take(query: RangeQuery, head: HeadPart): SelectedStep {
    const step = query.descending ? this.#readDown(query, head) : this.#readUp(query, head);
    this.#chunks.assertNoneAside(query.sensor, spanOf(query, step));
    return step;
  }

  /**
   * The number of datapoints in the range; beyond `max`, some number above it. Chunks that lie wholly inside are not
   * decoded.
   * @throws Refusal `damaged`
   */
  count(
    { sensor, fromMs = earliest, toMs = latest }: Pick<RangeQuery, 'sensor' | 'fromMs' | 'toMs'>,
    head: HeadPart,
    max: number,
  ): number {
    return this.inSnapshot(() => this.countWithin({ sensor, fromMs, toMs }, head, max));
  }

  /** Like `count`, to be called within `inSnapshot`. */
  countWithin(
    { sensor, fromMs = earliest, toMs = latest }: Pick<RangeQuery, 'sensor' | 'fromMs' | 'toMs'>,
    head: HeadPart,
    max: number,
  ): number {
    this.#chunks.assertNoneAside(sensor, { fromMs, toMs });
    const logged = this.#logged(sensor, head, { fromMs, toMs });
    let count = logged.to - logged.from;
    for (const span of this.#chunks.spans(sensor, toMs)) {
      if (span.last < fromMs || count > max) break;
      if (span.first >= fromMs && span.last <= toMs) count += span.count;
      else {
        const { from, to } = within(this.#chunks.open(sensor, span), { fromMs, toMs });
        count += to - from;
      }
    }
    return count;
  }

  /** Calls `read` so that it sees one state of the database. */
  inSnapshot<T>(read: () => T): T {
    return this.#chunks.inSnapshot(read);
  }

  #readUp(query: RangeQuery, head: HeadPart): SelectedStep {
    const { sensor, after, fromMs = earliest, toMs = latest, valuesOnly } = query;
    const range = { fromMs: Math.max(fromMs, after?.order ?? earliest), toMs, received: valuesOnly !== true };
    const logged = this.#logged(sensor, head, range);
    const taker = new Taker(query);
    const chunks = piecesOf(this.#chunks.readUp(sensor, range), (chunk) => ({
      edgeMs: chunk.first,
      open: () => (taker.isFull() ? undefined : within(chunk.open(), range)),
    }));
    let skip = after?.index ?? 0;
    for (const slice of mergeUp(chunks, logged)) {
      let { from } = slice;
      // Datapoints at the time of the start position come first; `skip` of them have been returned before.
      while (skip > 0 && from < slice.to && slice.columns.at[from] === after?.order) {
        from += 1;
        skip -= 1;
      }
      if (taker.take({ ...slice, from }) !== undefined) return taker.stepUp(after);
    }
    return taker.hasLeft ? taker.stepUp(after) : taker.end();
  }

  #readDown(query: RangeQuery, head: HeadPart): SelectedStep {
    const { sensor, after, fromMs = earliest, toMs = latest, valuesOnly } = query;
    const range = { fromMs, toMs: Math.min(toMs, after?.order ?? latest), received: valuesOnly !== true };
    const logged = this.#logged(sensor, head, range);
    const taker = new Taker(query);
    const chunks = piecesOf(this.#chunks.readDown(sensor, range), (chunk) => ({
      edgeMs: chunk.last > range.toMs ? Number.POSITIVE_INFINITY : chunk.last,
      // The step is full, but datapoints at its last time still have to be counted.
      open: () => (taker.isFull(chunk.last) ? undefined : within(chunk.open(), range)),
    }));
    let isFull = false;
    for (const slice of behind(mergeDown(chunks, logged), after)) {
      const rest: Slice | undefined = isFull ? slice : taker.take(slice);
      isFull = rest !== undefined;
      if (rest !== undefined && !taker.countLeft(rest)) break;
    }
    return isFull || taker.hasLeft ? taker.stepDown() : taker.end();
  }

  /** The part of the head that is in the range and has not been sealed. */
  #logged(sensor: number, head: HeadPart, range: { readonly fromMs: number; readonly toMs: number }): Slice {
    const sealedSeq = this.#chunks.sealedSeq(sensor);
    if (areBehind(head.seqs, sealedSeq)) return within(head, range);
    const slices: Slice[] = [];
    for (const [index, seq] of head.seqs.entries()) {
      if (seq > sealedSeq) slices.push({ columns: head, from: index, to: index + 1 });
    }
    return within(gather(slices), range);
  }
}

function areBehind(seqs: Float64Array, seq: number): boolean {
  for (let index = 0; index < seqs.length; index++) if ((seqs[index] as number) <= seq) return false;
  return true;
}

/** The span that a step covers: from its start position to that of the next step. */
function spanOf(
  { fromMs = earliest, toMs = latest, after, descending }: RangeQuery,
  { next }: Pick<RangeStep, 'next'>,
) {
  return descending
    ? { fromMs: next?.order ?? fromMs, toMs: Math.min(toMs, after?.order ?? latest) }
    : { fromMs: Math.max(fromMs, after?.order ?? earliest), toMs: next?.order ?? toMs };
}

function within(columns: Columns, { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }): Slice {
  const from = lowerBound(columns.at, fromMs, 0, columns.count);
  return { columns, from, to: upperBound(columns.at, toMs, from, columns.count) };
}

function* piecesOf(chunks: Iterable<UnopenedChunk>, toPiece: (chunk: UnopenedChunk) => Piece): Generator<Piece> {
  for (const chunk of chunks) yield toPiece(chunk);
}

/** From descending slices, leaves out the datapoints that earlier steps have returned. */
function* behind(slices: Iterable<Slice>, after: SeriesCursor | undefined): Generator<Slice> {
  // How many datapoints have the position's time is known only after all of them were seen.
  let same: Slice[] = [];
  let count = 0;
  for (const slice of slices) {
    if (after === undefined || (slice.columns.at[slice.to - 1] as number) < after.order) {
      yield* firstOf(same, after?.index ?? 0, count);
      same = [];
      yield slice;
      continue;
    }
    const from = lowerBound(slice.columns.at, after.order, slice.from, slice.to);
    same.push({ ...slice, from });
    count += slice.to - from;
    if (from === slice.from) continue;
    yield* firstOf(same, after.index, count);
    same = [];
    yield { ...slice, to: from };
  }
  yield* firstOf(same, after?.index ?? 0, count);
}

/** From descending slices with `count` datapoints, takes the first `wanted` in order of arrival. */
function* firstOf(slices: readonly Slice[], wanted: number, count: number): Generator<Slice> {
  let skip = count - wanted;
  for (const { columns, from, to } of slices) {
    const gone = Math.max(0, Math.min(skip, to - from));
    skip -= gone;
    if (to - gone > from) yield { columns, from, to: to - gone };
  }
}

/** Collects slices until a step is full. */
class Taker {
  readonly #limit: number;
  readonly #bytesMax: number;
  readonly #isReversed: boolean;
  readonly #slices: Slice[] = [];
  #count = 0;
  #bytes = 0;
  /** How many datapoints at the last taken time arrived before the last taken one. */
  #left = 0;
  /** True when a slice did not fit as a whole. */
  #isCut = false;
  #hasLeft = false;

  constructor({ limit, bytesMax = Number.POSITIVE_INFINITY, descending }: RangeQuery) {
    this.#limit = limit;
    this.#bytesMax = bytesMax;
    this.#isReversed = descending;
  }

  /** True when a chunk was left for the next step. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** Takes as much of a slice as fits, from its beginning or, descending, from its end; returns the rest. */
  take({ columns, from, to }: Slice): Slice | undefined {
    const rowsAllowed = this.#rowsAllowed({ columns, from, to });
    const [start, end] = this.#isReversed ? [to - rowsAllowed, to] : [from, from + rowsAllowed];
    if (rowsAllowed > 0) this.#slices.push({ columns, from: start, to: end });
    this.#count += rowsAllowed;
    if (rowsAllowed === to - from) return undefined;
    this.#isCut = true;
    return this.#isReversed ? { columns, from, to: start } : { columns, from: end, to };
  }

  /**
   * Asked before a chunk is decoded: true when this step needs nothing of it. Such a chunk may be damaged without
   * failing the step.
   */
  isFull(lastMs = Number.NEGATIVE_INFINITY): boolean {
    const isFull = (this.#count === this.#limit || this.#isCut) && (!this.#isReversed || lastMs < this.#lastMs());
    if (isFull) this.#hasLeft = true;
    return isFull;
  }

  /** Counts the datapoints at the last taken time; false when all of them have been seen. */
  countLeft({ columns, from, to }: Slice): boolean {
    const ms = this.#lastMs();
    const first = lowerBound(columns.at, ms, from, to);
    this.#left += to - first;
    return first === from;
  }

  stepUp(after: SeriesCursor | undefined): SelectedStep {
    const order = this.#lastMs();
    let index = after?.order === order ? after.index : 0;
    for (const { columns, from, to } of this.#slices.toReversed()) {
      const first = lowerBound(columns.at, order, from, to);
      index += to - first;
      if (first > from) break;
    }
    return { slices: this.#slices, next: { order, index } };
  }

  stepDown(): SelectedStep {
    return { slices: this.#slices, next: { order: this.#lastMs(), index: this.#left } };
  }

  end(): SelectedStep {
    return { slices: this.#slices, next: undefined };
  }

  #lastMs(): number {
    const { columns, from, to } = this.#slices.at(-1) as Slice;
    return columns.at[this.#isReversed ? from : to - 1] as number;
  }

  /** How many datapoints of a slice fit; at least one where the step is empty. */
  #rowsAllowed({ columns, from, to }: Slice): number {
    const rows = Math.min(to - from, this.#limit - this.#count);
    if (this.#bytesMax === Number.POSITIVE_INFINITY) return rows;
    if (columns.texts === undefined) {
      const free = Math.floor((this.#bytesMax - this.#bytes) / bytesOfRow);
      const fitting = Math.min(rows, Math.max(free, this.#count === 0 ? 1 : 0));
      this.#bytes += fitting * bytesOfRow;
      return fitting;
    }
    const order = (n: number) => (this.#isReversed ? to - 1 - n : from + n);
    let fitting = 0;
    while (fitting < rows) {
      const bytes = bytesOfRow + 2 * (columns.texts?.get(order(fitting))?.length ?? 0);
      if (this.#bytes + bytes > this.#bytesMax && this.#count + fitting > 0) break;
      this.#bytes += bytes;
      fitting += 1;
    }
    return fitting;
  }
}
