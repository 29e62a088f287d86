// Shared counts where one process has the data: in its memory, so that a restart begins at zero. Bounded; beyond the bound
// the count that was used longest ago is dropped. Measured by the monotonic clock, so that nobody is locked out, or let in,
// because the wall clock was moved.
import { LruCache } from '../../../base/memory/lru-cache.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { BoundedCount, Count, CountKey, CountKind, SharedCounts } from '../../../domain/ports/shared-counts.ts';

export class LocalCounts implements SharedCounts {
  readonly #clock: Clock;
  /** Their times are those of the monotonic clock. */
  readonly #counts: Readonly<Record<CountKind, LruCache<string, Count>>> = {
    'failed-logins': new LruCache({ weightMax: limits.loginFailuresTrackedMax }),
    registrations: new LruCache({ weightMax: 1 }),
    'registrations-by-address': new LruCache({ weightMax: limits.registrationAddressesMax }),
    'account-mails': new LruCache({ weightMax: limits.accountMailsTrackedMax }),
    'account-mails-by-address': new LruCache({ weightMax: limits.accountMailsTrackedMax }),
    renames: new LruCache({ weightMax: limits.renamesTrackedMax }),
    'renames-by-user': new LruCache({ weightMax: limits.renamesTrackedMax }),
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async find({ kind, key }: CountKey): Promise<Count | undefined> {
    return this.#onWallClock(this.#counts[kind].get(key));
  }

  async add({ kind, key }: CountKey, { forgetAfterMs }: { readonly forgetAfterMs: number }): Promise<void> {
    const nowMs = this.#clock.elapsedMs();
    const before = this.#counts[kind].get(key);
    const isForgotten = before === undefined || nowMs - before.lastMs > forgetAfterMs;
    this.#counts[kind].set(key, isForgotten ? first(nowMs) : next(before, nowMs));
  }

  async take(counts: readonly BoundedCount[]): Promise<Count | undefined> {
    const nowMs = this.#clock.elapsedMs();
    const taken: (CountKey & { readonly count: Count })[] = [];
    for (const { kind, key, max, windowMs } of counts) {
      const before = this.#counts[kind].get(key);
      const isOver = before === undefined || nowMs - before.sinceMs >= windowMs;
      if (!isOver && before.count >= max) return this.#onWallClock(before);
      taken.push({ kind, key, count: isOver ? first(nowMs) : next(before, nowMs) });
    }
    for (const { kind, key, count } of taken) this.#counts[kind].set(key, count);
    return undefined;
  }

  async remove({ kind, key }: CountKey): Promise<void> {
    this.#counts[kind].delete(key);
  }

  /** With the times as the wall clock has them now. */
  #onWallClock(count: Count | undefined): Count | undefined {
    if (count === undefined) return undefined;
    const offsetMs = this.#clock.now() - this.#clock.elapsedMs();
    return { ...count, sinceMs: count.sinceMs + offsetMs, lastMs: count.lastMs + offsetMs };
  }
}

function first(nowMs: number): Count {
  return { count: 1, sinceMs: nowMs, lastMs: nowMs };
}

function next({ count, sinceMs }: Count, nowMs: number): Count {
  return { count: count + 1, sinceMs, lastMs: nowMs };
}
