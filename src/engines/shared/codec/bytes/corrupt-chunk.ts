// The only error that decoding throws. Readers of chunks add sensor and span to it.

export class CorruptChunk extends Error {
  override readonly name = 'CorruptChunk';
}
