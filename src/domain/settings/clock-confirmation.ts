// What a person may say of the wall clock (decision 30): that it is right. Whoever says so tells the present time, so that a
// wrong clock is not confirmed unseen. It holds for the process that is asked: each machine has a clock of its own.
import { Refusal } from '../../base/refusal.ts';
import type { ClockWatch } from '../../base/time/clock-watch.ts';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Actor } from '../users/user.ts';

export interface ClockState {
  /** Milliseconds since 1970 UTC, by the wall clock. */
  readonly nowMs: number;
  readonly isInDoubt: boolean;
  /** What people have to know of it, in a sentence; undefined where all is well. */
  readonly reason: string | undefined;
}

export class ClockConfirmation {
  readonly #permissions: Permissions;
  readonly #clocks: Pick<ClockWatch, 'now' | 'look' | 'isInDoubt' | 'describe' | 'confirm'>;

  constructor(parts: {
    readonly permissions: Permissions;
    readonly clocks: Pick<ClockWatch, 'now' | 'look' | 'isInDoubt' | 'describe' | 'confirm'>;
  }) {
    this.#permissions = parts.permissions;
    this.#clocks = parts.clocks;
  }

  /** @throws Refusal `forbidden` for all but admins. */
  get(actor: Actor): ClockState {
    this.#permissions.requireSettings(actor);
    this.#clocks.look();
    const { isInDoubt } = this.#clocks;
    return { nowMs: this.#clocks.now(), isInDoubt, reason: this.#clocks.describe() };
  }

  /**
   * Trusts the wall clock from now on.
   * @throws Refusal `forbidden` for all but admins, `conflict` where it does not show the time that the admin tells.
   */
  confirm(actor: Actor, timeMs: number): void {
    this.#permissions.requireSettings(actor);
    const nowMs = this.#clocks.now();
    if (Math.abs(nowMs - timeMs) > limits.clockDifferenceMsMax) {
      throw new Refusal(
        'conflict',
        `The clock of the service shows ${formatTimestamp(nowMs)}, which is more than a minute from ${formatTimestamp(timeMs)}. Set the clock of its machine right first.`,
      );
    }
    this.#clocks.confirm(actor.username);
  }
}
