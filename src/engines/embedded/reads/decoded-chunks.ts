// Chunks as they were decoded last, in memory that is used again and again: a long read goes through hundreds of them, and
// arrays of its own for each would be collected late, and hold up whoever shares the core with the collector.
import { LruCache } from '../../../base/memory/lru-cache.ts';
import { limits } from '../../../config/limits.ts';
import { bytesOfColumns, bytesOfRow, type Columns } from '../../../domain/datapoints/columns.ts';
import { decodeChunk } from '../../shared/codec/chunk-codec.ts';

/** Numbers that memory is made for at once, so that chunks of about one size fit into the same; and of small chunks. */
const bufferStep = 1024;
const smallStep = 64;
/** Memory of more than so many times what is needed is left to a larger chunk. */
const wasteMax = 2;

export class DecodedChunks {
  readonly #kept: LruCache<number, Columns>;
  /** Forgotten by the cache, but perhaps still in use by the read that is under way. */
  #dropped: Columns[] = [];
  /** In use by nobody; the longest free first. */
  readonly #free: ArrayBuffer[] = [];
  #freeBytes = 0;

  /** @param options bytes of the chunks held for later reads, about */
  constructor(options: { readonly bytesMax: number }) {
    const onDrop = (columns: Columns) => this.#dropped.push(columns);
    this.#kept = new LruCache({ weightMax: options.bytesMax, weigh: bytesHeld, onDrop });
  }

  /**
   * A chunk, good until `endOfRead`; not to be written into.
   * @param key of the chunk and of what is decoded of it
   * @throws CorruptChunk
   */
  take(key: number, bytes: Uint8Array, want: { readonly received: boolean }): Columns {
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const columns = decodeChunk(bytes, { received: want.received, allocate: (count) => this.#allocate(count) });
    this.#kept.set(key, columns);
    return columns;
  }

  /** Tells that whatever was taken is in use no more. */
  endOfRead(): void {
    for (const columns of this.#dropped) {
      for (const { buffer } of roomsOf(columns)) {
        this.#free.push(buffer as ArrayBuffer);
        this.#freeBytes += buffer.byteLength;
      }
    }
    this.#dropped = [];
    while (this.#freeBytes > limits.decodedBufferBytesMax) this.#freeBytes -= this.#free.shift()?.byteLength ?? 0;
  }

  #allocate(count: number): Float64Array {
    const step = count < bufferStep ? smallStep : bufferStep;
    const bytes = Float64Array.BYTES_PER_ELEMENT * Math.ceil(count / step) * step;
    const index = this.#free.findLastIndex(({ byteLength }) => byteLength >= bytes && byteLength <= bytes * wasteMax);
    if (index < 0) return new Float64Array(new ArrayBuffer(bytes), 0, count);
    const [buffer] = this.#free.splice(index, 1) as [ArrayBuffer];
    this.#freeBytes -= buffer.byteLength;
    return new Float64Array(buffer, 0, count);
  }
}

/** The columns that have memory of their own. */
function roomsOf({ at, values, received }: Columns): Float64Array[] {
  return [at, values, received].filter(({ length }) => length > 0);
}

/** What an entry and its arrays take beside their numbers, about. */
const entryBytes = 500;

/** The memory that a chunk really takes: of small ones that is far more than their datapoints. */
function bytesHeld(columns: Columns): number {
  const texts = bytesOfColumns(columns) - columns.count * bytesOfRow;
  return roomsOf(columns).reduce((bytes, { buffer }) => bytes + buffer.byteLength, entryBytes + texts);
}
