// The one error that decoding throws. Whoever reads chunks reports it with sensor and span, and goes on with the rest.

export class CorruptChunk extends Error {
  override readonly name = 'CorruptChunk';
}
