// Hands devices over to other users (contract 3). A handover takes effect at once: shares that others gave end, and
// API keys of the former owner lose the device. For `handoverDays` the new owner may restore the shares, or give the
// device back as it was, so that nobody has to keep a device from a stranger.

import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Permissions } from '../permissions/permission.ts';
import { assertMayOwn } from '../permissions/visibility.ts';
import type { Actor } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { Device, DeviceId } from './device.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { ModificationStamp } from './device-store.ts';
import type { Handover, HandoverStore } from './handover-store.ts';

export class Handovers {
  readonly #store: HandoverStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #users: Users;
  readonly #clock: Clock;
  readonly #ages: Clock;
  readonly #onKeysChanged: () => Promise<void>;

  /** @param parts.onKeysChanged called when API keys may name other devices than before. */
  constructor(parts: {
    readonly store: HandoverStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly users: Users;
    readonly clock: Clock;
    /** The clock by which a handover is too old to be undone. */
    readonly ages: Clock;
    readonly onKeysChanged: () => Promise<void>;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#users = parts.users;
    this.#clock = parts.clock;
    this.#ages = parts.ages;
    this.#onKeysChanged = parts.onKeysChanged;
  }

  /**
   * Hands the device over; allowed to its owner and admins.
   * @throws Refusal `quota`, also where the owner has handed over, or the receiver has been handed, as much as the
   * bounds allow.
   */
  async handOver(actor: Actor, id: DeviceId, username: string): Promise<void> {
    this.#permissions.requireNoKey(actor, 'owners');
    const device = await this.#directory.get(id);
    this.#permissions.requireOwner(actor, device);
    const owner = await this.#users.getByName(username);
    assertMayOwn(owner.username, device);
    if (owner.key === device.ownerKey) return;
    // An admin's handover is not counted, because the receiver did not ask for the device.
    const options = { forgetBeforeMs: this.#sinceMs(), isCounted: !actor.admin };
    await this.#change(device, (stamp) => this.#store.handOver(stamp, owner.key, options));
  }

  /** Handovers to the actor that can still be given back, newest first. */
  async listReceived(actor: Actor): Promise<Handover[]> {
    this.#requireSignedIn(actor);
    return this.#store.listReceived(actor.key, this.#sinceMs());
  }

  /** Restores the shares of the former owner. @throws Refusal `not-found`, `forbidden` */
  async keepShares(actor: Actor, id: DeviceId): Promise<void> {
    const { device, handover } = await this.#received(actor, id);
    await this.#change(device, () => this.#store.keepShares(handover));
  }

  /** Gives the device back. @throws Refusal `not-found`; `conflict` when the former owner was removed. */
  async giveBack(actor: Actor, id: DeviceId): Promise<void> {
    const { device, handover } = await this.#received(actor, id);
    const { former } = handover;
    if (former === undefined) {
      throw new Refusal(
        'conflict',
        `Who had ${id} before is no user any more. Hand it to somebody else, or delete it.`,
      );
    }
    assertMayOwn(former.username, device);
    await this.#change(device, async (stamp) => {
      // Another request may have kept the shares, which ends the handover.
      if (!(await this.#store.giveBack(stamp, former.key))) throw notReceived(id);
    });
  }

  async #received(actor: Actor, id: DeviceId): Promise<{ readonly device: Device; readonly handover: Handover }> {
    this.#requireSignedIn(actor);
    const device = await this.#directory.find(id);
    const handover = device && (await this.#store.find(device.key));
    const isOpen = handover?.receiver === actor.key && handover.atMs >= this.#sinceMs();
    // Others learn nothing of the handover, not even that it exists.
    if (device === undefined || handover === undefined || !isOpen || device.ownerKey !== actor.key) {
      throw notReceived(id);
    }
    return { device, handover };
  }

  #requireSignedIn(actor: Actor): void {
    this.#permissions.requireNoKey(actor, 'owners');
    this.#permissions.requireGuestAllowed(actor);
    if (actor.guest) throw new Refusal('forbidden', 'Sign in to see what you were handed.');
  }

  #sinceMs(): number {
    return this.#ages.now() - limits.handoverDays * dayMs;
  }

  async #change(device: Device, write: (stamp: ModificationStamp) => Promise<void>): Promise<void> {
    try {
      await write({ device: device.key, atMs: this.#clock.now() });
    } finally {
      await this.#onKeysChanged();
      await this.#directory.refresh(device.id);
    }
  }
}

function notReceived(id: DeviceId): Refusal {
  return new Refusal('not-found', `You were not handed ${id} within the last ${limits.handoverDays} days.`);
}

const dayMs = 24 * 3_600_000;
