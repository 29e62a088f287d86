// The zstd calls of the chunk codec: one frame without a checksum (the chunk has its own), decompressed to exactly the
// expected number of bytes in bounded memory, whatever the frame claims.
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { limits } from '../../../../config/limits.ts';
import { CorruptChunk } from './corrupt-chunk.ts';

// Symbols have few long repeats and many short accidental ones. With a minimum match of 6 and the fastest strategy
// Huffman coding does the work, which is up to a tenth smaller and faster than higher levels. Small contents need only
// small tables.
const forSymbols = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_minMatch]: 6,
  [constants.ZSTD_c_hashLog]: 12,
  [constants.ZSTD_c_contentSizeFlag]: 0,
};
/** The window is no larger than the content: a decompressor allocates all of it each time. */
const windowLogs = { min: 10, max: 17 };
const chunkSizeMin = 256;
const forTexts = {
  params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_contentSizeFlag]: 0 },
};

export function compressSymbols(symbols: Uint8Array): Uint8Array {
  const windowLog = Math.min(windowLogs.max, Math.max(windowLogs.min, Math.ceil(Math.log2(symbols.length))));
  const params = { ...forSymbols, [constants.ZSTD_c_windowLog]: windowLog };
  // The room for what comes out: the usual one is larger than most contents.
  return zstdCompressSync(symbols, { params, chunkSize: Math.max(symbols.length, chunkSizeMin) });
}

export function compressText(text: Uint8Array): Uint8Array {
  return zstdCompressSync(text, forTexts);
}

/** @param bytes the expected length. @throws CorruptChunk where the frame is invalid or has another length. */
export function decompress(frame: Uint8Array, bytes: number): Uint8Array {
  let content: Uint8Array;
  try {
    content = zstdDecompressSync(frame, {
      maxOutputLength: Math.max(bytes, 1),
      chunkSize: Math.max(bytes + 1, 64),
      params: { [constants.ZSTD_d_windowLogMax]: limits.chunkWindowLogMax },
    });
  } catch (error) {
    throw new CorruptChunk('A compressed part cannot be decompressed.', { cause: error });
  }
  if (content.length !== bytes) throw new CorruptChunk('A compressed part has the wrong length.');
  return content;
}
