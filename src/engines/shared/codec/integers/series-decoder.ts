// Decodes a series of integers written by series-encoder.ts (docs/chunk-format.md, "Series"). Tight loops over typed
// arrays; memory is bounded by the count, which the caller has checked.
import { addPacked, packedBytes } from '../bytes/bit-packing.ts';
import type { ByteReader } from '../bytes/byte-reader.ts';
import { CorruptChunk } from '../bytes/corrupt-chunk.ts';
import { decompress } from '../bytes/zstd.ts';
import { addSymbols, isSmall, putSymbols, symbolBytes } from './symbols.ts';

const rawBitsMax = 53;

/** Returns an array for so many numbers; its content is undefined. */
export type ArrayAllocator = (count: number) => Float64Array;

/** Allocates a new array. */
export const allocateNew: ArrayAllocator = (count) => new Float64Array(count);

/** Reads a series of `count` numbers. @throws CorruptChunk */
export function readSeries(reader: ByteReader, count: number, allocate: ArrayAllocator = allocateNew): Float64Array {
  const header = reader.byte();
  const order = header & 3;
  const series = allocate(count);
  if (order === 3) return readDoubles(reader, header, series);
  if (order > count) throw new CorruptChunk('A series has more first values than values.');
  for (let i = 0; i < order; i++) series[i] = reader.signedVarint();
  if (order < count) readDifferences(reader, header, series.subarray(order));
  for (let level = order; level > 0; level--) sumUp(series, level);
  return series;
}

function readDoubles(reader: ByteReader, header: number, series: Float64Array): Float64Array {
  if (header !== 3) throw new CorruptChunk('A series of doubles has flags that it cannot have.');
  const bytes = reader.bytes(series.length * 8);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < series.length; i++) series[i] = view.getFloat64(i * 8, true);
  return series;
}

function readDifferences(reader: ByteReader, header: number, numbers: Float64Array): void {
  const base = reader.signedVarint();
  const factor = (header & 4) === 0 ? 1 : reader.varint();
  const rawBits = (header & 128) === 0 ? 0 : reader.byte();
  if (rawBits > rawBitsMax) throw new CorruptChunk(`A series has ${rawBits} raw bits, more than ${rawBitsMax}.`);
  const code = (header >>> 4) & 7;
  if (code === 0 && rawBits === 0) numbers.fill(base);
  else {
    const symbols = code === 0 ? undefined : readSymbols(reader, code, numbers.length);
    if (symbols !== undefined && rawBits === 0 && isSmall(code)) putSymbols(symbols, code, { base, factor }, numbers);
    else {
      numbers.fill(0);
      if (symbols !== undefined) addSymbols(symbols, code, rawBits, numbers);
      if (rawBits > 0) addPacked(reader.bytes(packedBytes(numbers.length, rawBits)), rawBits, numbers);
      if (base !== 0 || factor !== 1) for (let i = 0; i < numbers.length; i++) numbers[i] = base + numbers[i]! * factor;
    }
  }
  if ((header & 8) !== 0) readPatches(reader, { base, factor }, numbers);
}

function readSymbols(reader: ByteReader, code: number, count: number): Uint8Array {
  const frame = reader.bytes(reader.varint());
  return decompress(frame, symbolBytes(count, code));
}

function readPatches(
  reader: ByteReader,
  { base, factor }: { readonly base: number; readonly factor: number },
  numbers: Float64Array,
): void {
  let after = 0;
  for (let left = reader.varintUpTo(numbers.length, 'patches'); left > 0; left--) {
    const index = after + reader.varint();
    if (index >= numbers.length) throw new CorruptChunk('A patch lies behind the end of its series.');
    numbers[index] = base + reader.signedVarint() * factor;
    after = index + 1;
  }
}

/** Sums differences up once; the first value of this `level` is at index `level - 1`. */
function sumUp(series: Float64Array, level: number): void {
  let sum = series[level - 1]!;
  for (let i = level; i < series.length; i++) {
    sum += series[i]!;
    series[i] = sum;
  }
}
