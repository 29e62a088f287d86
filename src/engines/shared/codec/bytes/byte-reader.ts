// Reads the bytes of a chunk. Whatever they are, it never reads outside them and throws nothing but CorruptChunk.
import { CorruptChunk } from './corrupt-chunk.ts';

export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  isAtEnd(): boolean {
    return this.#position === this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#take(1)]!;
  }

  float64(): number {
    return this.#view.getFloat64(this.#take(8), true);
  }

  /** An integer from 0 to 2^53. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 53; scale *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > 2 ** 53) break;
        return value;
      }
    }
    throw new CorruptChunk('A varint is longer than any integer of the format.');
  }

  /** An integer that counts or measures something; corrupt where it is more than `max`. */
  varintUpTo(max: number, of: string): number {
    const value = this.varint();
    if (value > max) throw new CorruptChunk(`There are ${value} ${of}, but there can be no more than ${max}.`);
    return value;
  }

  /** An integer within ±2^53. */
  signedVarint(): number {
    const byte = this.byte();
    let size = byte & 0x3f;
    if (byte >= 0x80) size += this.varint() * 0x40;
    if (size > 2 ** 53) throw new CorruptChunk('A signed varint is larger than any integer of the format.');
    return (byte & 0x40) === 0 ? size : -size;
  }

  /** A view of the next bytes. */
  bytes(count: number): Uint8Array {
    const from = this.#take(count);
    return this.#bytes.subarray(from, from + count);
  }

  #take(count: number): number {
    const from = this.#position;
    if (count > this.#bytes.length - from) throw new CorruptChunk('The chunk ends too early.');
    this.#position = from + count;
    return from;
  }
}
