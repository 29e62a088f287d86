// Memory for texts that one thread writes and another sends, which comes back to be written into again.
import { limits } from '../../config/limits.ts';

/** Texts of about one length fit into the same memory. */
const roomStep = 64 * 1024;
/** Memory of more than so many times what is needed is left to a longer text. */
const wasteMax = 4;

export class TextRooms {
  readonly #free: ArrayBuffer[] = [];
  #freeBytes = 0;

  /** At least so many bytes; what was written there before may still be. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    const place = this.#free.findLastIndex(({ byteLength }) => byteLength >= bytes && byteLength <= bytes * wasteMax);
    if (place < 0) return new Uint8Array(Math.ceil(bytes / roomStep) * roomStep);
    const [room] = this.#free.splice(place, 1) as [ArrayBuffer];
    this.#freeBytes -= room.byteLength;
    return new Uint8Array(room);
  }

  /** What was free longest makes room for it. */
  giveBack(room: ArrayBuffer): void {
    this.#free.push(room);
    this.#freeBytes += room.byteLength;
    while (this.#freeBytes > limits.textRoomBytesMax) this.#freeBytes -= this.#free.shift()?.byteLength ?? 0;
  }
}
