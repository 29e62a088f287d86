// A list of indexes of datapoints in a chunk (of odd numbers, of texts): their count, and the indexes as a series.
import type { ByteReader } from './bytes/byte-reader.ts';
import type { ByteWriter } from './bytes/byte-writer.ts';
import { CorruptChunk } from './bytes/corrupt-chunk.ts';
import { readSeries } from './integers/series-decoder.ts';
import { planSeries } from './integers/series-encoder.ts';

/** @param indexes at least one, ascending. */
export function writeIndexes(out: ByteWriter, indexes: readonly number[]): void {
  out.varint(indexes.length);
  planSeries(Float64Array.from(indexes), [1]).write(out);
}

/** @param count the number of datapoints. @throws CorruptChunk for indexes that do not rise, or lie beyond them. */
export function readIndexes(reader: ByteReader, count: number): Float64Array {
  const length = reader.varintUpTo(count, 'indexes');
  const indexes = readSeries(reader, length);
  let before = -1;
  for (const index of indexes) {
    if (!(index > before && index < count && Number.isInteger(index))) {
      throw new CorruptChunk('Indexes do not rise within the datapoints.');
    }
    before = index;
  }
  return indexes;
}
