// Caches decoded chunks and reuses their buffers: a long read decodes hundreds of chunks, and new arrays for each would
// be collected late and keep the garbage collector busy on a shared core.
import { LruCache } from '../../../base/memory/lru-cache.ts';
import { limits } from '../../../config/limits.ts';
import { bytesOfColumns, bytesOfRow, type Columns } from '../../../domain/datapoints/columns.ts';
import { decodeChunk } from '../codec/chunk-codec.ts';

/** Sizes of buffers, in numbers, are multiples of this, so that chunks of similar size can reuse them. */
const bufferStep = 1024;
/** The same for chunks of less than one step. */
const smallStep = 64;
/** A buffer more than this many times too large is left for a larger chunk. */
const wasteMax = 2;

export class DecodedChunks {
  readonly #kept: LruCache<number, Columns>;
  /** Evicted from the cache, but perhaps still used by the present read. */
  #dropped: Columns[] = [];
  /** Unused buffers, the one that has been free longest first. */
  readonly #free: ArrayBuffer[] = [];
  #freeBytes = 0;

  /** @param options approximate bytes of chunks kept for later reads. */
  constructor(options: { readonly bytesMax: number }) {
    const onDrop = (columns: Columns) => this.#dropped.push(columns);
    this.#kept = new LruCache({ weightMax: options.bytesMax, weigh: bytesHeld, onDrop });
  }

  /**
   * A decoded chunk, valid until `endOfRead`; must not be written to.
   * @param key identifies the chunk and which parts of it are decoded
   * @throws CorruptChunk
   */
  take(key: number, bytes: Uint8Array, want: { readonly received: boolean }): Columns {
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const columns = decodeChunk(bytes, { received: want.received, allocate: (count) => this.#allocate(count) });
    this.#kept.set(key, columns);
    return columns;
  }

  /** Called when none of the columns returned by `take` is used any more. */
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

/** The columns that have buffers of their own. */
function roomsOf({ at, values, received }: Columns): Float64Array[] {
  return [at, values, received].filter(({ length }) => length > 0);
}

/** Estimated bytes of a cache entry and its array objects, without the numbers in them. */
const entryBytes = 500;

/** The bytes that a chunk really takes; for small ones far more than their datapoints. */
function bytesHeld(columns: Columns): number {
  const texts = bytesOfColumns(columns) - columns.count * bytesOfRow;
  return roomsOf(columns).reduce((bytes, { buffer }) => bytes + buffer.byteLength, entryBytes + texts);
}
