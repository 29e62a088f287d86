// Chunks as they were decoded last, in memory that is used again and again: a long read goes through hundreds of them, and
// arrays of its own for each would be collected late, and hold up whoever shares the core with the collector.
import { LruCache } from '../../base/lru-cache.ts';
import { limits } from '../../config/limits.ts';
import { bytesOfColumns, type Columns } from '../../domain/datapoints/columns.ts';
import { decodeChunk } from '../timeseries/chunk-codec.ts';

/** Numbers that memory is made for at once, so that chunks of about one size fit into the same. */
const roomStep = 1024;
/** Memory of more than so many times what is needed is left to a larger chunk. */
const wasteMax = 2;

export class DecodedChunks {
  readonly #kept: LruCache<number, Columns>;
  /** Forgotten by the cache, but perhaps still in use by the read that is under way. */
  #dropped: Columns[] = [];
  /** In use by nobody. */
  #free: ArrayBuffer[] = [];

  /** @param options bytes of the chunks held for later reads, about */
  constructor(options: { readonly bytesMax: number }) {
    const onDrop = (columns: Columns) => this.#dropped.push(columns);
    this.#kept = new LruCache({ weightMax: options.bytesMax, weigh: bytesOfColumns, onDrop });
  }

  /**
   * A chunk, good until `endOfRead`; not to be written into.
   * @param key of the chunk and of what is decoded of it
   * @throws CorruptChunk
   */
  take(key: number, bytes: Uint8Array, want: { readonly received: boolean }): Columns {
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const columns = decodeChunk(bytes, { received: want.received, roomFor: (count) => this.#roomFor(count) });
    this.#kept.set(key, columns);
    return columns;
  }

  /** Tells that whatever was taken is in use no more. */
  endOfRead(): void {
    for (const { at, values, received } of this.#dropped) {
      for (const { buffer, length } of [at, values, received])
        if (length > 0 && this.#free.length < limits.decodedRoomsMax) this.#free.push(buffer as ArrayBuffer);
    }
    this.#dropped = [];
  }

  #roomFor(count: number): Float64Array {
    const bytes = Float64Array.BYTES_PER_ELEMENT * Math.ceil(count / roomStep) * roomStep;
    const place = this.#free.findLastIndex(({ byteLength }) => byteLength >= bytes && byteLength <= bytes * wasteMax);
    const room = place < 0 ? new ArrayBuffer(bytes) : (this.#free.splice(place, 1)[0] as ArrayBuffer);
    return new Float64Array(room, 0, count);
  }
}
