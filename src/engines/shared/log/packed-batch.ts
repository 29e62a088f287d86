// Packs the datapoints of one commit into few bytes for a row of the log, because a commit writes whole pages. Restores
// them bit for bit. Pure; docs/chunk-format.md describes the bytes. Made for some dozens of datapoints of many sensors;
// larger batches are written faster as they are.
import { crc32 } from 'node:zlib';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { ByteReader } from '../codec/bytes/byte-reader.ts';
import { ByteWriter } from '../codec/bytes/byte-writer.ts';
import { CorruptChunk, UnknownVersion } from '../codec/bytes/corrupt-chunk.ts';
import { scratch } from '../codec/bytes/scratch.ts';
import { readSeries } from '../codec/integers/series-decoder.ts';
import { planSeries } from '../codec/integers/series-encoder.ts';
import { readValues, writeValues } from '../codec/value-section.ts';

const version = 1;
const checksumBytes = 4;
const noneStamped = 0;
const allStamped = 1;
const someStamped = 2;

// One buffer for all, because packing is synchronous.
const out = new ByteWriter();

/**
 * @param rows at least one datapoint as in a batch, with numbers as values
 * @returns undefined where the bytes would not be fewer, or would not restore each number bit for bit
 */
export function packBatch(rows: Float64Array): Uint8Array<ArrayBuffer> | undefined {
  out.clear();
  scratch.clear();
  out.byte(version);
  planSeries(columnOf(rows, 0), [1, 0]).write(out);
  const received = columnOf(rows, 2);
  planSeries(received, [0, 1]).write(out);
  writeDelays(rows, received);
  writeValues(out, { values: columnOf(rows, 3), texts: undefined });
  out.uint32(crc32(out.written()));
  if (out.written().length >= rows.byteLength) return undefined;
  const packed = out.finish();
  return givesBack(packed, rows) ? packed : undefined;
}

/** Whether these bytes decode to those datapoints. Extreme times may be too far apart for a series. */
function givesBack(packed: Uint8Array, rows: Float64Array): boolean {
  try {
    return isSame(unpackBatch(packed, rows.length / rowNumbers), rows);
  } catch (error) {
    if (error instanceof CorruptChunk) return false;
    throw error;
  }
}

/**
 * @param count the number of datapoints
 * @throws CorruptChunk when checksum or content is wrong, UnknownVersion, and nothing else
 */
export function unpackBatch(bytes: Uint8Array, count: number): Float64Array {
  const end = bytes.length - checksumBytes;
  if (end < 1) throw new CorruptChunk(`Packed datapoints have more than ${bytes.length} bytes.`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(end, true) !== crc32(bytes.subarray(0, end))) throw new CorruptChunk('The checksum is wrong.');
  const reader = new ByteReader(bytes.subarray(0, end));
  const found = reader.byte();
  if (found !== version)
    throw new UnknownVersion(`The datapoints are packed in version ${found}, known is ${version}.`);
  const rows = new Float64Array(count * rowNumbers);
  putColumn(rows, 0, readSeries(reader, count));
  const received = readSeries(reader, count);
  putColumn(rows, 2, received);
  readDelays(reader, rows, received);
  putColumn(rows, 3, readValues(reader, count).values);
  if (!reader.isAtEnd()) throw new CorruptChunk('The packed datapoints go on behind their end.');
  return rows;
}

function columnOf(rows: Float64Array, place: number): Float64Array {
  const column = scratch.take(rows.length / rowNumbers);
  for (let i = 0; i < column.length; i++) column[i] = rows[i * rowNumbers + place]!;
  return column;
}

function putColumn(rows: Float64Array, place: number, column: Float64Array): void {
  for (let i = 0; i < column.length; i++) rows[i * rowNumbers + place] = column[i]!;
}

/**
 * Writes how long after their timestamps datapoints were received; one without a timestamp repeats the delay before it.
 */
function writeDelays(rows: Float64Array, received: Float64Array): void {
  const count = received.length;
  const delays = scratch.take(count);
  const stamped = scratch.take(count);
  let stampedCount = 0;
  let before = 0;
  for (let i = 0; i < count; i++) {
    const timestamp = rows[i * rowNumbers + 1]!;
    stamped[i] = Number.isNaN(timestamp) ? 0 : 1;
    if (stamped[i] !== 0) {
      before = received[i]! - timestamp;
      stampedCount += 1;
    }
    delays[i] = before;
  }
  if (stampedCount === 0) {
    out.byte(noneStamped);
    return;
  }
  out.byte(stampedCount === count ? allStamped : someStamped);
  if (stampedCount < count) planSeries(stamped, [0, 1]).write(out);
  planSeries(delays, [0, 1]).write(out);
}

function readDelays(reader: ByteReader, rows: Float64Array, received: Float64Array): void {
  const kind = reader.byte();
  if (kind > someStamped) throw new CorruptChunk('The delays have an unknown header.');
  const stamped = kind === someStamped ? readSeries(reader, received.length) : undefined;
  const delays = kind === noneStamped ? undefined : readSeries(reader, received.length);
  for (let i = 0; i < received.length; i++) {
    const isStamped = delays !== undefined && (stamped === undefined || stamped[i] === 1);
    rows[i * rowNumbers + 1] = isStamped ? received[i]! - delays[i]! : Number.NaN;
  }
}

function isSame(a: Float64Array, b: Float64Array): boolean {
  return Buffer.compare(bytesOf(a), bytesOf(b)) === 0;
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
