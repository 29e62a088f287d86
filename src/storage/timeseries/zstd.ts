// The zstd calls of the codec of chunks: one frame without checksum (the chunk has one), decompressed to exactly the
// bytes that are expected and within bounded memory, whatever the frame claims.
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { limits } from '../../config/limits.ts';
import { CorruptChunk } from './corrupt-chunk.ts';

// Symbols have few long repeats, and many short ones that chance makes: with a least match of 6 and the fastest strategy,
// Huffman codes are left to do the work, which is smaller (by up to a tenth) as well as faster than higher levels. The
// small tables are what small contents need.
const forSymbols = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_minMatch]: 6,
    [constants.ZSTD_c_hashLog]: 12,
    [constants.ZSTD_c_windowLog]: 17,
    [constants.ZSTD_c_contentSizeFlag]: 0,
  },
};
const forTexts = {
  params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_contentSizeFlag]: 0 },
};

export function compressSymbols(symbols: Uint8Array): Uint8Array {
  return zstdCompressSync(symbols, forSymbols);
}

export function compressText(text: Uint8Array): Uint8Array {
  return zstdCompressSync(text, forTexts);
}

export function decompress(frame: Uint8Array, bytes: number): Uint8Array {
  let content: Uint8Array;
  try {
    content = zstdDecompressSync(frame, {
      maxOutputLength: Math.max(bytes, 1),
      params: { [constants.ZSTD_d_windowLogMax]: limits.chunkWindowLogMax },
    });
  } catch (error) {
    throw new CorruptChunk('A compressed part cannot be decompressed.', { cause: error });
  }
  if (content.length !== bytes) throw new CorruptChunk('A compressed part has the wrong length.');
  return content;
}
