// The only errors that decoding throws. Readers of chunks add sensor and span to them.

export class CorruptChunk extends Error {
  override readonly name: string = 'CorruptChunk';
}

/**
 * Whole bytes in a version that this release does not read: a later one has written them. Where releases live side by side they must not
 * be passed over or set aside as damaged ones are.
 */
export class UnknownVersion extends CorruptChunk {
  override readonly name = 'UnknownVersion';
}
