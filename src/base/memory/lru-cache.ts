// A bounded memory of things that can be had again (I4). When full it forgets what was used longest ago.
import type { MemoryPool, PoolMember } from './memory-pool.ts';

interface Entry<K, V> {
  readonly key: K;
  readonly value: V;
  /** Kept, because a value may weigh something else later. */
  readonly weight: number;
  /** Used before this one, and after it. */
  older: Entry<K, V> | undefined;
  newer: Entry<K, V> | undefined;
}

/**
 * A map that forgets what was used longest ago once the summed weight exceeds `weightMax`. The order is a chain of its own: that
 * of a Map, whose first entry is removed for each new one, has to be looked for behind as many that are gone as it may hold.
 */
export class LruCache<K, V> implements PoolMember {
  readonly weightMax: number;
  readonly #pool: MemoryPool | undefined;
  readonly #entriesMax: number;
  readonly #weigh: (value: V, key: K) => number;
  readonly #onDrop: ((value: V) => void) | undefined;
  readonly #entries = new Map<K, Entry<K, V>>();
  #oldest: Entry<K, V> | undefined;
  #newest: Entry<K, V> | undefined;
  #weight = 0;

  /**
   * @param options `onDrop` is told what the cache forgets, `clear` apart. Where a caller chooses how long keys or values
   * are, `weigh` gives bytes; without it each entry weighs one.
   */
  constructor(options: {
    readonly weightMax: number;
    readonly entriesMax?: number;
    readonly weigh?: (value: V, key: K) => number;
    readonly onDrop?: (value: V) => void;
    /** A memory that it shares with others, and that bounds all of them. */
    readonly pool?: MemoryPool;
  }) {
    this.weightMax = options.weightMax;
    this.#entriesMax = options.entriesMax ?? Number.POSITIVE_INFINITY;
    this.#weigh = options.weigh ?? (() => 1);
    this.#onDrop = options.onDrop;
    this.#pool = options.pool;
    this.#pool?.join(this);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** What all entries weigh together. */
  get weight(): number {
    return this.#weight;
  }

  get #isTooMuch(): boolean {
    return this.#weight > this.weightMax || this.#entries.size > this.#entriesMax;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // With room to spare the order does not matter.
    if ((this.#weight * 2 > this.weightMax || this.#entries.size * 2 > this.#entriesMax) && entry !== this.#newest) {
      this.#unlink(entry);
      this.#link(entry);
    }
    return entry.value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    const weight = this.#weigh(value, key);
    const entry: Entry<K, V> = { key, value, weight, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#link(entry);
    this.#weight += weight;
    while (this.#isTooMuch && this.#oldest !== undefined && this.#oldest !== entry) this.delete(this.#oldest.key);
    this.#pool?.makeRoom();
  }

  /** Forgets what was used longest ago; false where there is nothing. */
  shrink(): boolean {
    if (this.#oldest === undefined) return false;
    this.delete(this.#oldest.key);
    return true;
  }

  /** Keys and values, those used longest ago first, about. */
  *entries(): Generator<readonly [K, V]> {
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) yield [entry.key, entry.value];
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#unlink(entry);
    this.#weight -= entry.weight;
    this.#onDrop?.(entry.value);
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
    this.#newest = undefined;
    this.#weight = 0;
  }

  #link(entry: Entry<K, V>): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink(entry: Entry<K, V>): void {
    const { older, newer } = entry;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}
