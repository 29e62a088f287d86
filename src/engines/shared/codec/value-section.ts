// The values of a chunk: integers with a number of decimals where these restore the values bit for bit, otherwise
// doubles as upper and lower halves; then the odd numbers, and the texts of other values.

import type { Columns } from '../../../domain/datapoints/columns.ts';
import type { ByteReader } from './bytes/byte-reader.ts';
import type { ByteWriter } from './bytes/byte-writer.ts';
import { CorruptChunk } from './bytes/corrupt-chunk.ts';
import { scratch } from './bytes/scratch.ts';
import { readIndexes, writeIndexes } from './indexes.ts';
import { decimalsMax, scaleToIntegers, scaleToValues } from './integers/decimals.ts';
import { type ArrayAllocator, allocateNew, readSeries } from './integers/series-decoder.ts';
import { areDoublesWanted, planSeries } from './integers/series-encoder.ts';
import { readTexts, writeTexts } from './text-section.ts';

/** In place of the number of decimals: the values are doubles. */
const asDoubles = 15;
const hasOdd = 16;
const hasTexts = 32;
const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
const [lower, upper] = isLittleEndian ? [0, 1] : [1, 0];

type Values = Pick<Columns, 'values' | 'texts'>;

/** Writes the values of all datapoints of a chunk; NaN stands for a text. */
export function writeValues(out: ByteWriter, { values, texts }: Values): void {
  const textFlag = texts === undefined || texts.size === 0 ? 0 : hasTexts;
  const scaled = areDoublesWanted() ? undefined : scaleToIntegers(values);
  if (scaled === undefined) {
    out.byte(asDoubles | textFlag);
    writeHalves(out, values);
  } else {
    out.byte(scaled.decimals | (scaled.odd.length > 0 ? hasOdd : 0) | textFlag);
    planSeries(scaled.integers, [1, 0]).write(out);
    if (scaled.odd.length > 0) {
      writeIndexes(out, scaled.odd);
      for (const index of scaled.odd) out.float64(values[index]!);
    }
  }
  if (texts !== undefined && textFlag !== 0) writeTexts(out, texts);
}

/** Reads the values of `count` datapoints, NaN where there is a text. @throws CorruptChunk */
export function readValues(reader: ByteReader, count: number, allocate?: ArrayAllocator): Values {
  const header = reader.byte();
  const decimals = header & 15;
  const isDoubles = decimals === asDoubles;
  if (header > 63 || (decimals > decimalsMax && !isDoubles)) throw new CorruptChunk('The values have unknown flags.');
  const values = isDoubles ? readHalves(reader, count, allocate) : readSeries(reader, count, allocate);
  if (!isDoubles) scaleToValues(values, decimals);
  if ((header & hasOdd) !== 0) for (const index of readIndexes(reader, count)) values[index] = reader.float64();
  if ((header & hasTexts) === 0) return { values, texts: undefined };
  const texts = readTexts(reader, count);
  for (const index of texts.keys()) values[index] = Number.NaN;
  return { values, texts };
}

function writeHalves(out: ByteWriter, values: Float64Array): void {
  const filled = values.slice();
  for (let i = 0; i < filled.length; i++) if (Number.isNaN(filled[i]!)) filled[i] = i > 0 ? filled[i - 1]! : 0;
  const words = new Int32Array(filled.buffer);
  const upperHalves = scratch.take(filled.length);
  const lowerHalves = scratch.take(filled.length);
  for (let i = 0; i < filled.length; i++) {
    upperHalves[i] = words[2 * i + upper]!;
    lowerHalves[i] = words[2 * i + lower]! >>> 0;
  }
  planSeries(upperHalves, [1, 0]).write(out);
  planSeries(lowerHalves, [0]).write(out);
}

function readHalves(reader: ByteReader, count: number, allocate: ArrayAllocator = allocateNew): Float64Array {
  const upperHalves = readSeries(reader, count);
  const lowerHalves = readSeries(reader, count);
  const values = allocate(count);
  const words = new Int32Array(values.buffer, values.byteOffset, 2 * count);
  for (let i = 0; i < count; i++) {
    words[2 * i + upper] = upperHalves[i]!;
    words[2 * i + lower] = lowerHalves[i]!;
  }
  return values;
}
