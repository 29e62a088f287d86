// A bounded memory of things that can be had again (I4). When full it forgets what was used longest ago.

interface Entry<K, V> {
  readonly key: K;
  value: V;
  /** Used before this one, and after it. */
  older: Entry<K, V> | undefined;
  newer: Entry<K, V> | undefined;
}

/**
 * A map that forgets what was used longest ago once the summed weight exceeds `weightMax`. The order is a chain of its own: that
 * of a Map, whose first entry is removed for each new one, has to be looked for behind as many that are gone as it may hold.
 */
export class LruCache<K, V> {
  readonly #weightMax: number;
  readonly #weigh: (value: V) => number;
  readonly #onDrop: ((value: V) => void) | undefined;
  readonly #entries = new Map<K, Entry<K, V>>();
  #oldest: Entry<K, V> | undefined;
  #newest: Entry<K, V> | undefined;
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
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    // With room to spare the order does not matter.
    if (this.#weight * 2 > this.#weightMax && entry !== this.#newest) {
      this.#unlink(entry);
      this.#link(entry);
    }
    return entry.value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    const entry: Entry<K, V> = { key, value, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#link(entry);
    this.#weight += this.#weigh(value);
    while (this.#weight > this.#weightMax && this.#oldest !== undefined && this.#oldest !== entry)
      this.delete(this.#oldest.key);
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
    this.#weight -= this.#weigh(entry.value);
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
