// Memory for texts that one thread writes and another sends, which comes back to be written into again.
import { limits } from '../../config/limits.ts';

/** Texts of about one length fit into the same memory. */
const roomStep = 64 * 1024;

export class TextRooms {
  readonly #free: ArrayBuffer[] = [];
  #freeBytes = 0;

  /** At least so many bytes; what was written there before may still be. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    const place = this.#free.findIndex((room) => room.byteLength >= bytes);
    if (place < 0) return new Uint8Array(Math.ceil(bytes / roomStep) * roomStep);
    const [room] = this.#free.splice(place, 1) as [ArrayBuffer];
    this.#freeBytes -= room.byteLength;
    return new Uint8Array(room);
  }

  giveBack(room: ArrayBuffer): void {
    if (this.#freeBytes + room.byteLength > limits.textRoomBytesMax) return;
    this.#free.push(room);
    this.#freeBytes += room.byteLength;
  }
}
