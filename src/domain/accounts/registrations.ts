// Bounds self-registration: accounts in an hour, for each address and for all together, counted over all processes.
// Called by accounts.ts before the expensive part of creating an account.

import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { SharedCounts } from '../ports/shared-counts.ts';

const hourMs = 3_600_000;

export class Registrations {
  readonly #clock: Clock;
  readonly #counts: SharedCounts;

  constructor(parts: { readonly clock: Clock; readonly counts: SharedCounts }) {
    this.#clock = parts.clock;
    this.#counts = parts.counts;
  }

  /** Counts a registration. @throws Refusal `too-many` when there were too many within the hour. */
  async take(address: string): Promise<void> {
    const full = await this.#counts.take([
      { kind: 'registrations-by-address', key: address, max: limits.registrationsPerAddressMax, windowMs: hourMs },
      { kind: 'registrations', key: '', max: limits.registrationsMax, windowMs: hourMs },
    ]);
    if (full === undefined) return;
    const retryAfterS = Math.ceil((full.sinceMs + hourMs - this.#clock.now()) / 1000);
    throw new Refusal('too-many', `Too many accounts were made in a short time. Try again in ${retryAfterS} s.`, {
      retryAfterS,
    });
  }
}
