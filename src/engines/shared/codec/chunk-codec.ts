// Encodes the datapoints of one sensor and span as a chunk of few bytes, and decodes it bit for bit. Called by sealing
// and reads. Pure. docs/chunk-format.md describes the bytes; chunks of version 1 stay readable.
import { crc32 } from 'node:zlib';
import { limits } from '../../../config/limits.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import { ByteReader } from './bytes/byte-reader.ts';
import { ByteWriter } from './bytes/byte-writer.ts';
import { CorruptChunk, UnknownVersion } from './bytes/corrupt-chunk.ts';
import { scratch } from './bytes/scratch.ts';
import { type ArrayAllocator, readSeries } from './integers/series-decoder.ts';
import { inDoubles, planSeries } from './integers/series-encoder.ts';
import { readReceived, writeReceived } from './received-section.ts';
import { readValues, writeValues } from './value-section.ts';

/** Versions of a chunk that this release reads and writes. */
export const chunkVersions = { oldest: 1, newest: 1 };

const checksumBytes = 4;
const timeMax = 8.64e15;
const nothing = { received: new Float64Array(0), stamped: new Uint8Array(0) };

// One buffer for all chunks, because encoding is synchronous.
const out = new ByteWriter();

/**
 * @param version in which it is written: others that read it may know no newer one.
 * @throws RangeError for columns outside the format's range: a fault of the caller.
 */
export function encodeChunk(columns: Columns, version = chunkVersions.newest): Uint8Array<ArrayBuffer> {
  const whole = checkColumns(columns);
  out.clear();
  scratch.clear();
  out.byte(version);
  out.varint(columns.count);
  planSeries(whole.at, [1, 2]).write(out);
  writeValues(out, whole);
  writeReceived(out, whole);
  out.uint32(crc32(out.written()));
  return out.finish();
}

/**
 * The same in many more bytes, by code that does little: for a chunk that `encodeChunk` does not get right.
 * @throws RangeError as `encodeChunk`
 */
export function encodeInDoubles(columns: Columns, version = chunkVersions.newest): Uint8Array<ArrayBuffer> {
  return inDoubles(() => encodeChunk(columns, version));
}

/**
 * @param want `received: false` leaves `received` and `stamped` empty and does not decode them; `allocate` allocates
 * the arrays of times and values
 * @throws CorruptChunk when checksum or content is wrong, UnknownVersion, and nothing else
 */
export function decodeChunk(
  bytes: Uint8Array,
  want: { readonly received?: boolean; readonly allocate?: ArrayAllocator } = {},
): Columns {
  checkChecksum(bytes);
  const reader = new ByteReader(bytes.subarray(0, bytes.length - checksumBytes));
  const found = reader.byte();
  const { oldest, newest } = chunkVersions;
  if (found < oldest || found > newest) throw new UnknownVersion(`The chunk has version ${found}, known is ${newest}.`);
  const count = reader.varintUpTo(limits.chunkDatapointsMax, 'datapoints');
  if (count === 0) throw new CorruptChunk('The chunk has no datapoints.');
  const { allocate } = want;
  const at = readSeries(reader, count, allocate);
  const { values, texts } = readValues(reader, count, allocate);
  if (want.received === false) return { count, at, values, texts, ...nothing };
  const { received, stamped } = readReceived(reader, at, allocate);
  if (!reader.isAtEnd()) throw new CorruptChunk('The chunk goes on behind its end.');
  return { count, at, received, stamped, values, texts };
}

function checkChecksum(bytes: Uint8Array): void {
  const end = bytes.length - checksumBytes;
  if (end < 1) throw new CorruptChunk(`A chunk has more than ${bytes.length} bytes.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(end, true) !== crc32(bytes.subarray(0, end))) throw new CorruptChunk('The checksum is wrong.');
}

/** The columns cut to their count, after checking that the format can represent them. */
function checkColumns({ count, at, received, stamped, values, texts }: Columns): Columns {
  if (!(Number.isInteger(count) && count >= 1 && count <= limits.chunkDatapointsMax)) {
    throw new RangeError(`A chunk has 1 to ${limits.chunkDatapointsMax} datapoints, not ${count}.`);
  }
  for (const column of [at, received, stamped, values]) {
    if (column.length < count) throw new RangeError(`A column has ${column.length} of ${count} datapoints.`);
  }
  let noNumbers = 0;
  for (let i = 0; i < count; i++) {
    checkTime(at[i]!);
    checkTime(received[i]!);
    const value = values[i]!;
    if (Number.isFinite(value)) continue;
    if (!Number.isNaN(value) || !texts?.has(i)) throw new RangeError(`Datapoint ${i} has neither number nor text.`);
    noNumbers += 1;
  }
  if (noNumbers !== (texts?.size ?? 0)) throw new RangeError('There are texts for numbers.');
  const cut = <T extends Float64Array | Uint8Array>(column: T) =>
    (column.length === count ? column : column.subarray(0, count)) as T;
  return { count, at: cut(at), received: cut(received), stamped: cut(stamped), values: cut(values), texts };
}

function checkTime(ms: number): void {
  if (!(Math.floor(ms) === ms && ms >= -timeMax && ms <= timeMax)) throw new RangeError(`${ms} is no time in ms.`);
}
