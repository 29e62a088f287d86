// Encodes a chunk and decodes it again before its datapoints are deleted from the log, because the chunk is then the
// only copy. This finds faults of the encoder, which a checksum over its output cannot find, and those of the machine and
// of the runtime. One of the latter is seen in one of some hundred starts of the thread: the base of a series is written as 0
// instead of -9 by code that V8 has optimized just before (its compiler Maglev). Mostly it is right when the same datapoints are
// encoded again; where not, they are written as doubles, without the code that finds frames.
import type { Columns } from '../../../domain/datapoints/columns.ts';
import { CorruptChunk } from '../codec/bytes/corrupt-chunk.ts';
import { chunkVersions, decodeChunk, encodeChunk, encodeInDoubles } from '../codec/chunk-codec.ts';
import { type ChunkSummary, summarize } from '../codec/chunk-summary.ts';

export interface WrittenChunk {
  readonly summary: ChunkSummary;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Tried one after the other until one gives what reads back. */
const encoders: readonly (typeof encodeChunk)[] = [encodeChunk, encodeChunk, encodeInDoubles];

/**
 * Encodes a chunk with its summary.
 * @param options `version` in which it is written; `tried` for tests.
 * @throws Error when it does not decode to the same datapoints: then nothing may be stored or deleted
 * @throws RangeError as `encodeChunk`
 */
export function writeChunk(columns: Columns, { version = chunkVersions.newest, tried = encoders } = {}): WrittenChunk {
  let what: string | undefined;
  for (const encode of tried) {
    const chunk = { summary: summarize(columns), bytes: encode(columns, version) };
    what = faultOf(chunk, columns);
    if (what === undefined) return chunk;
  }
  throw new Error(`A chunk of ${columns.count} datapoints reads back with another ${what}.`);
}

function faultOf(chunk: WrittenChunk, columns: Columns): string | undefined {
  try {
    return differenceOf(chunk, columns);
  } catch (error) {
    if (error instanceof CorruptChunk) return `form: ${error.message}`;
    throw error;
  }
}

/** The first part of a chunk that differs from the columns; undefined where nothing does. @throws CorruptChunk */
export function differenceOf({ summary, bytes }: WrittenChunk, columns: Columns): string | undefined {
  let used = 0;
  const allocate = (count: number) => roomOf(used++, count);
  const back = decodeChunk(bytes, { allocate });
  const found = summarize(back);
  for (const name of Object.keys(summary) as (keyof ChunkSummary)[])
    if (found[name] !== summary[name] && !Object.is(found[name], summary[name])) return `summary (${name})`;
  if (back.count !== columns.count) return 'count';
  for (const name of ['at', 'received', 'stamped'] as const)
    if (!areSame(back[name], columns[name], columns.count, areEqual)) return name;
  if (!areSame(back.values, columns.values, columns.count, Object.is)) return 'values';
  return areSameTexts(back.texts, columns.texts) ? undefined : 'texts';
}

/** Compares bit for bit, or by `isSame`: all NaN are equal (they mark texts), and so are times of -0 and 0. */
function areSame(
  a: Float64Array | Uint8Array,
  b: Float64Array | Uint8Array,
  count: number,
  isSame: (one: unknown, other: unknown) => boolean,
): boolean {
  if (bytesOf(a, count).equals(bytesOf(b, count))) return true;
  for (let i = 0; i < count; i++) if (!isSame(a[i], b[i])) return false;
  return true;
}

function areEqual(one: unknown, other: unknown): boolean {
  return one === other;
}

function bytesOf({ buffer, byteOffset, BYTES_PER_ELEMENT }: Float64Array | Uint8Array, count: number): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, count * BYTES_PER_ELEMENT);
}

function areSameTexts(a: Columns['texts'], b: Columns['texts']): boolean {
  if ((a?.size ?? 0) !== (b?.size ?? 0)) return false;
  if (b !== undefined) for (const [index, text] of b) if (a?.get(index) !== text) return false;
  return true;
}

/** Buffers for decoding, reused for the next chunk. */
const arrays: Float64Array[] = [];

function roomOf(index: number, count: number): Float64Array {
  const known = arrays[index];
  const array = known !== undefined && known.length >= count ? known : new Float64Array(count);
  arrays[index] = array;
  return array.subarray(0, count);
}
