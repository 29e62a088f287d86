// Bounds self-registration: accounts an hour for each address and for all together. Called by accounts.ts before the
// expensive part of creating an account.

import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';

interface Window {
  readonly sinceMs: number;
  readonly count: number;
}

const hourMs = 3_600_000;

export class Registrations {
  readonly #clock: Clock;
  readonly #byAddress = new LruCache<string, Window>({ weightMax: limits.registrationAddressesMax });
  #all: Window = { sinceMs: 0, count: 0 };

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /** @throws Refusal `too-many` when there were too many within the hour. */
  take(address: string): void {
    const ofAddress = this.#counted(this.#byAddress.get(address), limits.registrationsPerAddressMax);
    const ofAll = this.#counted(this.#all, limits.registrationsMax);
    this.#byAddress.set(address, ofAddress);
    this.#all = ofAll;
  }

  #counted(window: Window | undefined, max: number): Window {
    const nowMs = this.#clock.now();
    if (window === undefined || nowMs - window.sinceMs >= hourMs) return { sinceMs: nowMs, count: 1 };
    if (window.count < max) return { ...window, count: window.count + 1 };
    const retryAfterS = Math.ceil((window.sinceMs + hourMs - nowMs) / 1000);
    throw new Refusal('too-many', `Too many accounts were made in a short time. Try again in ${retryAfterS} s.`, {
      retryAfterS,
    });
  }
}
