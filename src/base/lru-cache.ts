// A bounded memory of things that can be had again (I4). When full it forgets what was used longest ago.

/** A map that forgets what was used longest ago once the summed weight exceeds `weightMax`. */
export class LruCache<K, V> {
  readonly #weightMax: number;
  readonly #weigh: (value: V) => number;
  readonly #onDrop: ((value: V) => void) | undefined;
  readonly #entries = new Map<K, V>();
  #weight = 0;

  /** @param options `onDrop` is told what the cache forgets, `clear` apart. */
  constructor(options: {
    readonly weightMax: number;
    readonly weigh?: (value: V) => number;
    readonly onDrop?: (value: V) => void;
  }) {
    this.#weightMax = options.weightMax;
    this.#weigh = options.weigh ?? (() => 1);
    this.#onDrop = options.onDrop;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    // Moving an entry on every use would cost more than the use; with room to spare the order does not matter.
    if (value !== undefined && this.#weight * 2 > this.#weightMax) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.#weigh(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#weightMax || this.#entries.size === 1) break;
      this.delete(oldest);
    }
  }

  entries(): IterableIterator<[K, V]> {
    return this.#entries.entries();
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.#weigh(value);
    this.#onDrop?.(value);
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }
}
