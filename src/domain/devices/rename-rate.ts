// Bounds how often devices and sensors get other ids: what follows is written in one commit, rules wait meanwhile, and whoever
// renames back and forth would keep others from both. Counted over all processes, in windows of a day.
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { DeviceKey } from '../device-key.ts';
import type { SharedCounts } from '../ports/shared-counts.ts';
import type { Actor } from '../users/user.ts';

export class RenameRate {
  readonly #counts: SharedCounts;
  readonly #clock: Clock;

  constructor(parts: { readonly counts: SharedCounts; readonly clock: Clock }) {
    this.#counts = parts.counts;
    this.#clock = parts.clock;
  }

  /** @throws Refusal `too-many` where the device has had enough other ids today, or the user has given enough. */
  async take({ caller }: Actor, device: DeviceKey): Promise<void> {
    const full = await this.#counts.take([
      { kind: 'renames', key: String(device), max: limits.renamesPerDeviceMax, windowMs: dayMs },
      { kind: 'renames-by-user', key: caller.key, max: limits.renamesPerUserMax, windowMs: dayMs },
    ]);
    if (full === undefined) return;
    throw new Refusal(
      'too-many',
      `A device or its sensors get at most ${limits.renamesPerDeviceMax} other ids a day, and a user gives at most ${limits.renamesPerUserMax}.`,
      { retryAfterS: Math.max(1, Math.ceil((full.sinceMs + dayMs - this.#clock.now()) / 1000)) },
    );
  }
}

const dayMs = 24 * 3_600_000;
