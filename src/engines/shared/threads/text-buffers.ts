// A pool of buffers for texts: this thread fills them, the main thread sends them and returns them to be filled again.
import { limits } from '../../../config/limits.ts';

/** Sizes are multiples of this, so that texts of similar length can share buffers. */
const bufferStep = 64 * 1024;
/** A buffer more than this many times too large is left for a longer text. */
const wasteMax = 4;

export class TextBufferPool {
  readonly #free: ArrayBuffer[] = [];
  #freeBytes = 0;

  /** A buffer of at least so many bytes; may contain bytes of earlier texts. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    const index = this.#free.findLastIndex(({ byteLength }) => byteLength >= bytes && byteLength <= bytes * wasteMax);
    if (index < 0) return new Uint8Array(Math.ceil(bytes / bufferStep) * bufferStep);
    const [buffer] = this.#free.splice(index, 1) as [ArrayBuffer];
    this.#freeBytes -= buffer.byteLength;
    return new Uint8Array(buffer);
  }

  /** Puts a buffer back into the pool; beyond the bound the one free longest is dropped. */
  release(buffer: ArrayBuffer): void {
    this.#free.push(buffer);
    this.#freeBytes += buffer.byteLength;
    while (this.#freeBytes > limits.textBufferBytesMax) this.#freeBytes -= this.#free.shift()?.byteLength ?? 0;
  }
}
