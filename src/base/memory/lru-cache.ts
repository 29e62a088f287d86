// A bounded cache of things that can be loaded again (I4). When full it drops what was used longest ago. The package
// lru-cache keeps the order and the weights. Added here: the memory pool that caches share, bounds that reserve no
// memory in advance, and reads that do not change the order while there is room
// (docs/decisions/0026-our-own-code.md).
import { LRUCache } from 'lru-cache';
import type { MemoryPool, PoolMember } from './memory-pool.ts';

/**
 * A map that drops the least recently used entries once the sum of weights exceeds `weightMax`. The newest entry
 * stays, whatever it weighs.
 */
export class LruCache<K extends {}, V extends {}> implements PoolMember {
  readonly weightMax: number;
  readonly #pool: MemoryPool | undefined;
  readonly #entriesMax: number;
  readonly #cache: LRUCache<K, V>;

  /**
   * @param options `onDrop` is called for each entry that leaves the cache. `weigh` returns the bytes of an entry, a
   * whole number above 0; needed where callers choose how long keys or values are. Without it each entry weighs one.
   */
  constructor(options: {
    readonly weightMax: number;
    readonly entriesMax?: number;
    readonly weigh?: (value: V, key: K) => number;
    readonly onDrop?: (value: V) => void;
    /** A memory pool that this cache shares with other caches. */
    readonly pool?: MemoryPool;
  }) {
    const { weightMax, entriesMax, weigh, onDrop, pool } = options;
    this.weightMax = weightMax;
    this.#entriesMax = entriesMax ?? Number.POSITIVE_INFINITY;
    // This class keeps the bounds itself: for a `max` the package reserves all slots at once, and it refuses entries
    // above `maxSize`.
    this.#cache = new LRUCache<K, V>({
      maxSize: Number.MAX_SAFE_INTEGER,
      sizeCalculation: weigh ?? (() => 1),
      ...(onDrop === undefined ? {} : { dispose: (value: V) => onDrop(value) }),
    });
    this.#pool = pool;
    this.#pool?.join(this);
  }

  get size(): number {
    return this.#cache.size;
  }

  /** The total weight. */
  get weight(): number {
    return this.#cache.calculatedSize;
  }

  get #isTooMuch(): boolean {
    return this.#cache.calculatedSize > this.weightMax || this.#cache.size > this.#entriesMax;
  }

  get(key: K): V | undefined {
    // With room to spare the order does not matter, and reading without changing it takes half the time.
    const hasRoom = this.#cache.calculatedSize * 2 <= this.weightMax && this.#cache.size * 2 <= this.#entriesMax;
    return hasRoom ? this.#cache.peek(key) : this.#cache.get(key);
  }

  set(key: K, value: V): void {
    const before = this.#cache.calculatedSize;
    this.#cache.set(key, value);
    const grown = Math.max(0, this.#cache.calculatedSize - before);
    while (this.#isTooMuch && this.#cache.size > 1) this.#cache.pop();
    this.#pool?.makeRoom(grown);
  }

  /** Drops the least recently used entry; false where there is none. */
  shrink(): boolean {
    if (this.#cache.size === 0) return false;
    this.#cache.pop();
    return true;
  }

  /** Keys and values, roughly in order of use, the oldest first. */
  entries(): Iterable<readonly [K, V]> {
    return this.#cache.rentries() as Iterable<readonly [K, V]>;
  }

  delete(key: K): void {
    this.#cache.delete(key);
  }

  clear(): void {
    this.#cache.clear();
  }
}
