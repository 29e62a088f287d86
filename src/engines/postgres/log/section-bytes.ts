// The bytes of sections of a row that hold messages: numbers, and runs of bytes with their length before them. Used by
// push-section.ts and relay-section.ts. Pure.
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';

/** Bytes that grow: numbers in groups of seven bits, as many as it takes. */
export class SectionWriter {
  #buffer = Buffer.allocUnsafe(256);
  #at = 0;

  number(value: number): void {
    this.#room(8);
    let rest = value;
    while (rest >= 128) {
      this.#buffer[this.#at++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.#buffer[this.#at++] = rest;
  }

  float(value: number): void {
    this.#room(8);
    this.#at = this.#buffer.writeDoubleLE(value, this.#at);
  }

  bytes(data: Uint8Array): void {
    this.number(data.length);
    this.#room(data.length);
    this.#buffer.set(data, this.#at);
    this.#at += data.length;
  }

  end(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#at + bytes));
    larger.set(this.#buffer.subarray(0, this.#at));
    this.#buffer = larger;
  }
}

export class SectionReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#buffer.length;
  }

  number(): number {
    for (let [value, factor] = [0, 1]; ; factor *= 128) {
      const byte = this.#buffer[this.#at++];
      if (byte === undefined) throw new CorruptChunk('Its messages are cut short.');
      value += (byte % 128) * factor;
      if (!Number.isSafeInteger(value) || !Number.isSafeInteger(factor))
        throw new CorruptChunk('Its messages have a number without an end.');
      if (byte < 128) return value;
    }
  }

  float(): number {
    return this.#take(8).readDoubleLE(0);
  }

  /** A copy: the row that it lies in goes. */
  bytes(): Buffer {
    return Buffer.from(this.#take(this.number()));
  }

  #take(bytes: number): Buffer {
    if (this.#at + bytes > this.#buffer.length) throw new CorruptChunk('Its messages are cut short.');
    this.#at += bytes;
    return this.#buffer.subarray(this.#at - bytes, this.#at);
  }
}
