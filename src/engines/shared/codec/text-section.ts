// The texts of a chunk: JSON of values that are not numbers. Each distinct text is written once, compressed with zstd
// where that is smaller. Every string is restored exactly, even if it is not well-formed Unicode.
import { limits } from '../../../config/limits.ts';
import type { ByteReader } from './bytes/byte-reader.ts';
import type { ByteWriter } from './bytes/byte-writer.ts';
import { CorruptChunk } from './bytes/corrupt-chunk.ts';
import { compressText, decompress } from './bytes/zstd.ts';
import { readIndexes, writeIndexes } from './indexes.ts';
import { readSeries } from './integers/series-decoder.ts';
import { planSeries } from './integers/series-encoder.ts';

const isCompressed = 1;
const isUtf16 = 2;
const isRepeated = 4;
/** With fewer bytes zstd costs more than it saves. */
const compressedMin = 64;

/** @param texts at least one. */
export function writeTexts(out: ByteWriter, texts: ReadonlyMap<number, string>): void {
  const indexes = [...texts.keys()].sort((a, b) => a - b);
  const codes = new Map<string, number>();
  const codeOf = Float64Array.from(indexes, (index) => {
    const text = texts.get(index)!;
    const code = codes.get(text) ?? codes.size;
    if (code === codes.size) codes.set(text, code);
    return code;
  });
  const distinct = [...codes.keys()];
  const encoding = distinct.every((text) => text.isWellFormed()) ? 'utf8' : 'utf16le';
  const parts = distinct.map((text) => Buffer.from(text, encoding));
  const plain = Buffer.concat(parts);
  if (plain.length > limits.chunkTextBytesMax) {
    throw new RangeError(`A chunk holds ${limits.chunkTextBytesMax} bytes of texts at most, not ${plain.length}.`);
  }
  const packed = plain.length < compressedMin ? plain : compressText(plain);
  const isSmaller = packed.length < plain.length;
  writeIndexes(out, indexes);
  const repeatedFlag = distinct.length < indexes.length ? isRepeated : 0;
  out.byte((isSmaller ? isCompressed : 0) | (encoding === 'utf8' ? 0 : isUtf16) | repeatedFlag);
  if (repeatedFlag !== 0) {
    out.varint(distinct.length);
    planSeries(codeOf, [0, 1]).write(out);
  }
  planSeries(Float64Array.from(parts, ({ length }) => length), [0, 1]).write(out); // biome-ignore format: one call
  if (isSmaller) out.varint(packed.length);
  out.bytes(isSmaller ? packed : plain);
}

/** The texts by the index of their datapoint, of `count`. @throws CorruptChunk */
export function readTexts(reader: ByteReader, count: number): ReadonlyMap<number, string> {
  const indexes = readIndexes(reader, count);
  const flags = reader.byte();
  if (flags > (isCompressed | isUtf16 | isRepeated)) throw new CorruptChunk('The texts have unknown flags.');
  const repeated = (flags & isRepeated) !== 0;
  const distinct = repeated ? reader.varintUpTo(indexes.length, 'distinct texts') : indexes.length;
  const codes = repeated ? readSeries(reader, indexes.length) : undefined;
  const texts = readDistinct(reader, distinct, flags);
  const byIndex = new Map<number, string>();
  for (let i = 0; i < indexes.length; i++) {
    const text = texts[codes === undefined ? i : codes[i]!];
    if (text === undefined) throw new CorruptChunk('A value names a text that is not there.');
    byIndex.set(indexes[i]!, text);
  }
  return byIndex;
}

function readDistinct(reader: ByteReader, distinct: number, flags: number): string[] {
  const lengths = readSeries(reader, distinct);
  let total = 0;
  for (const length of lengths) {
    if (!(length >= 0 && Number.isInteger(length))) throw new CorruptChunk('A text has an impossible length.');
    total += length;
  }
  if (total > limits.chunkTextBytesMax) throw new CorruptChunk(`${total} bytes of texts are more than a chunk holds.`);
  const isPlain = (flags & isCompressed) === 0;
  const bytes = isPlain ? reader.bytes(total) : decompress(reader.bytes(reader.varint()), total);
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const encoding = (flags & isUtf16) === 0 ? 'utf8' : 'utf16le';
  const texts: string[] = [];
  let from = 0;
  for (const length of lengths) {
    texts.push(content.toString(encoding, from, from + length));
    from += length;
  }
  return texts;
}
