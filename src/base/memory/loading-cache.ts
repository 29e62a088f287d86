// A bounded cache of records that are loaded when they are asked for (I4). A record that changes in the store while
// it is being loaded is loaded again, so that no outdated record is cached.
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../../config/limits.ts';
import { LruCache } from './lru-cache.ts';
import type { MemoryPool } from './memory-pool.ts';

export class LoadingCache<K extends {}, V extends {}> {
  readonly #load: (key: K) => Promise<V | undefined>;
  readonly #loadMany: (records: readonly V[], keys: readonly K[]) => Promise<ReadonlyMap<K, V>>;
  readonly #weigh: (value: V, key: K) => number;
  readonly #values: LruCache<K, V>;
  readonly #loading = new Map<K, Promise<V | undefined>>();
  readonly #refreshing = new Map<K, Promise<V | undefined>>();
  #changes = 0;

  /** @param options `loadMany`: reads records of the cache anew, with one query where `load` takes one each; for `refreshAll`. */
  constructor(options: {
    readonly load: (key: K) => Promise<V | undefined>;
    readonly loadMany?: (records: readonly V[], keys: readonly K[]) => Promise<ReadonlyMap<K, V>>;
    readonly weightMax: number;
    readonly entriesMax?: number;
    readonly weigh?: (value: V, key: K) => number;
    readonly pool?: MemoryPool;
  }) {
    this.#load = options.load;
    this.#loadMany = options.loadMany ?? ((_, keys) => this.#loadEach(keys));
    this.#weigh = options.weigh ?? (() => 1);
    this.#values = new LruCache(options);
  }

  /** The record if it is in memory. */
  peek(key: K): V | undefined {
    return this.#values.get(key);
  }

  /**
   * The record, loaded if it is not in memory. Callers who ask at the same time share one load. @throws what `load`
   * throws.
   */
  async find(key: K): Promise<V | undefined> {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    let loading = this.#loading.get(key);
    if (loading === undefined) {
      loading = this.#read(key).finally(() => this.#loading.delete(key));
      this.#loading.set(key, loading);
    }
    return loading;
  }

  /**
   * Reloads the record after a change of the store, before the change is acknowledged. The old record stays until the
   * new one is loaded: without any record, messages on their way could not be checked and would be lost.
   */
  async refresh(key: K): Promise<void> {
    if (this.#values.get(key) === undefined) {
      this.forget(key);
      return;
    }
    this.#changes += 1;
    // A load in progress is repeated after a change, so one is enough for all who wait.
    let refreshing = this.#refreshing.get(key);
    if (refreshing === undefined) {
      refreshing = this.#read(key).finally(() => this.#refreshing.delete(key));
      this.#refreshing.set(key, refreshing);
    }
    try {
      await refreshing;
    } catch {
      // The change is stored; the next reader loads the record, and gets the error if that fails.
      this.forget(key);
    }
  }

  /**
   * Reads all records anew, because any may have changed, in steps with a pause behind each. Each old record stays until the new one is
   * read, as with `refresh`. @throws what reading throws: those that are not read yet stay as they are; call it again.
   */
  async refreshAll(): Promise<void> {
    // What is being loaded now is read again.
    this.#changes += 1;
    const keys = [...this.#values.entries()].map(([key]) => key);
    for (let next = 0; next < keys.length; ) {
      const step = new Map<K, V>();
      for (let bytes = 0; next < keys.length && step.size < limits.refreshStepMax; next += 1) {
        const key = keys[next] as K;
        const value = this.#values.get(key);
        if (value === undefined) continue;
        bytes += this.#weigh(value, key);
        if (step.size > 0 && bytes > limits.refreshStepBytesMax) break;
        step.set(key, value);
      }
      await this.#refreshStep(step);
      await delay(limits.refreshPauseMs, undefined, { ref: false });
    }
  }

  async #refreshStep(step: ReadonlyMap<K, V>): Promise<void> {
    if (step.size === 0) return;
    const read = await this.#loadMany([...step.values()], [...step.keys()]);
    for (const [key, before] of step) {
      // Changed meanwhile: that may be later than what was read here.
      if (this.#values.get(key) !== before) continue;
      const value = read.get(key);
      if (value !== undefined) this.#values.set(key, value);
      else await this.#read(key);
    }
  }

  async #loadEach(keys: readonly K[]): Promise<ReadonlyMap<K, V>> {
    const read = new Map<K, V>();
    for (const key of keys) {
      const value = await this.#load(key);
      if (value !== undefined) read.set(key, value);
    }
    return read;
  }

  /** Drops the record, because the store has changed. */
  forget(key: K): void {
    this.#changes += 1;
    this.#values.delete(key);
    this.#loading.delete(key);
  }

  /** Drops all records, because any may have changed. */
  forgetAll(): void {
    this.#changes += 1;
    this.#values.clear();
    this.#loading.clear();
  }

  async #read(key: K): Promise<V | undefined> {
    for (;;) {
      const changes = this.#changes;
      const value = await this.#load(key);
      // A change committed during the read may be missing in it: reads again.
      if (changes !== this.#changes) continue;
      if (value === undefined) this.#values.delete(key);
      else this.#values.set(key, value);
      return value;
    }
  }
}
