// Bounds how often devices and sensors get other ids. A rename changes many records in one commit and holds up the evaluation of
// rules, so renaming in a loop would delay everybody's commits and rules. Counted over all processes, in windows of a day.
import { Refusal } from '../../../base/refusal.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { DeviceKey } from '../../device-key.ts';
import type { BoundedCount, Count, SharedCounts } from '../../ports/shared-counts.ts';
import type { Actor } from '../../users/user.ts';

export class RenameRate {
  readonly #counts: SharedCounts;
  readonly #clock: Clock;

  constructor(parts: { readonly counts: SharedCounts; readonly clock: Clock }) {
    this.#counts = parts.counts;
    this.#clock = parts.clock;
  }

  /** @throws Refusal `too-many` where the device, or the user, has used up the renames of the day. */
  async take(actor: Actor, device: DeviceKey): Promise<void> {
    const full = await this.#counts.take(boundsOf(actor, device));
    if (full !== undefined) throw this.#tooMany(full);
  }

  /** As `take`, but counts nothing: call it before work that precedes `take`. @throws Refusal as `take`. */
  async look(actor: Actor, device: DeviceKey): Promise<void> {
    for (const bound of boundsOf(actor, device)) {
      const count = await this.#counts.find(bound);
      if (count === undefined || count.count < bound.max) continue;
      if (count.sinceMs + bound.windowMs > this.#clock.now()) throw this.#tooMany(count);
    }
  }

  #tooMany({ sinceMs }: Count): Refusal {
    return new Refusal(
      'too-many',
      `A device or its sensors get at most ${limits.renamesPerDeviceMax} other ids a day, and a user gives at most ${limits.renamesPerUserMax}.`,
      { retryAfterS: Math.max(1, Math.ceil((sinceMs + dayMs - this.#clock.now()) / 1000)) },
    );
  }
}

function boundsOf({ caller }: Actor, device: DeviceKey): readonly BoundedCount[] {
  return [
    { kind: 'renames', key: String(device), max: limits.renamesPerDeviceMax, windowMs: dayMs },
    { kind: 'renames-by-user', key: caller.key, max: limits.renamesPerUserMax, windowMs: dayMs },
  ];
}

const dayMs = 24 * 3_600_000;
