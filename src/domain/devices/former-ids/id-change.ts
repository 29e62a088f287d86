// What giving a device and giving a sensor another id have in common: the id is changed while no rule looks at its datapoints,
// and the one before becomes a former id. Called by renaming.ts and sensor-renaming.ts, which decide who may.
import { Refusal } from '../../../base/refusal.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { Device, DeviceId } from '../device.ts';
import { formerIdMs } from './former-id.ts';
import type { RenameTimes, StoredRename } from './former-id-store.ts';

/** What names devices by their ids in memory, and has to follow. Implemented above this noun. */
export interface IdFollowers {
  /**
   * Runs `rename` so that rules miss no datapoint by it; afterwards those that watched the device watch it under its new id.
   * `rename` tells which other rules name that.
   */
  whileRenaming(from: DeviceId, rename: () => Promise<readonly string[]>): Promise<void>;
  /** API keys may name other ids than before. */
  keysChanged(): Promise<void>;
  /** So many retained messages of an earlier device were removed. */
  retainedRemoved(count: number): void;
}

export class IdChange {
  readonly #clock: Clock;
  readonly #ages: Clock;
  readonly #followers: Pick<IdFollowers, 'whileRenaming' | 'retainedRemoved'>;

  constructor(parts: {
    readonly clock: Clock;
    /** The clock by which former ids end. */
    readonly ages: Clock;
    readonly followers: Pick<IdFollowers, 'whileRenaming' | 'retainedRemoved'>;
  }) {
    this.#clock = parts.clock;
    this.#ages = parts.ages;
    this.#followers = parts.followers;
  }

  /**
   * Changes an id of the device, or of a sensor of it. `store` resolves to undefined where the device has changed since it was read;
   * `taken` says which id is taken.
   * @throws Refusal `exists`, `busy`, and what `store` refuses.
   */
  async make(
    device: Device,
    { store, taken }: { store: (times: RenameTimes) => Promise<StoredRename | undefined>; taken: () => Refusal },
  ): Promise<void> {
    let stored: StoredRename | undefined;
    const rename = async () => {
      const atMs = this.#clock.now();
      stored = await store({ atMs, ageMs: this.#ages.now(), untilMs: this.#ages.now() + formerIdMs });
      return stored?.rules ?? [];
    };
    try {
      await this.#followers.whileRenaming(device.id, rename);
    } catch (error) {
      throw error instanceof Refusal && error.code === 'exists' ? taken() : error;
    }
    if (stored === undefined) {
      const detail = `Another request has changed device ${device.id} meanwhile. Try again.`;
      throw new Refusal('busy', detail, { retryAfterS: limits.busyRetryAfterS });
    }
    this.#followers.retainedRemoved(stored.retainedGone);
  }
}
