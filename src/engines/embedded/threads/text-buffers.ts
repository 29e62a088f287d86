// Memory for texts that one thread writes and another sends, which comes back to be written into again.
import { limits } from '../../../config/limits.ts';

/** Texts of about one length fit into the same memory. */
const bufferStep = 64 * 1024;
/** Memory of more than so many times what is needed is left to a longer text. */
const wasteMax = 4;

export class TextBufferPool {
  readonly #free: ArrayBuffer[] = [];
  #freeBytes = 0;

  /** At least so many bytes; what was written there before may still be. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    const index = this.#free.findLastIndex(({ byteLength }) => byteLength >= bytes && byteLength <= bytes * wasteMax);
    if (index < 0) return new Uint8Array(Math.ceil(bytes / bufferStep) * bufferStep);
    const [buffer] = this.#free.splice(index, 1) as [ArrayBuffer];
    this.#freeBytes -= buffer.byteLength;
    return new Uint8Array(buffer);
  }

  /** What was free longest makes room for it. */
  giveBack(buffer: ArrayBuffer): void {
    this.#free.push(buffer);
    this.#freeBytes += buffer.byteLength;
    while (this.#freeBytes > limits.textBufferBytesMax) this.#freeBytes -= this.#free.shift()?.byteLength ?? 0;
  }
}
