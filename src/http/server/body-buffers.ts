// Reuses a few large buffers, because one buffer a request is promoted to the old generation and holds hundreds of
// megabytes until a major collection. Each holds one body at a time, from its first piece until it has been parsed.
// Used by body-reading.ts.
import { reportReleasedBytes } from '../../base/memory/garbage-collection.ts';
import { limits } from '../../config/limits.ts';

/** Buffers that are not in use. */
const free: Buffer[] = [];
let made = 0;

/** A body being received. */
export class BodyBuffer {
  readonly #wantsMemory: boolean;
  #memory: Buffer | undefined;
  #pieces: Buffer[] = [];
  /** The block into which pieces are copied, and how much of it is filled. */
  #block: Buffer | undefined;
  #blockBytes = 0;
  #bytes = 0;

  /** Small bodies, those of unknown length, and those for which no buffer is free are kept as pieces. */
  constructor(length: number, isKept: boolean) {
    this.#wantsMemory = !isKept && length > limits.bodyBufferBytesMin && length <= limits.bodyBufferBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False when it is longer than announced. */
  add(piece: Buffer): boolean {
    // Not before the first piece: a client may announce a body and never send it.
    if (this.#wantsMemory && this.#bytes === 0) this.#memory = free.pop() ?? make();
    const memory = this.#memory;
    this.#bytes += piece.length;
    if (memory === undefined) this.#addPiece(piece);
    else if (this.#bytes > memory.length) return false;
    else piece.copy(memory, this.#bytes - piece.length);
    return true;
  }

  /**
   * Copies pieces into blocks: a body sent byte by byte takes little more than its bytes, and a block of a large body goes
   * back to the system when it is freed, which the pieces, shorter than 128 KiB, would not.
   */
  #addPiece(piece: Buffer): void {
    if (this.#pieces.length === 0) {
      this.#pieces.push(piece);
      return;
    }
    for (let at = 0; at < piece.length; ) {
      this.#block ??= Buffer.allocUnsafeSlow(
        this.#bytes < limits.bodyLargeBlockBytes ? limits.bodyBlockBytes : limits.bodyLargeBlockBytes,
      );
      const copied = piece.copy(this.#block, this.#blockBytes, at);
      at += copied;
      this.#blockBytes += copied;
      if (this.#blockBytes === this.#block.length) this.#closeBlock();
    }
    if (piece.length >= limits.bodyBlockBytes) reportReleasedBytes(piece.length);
  }

  #closeBlock(): void {
    if (this.#block !== undefined) this.#pieces.push(this.#block.subarray(0, this.#blockBytes));
    this.#block = undefined;
    this.#blockBytes = 0;
  }

  /** Valid until `end`. */
  whole(): Buffer {
    this.#closeBlock();
    return this.#memory?.subarray(0, this.#bytes) ?? Buffer.concat(this.#pieces);
  }

  end(): void {
    this.#pieces = [];
    this.#block = undefined;
    if (this.#memory !== undefined) free.push(this.#memory);
    this.#memory = undefined;
  }
}

function make(): Buffer | undefined {
  if (made >= limits.bodyBuffersMax) return undefined;
  made += 1;
  return Buffer.allocUnsafeSlow(limits.bodyBufferBytes);
}
