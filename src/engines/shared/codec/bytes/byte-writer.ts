// Writes the bytes of a chunk into a buffer that grows and is reused for the next chunk. docs/chunk-format.md defines
// varints and signed varints.

export class ByteWriter {
  #bytes = new Uint8Array(1 << 16);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  clear(): void {
    this.#length = 0;
  }

  /** The bytes written so far, valid until the next write. */
  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A copy of the bytes written so far. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  /** Appends zeros for the caller to overwrite; valid until the next write. */
  reserve(bytes: number): Uint8Array {
    this.#grow(bytes);
    const slot = this.#bytes.subarray(this.#length, this.#length + bytes).fill(0);
    this.#length += bytes;
    return slot;
  }

  byte(value: number): void {
    this.#grow(1);
    this.#bytes[this.#length++] = value;
  }

  uint32(value: number): void {
    this.#grow(4);
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  float64(value: number): void {
    this.#grow(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** An integer from 0 to 2^53. */
  varint(value: number): void {
    this.#grow(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  /** An integer within ±2^53. */
  signedVarint(value: number): void {
    const size = Math.abs(value);
    const sign = value < 0 ? 0x40 : 0;
    if (size < 0x40) {
      this.byte(sign | size);
      return;
    }
    this.byte(0x80 | sign | (size % 0x40));
    this.varint(Math.floor(size / 0x40));
  }

  bytes(bytes: Uint8Array): void {
    this.#grow(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #grow(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const wider = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    wider.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = wider;
    this.#view = new DataView(wider.buffer);
  }
}
