// Shared counts where one process has the data: in its memory, so that a restart begins at zero. Bounded; beyond the bound
// the count that was used longest ago is dropped.
import { LruCache } from '../../../base/memory/lru-cache.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { BoundedCount, Count, CountKey, CountKind, SharedCounts } from '../../../domain/ports/shared-counts.ts';

export class LocalCounts implements SharedCounts {
  readonly #clock: Clock;
  readonly #counts: Readonly<Record<CountKind, LruCache<string, Count>>> = {
    'failed-logins': new LruCache({ weightMax: limits.loginFailuresTrackedMax }),
    registrations: new LruCache({ weightMax: 1 }),
    'registrations-by-address': new LruCache({ weightMax: limits.registrationAddressesMax }),
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async find({ kind, key }: CountKey): Promise<Count | undefined> {
    return this.#counts[kind].get(key);
  }

  async add({ kind, key }: CountKey, { forgetAfterMs }: { readonly forgetAfterMs: number }): Promise<void> {
    const nowMs = this.#clock.now();
    const before = this.#counts[kind].get(key);
    const isForgotten = before === undefined || nowMs - before.lastMs > forgetAfterMs;
    this.#counts[kind].set(key, isForgotten ? first(nowMs) : next(before, nowMs));
  }

  async take(counts: readonly BoundedCount[]): Promise<Count | undefined> {
    const nowMs = this.#clock.now();
    const taken: (CountKey & { readonly count: Count })[] = [];
    for (const { kind, key, max, windowMs } of counts) {
      const before = this.#counts[kind].get(key);
      const isOver = before === undefined || nowMs - before.sinceMs >= windowMs;
      if (!isOver && before.count >= max) return before;
      taken.push({ kind, key, count: isOver ? first(nowMs) : next(before, nowMs) });
    }
    for (const { kind, key, count } of taken) this.#counts[kind].set(key, count);
    return undefined;
  }

  async remove({ kind, key }: CountKey): Promise<void> {
    this.#counts[kind].delete(key);
  }
}

function first(nowMs: number): Count {
  return { count: 1, sinceMs: nowMs, lastMs: nowMs };
}

function next({ count, sinceMs }: Count, nowMs: number): Count {
  return { count: count + 1, sinceMs, lastMs: nowMs };
}
