// Removing accounts (contract 2): by admins, and one's own with the password. What hangs on the user goes with them; their
// devices are handed over or removed first.
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { Devices } from '../devices/devices.ts';
import type { Handovers } from '../devices/handovers.ts';
import type { Gateways } from '../gateways/gateways.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { SessionRevocations } from '../users/session-revocations.ts';
import { type Actor, guestUsername, type User } from '../users/user.ts';
import type { UserStore } from '../users/user-store.ts';
import type { Users } from '../users/users.ts';
import type { CurrentPassword } from './current-password.ts';
import type { LastAdmin } from './last-admin.ts';

/** What happens to the devices, gateways and projects of a removed user. */
export interface DeviceDisposition {
  readonly devices?: 'delete' | 'transfer' | undefined;
  /** Username of the new owner. */
  readonly to?: string | undefined;
}

/** Devices handled in one step of a removal; and devices named in a refusal. */
const devicesAtOnce = 50;
const devicesNamed = 20;

/** The present password, and the address from which it is given. */
interface CurrentLogin {
  readonly current: string | undefined;
  readonly address: string;
}

export class AccountRemovals {
  readonly #store: UserStore;
  readonly #users: Users;
  readonly #permissions: Permissions;
  readonly #devices: Devices;
  readonly #handovers: Handovers;
  readonly #gateways: Gateways;
  readonly #clock: Clock;
  readonly #revocations: SessionRevocations;
  readonly #lastAdmin: LastAdmin;
  readonly #current: CurrentPassword;

  constructor(parts: {
    readonly store: UserStore;
    readonly users: Users;
    readonly permissions: Permissions;
    readonly devices: Devices;
    readonly handovers: Handovers;
    readonly gateways: Gateways;
    readonly clock: Clock;
    readonly revocations: SessionRevocations;
    readonly lastAdmin: LastAdmin;
    readonly current: CurrentPassword;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#permissions = parts.permissions;
    this.#devices = parts.devices;
    this.#handovers = parts.handovers;
    this.#gateways = parts.gateways;
    this.#clock = parts.clock;
    this.#revocations = parts.revocations;
    this.#lastAdmin = parts.lastAdmin;
    this.#current = parts.current;
  }

  /**
   * Removes a user with keys, sessions and shares; devices are handed over or removed, by `disposition`.
   * @throws Refusal `conflict` for guest, for the last admin, and where devices exist and `disposition` is missing.
   */
  async remove(actor: Actor, id: string, disposition: DeviceDisposition): Promise<void> {
    this.#permissions.requireNoKey(actor, 'users');
    this.#permissions.requireGuestAllowed(actor);
    const user = await this.#users.getById(id);
    if (!actor.admin) throw new Refusal('forbidden', 'Only an admin removes users.');
    if (user.username === guestUsername) {
      throw new Refusal('conflict', 'Guest stays: it stands for callers who do not sign in.');
    }
    await this.#remove(actor, user, disposition);
  }

  /**
   * Removes one's own account, with the present password. What is handed over counts for the receiver as any handover
   * does; projects, which nobody else sees, go.
   * @throws Refusal `conflict` for the last admin, and where devices exist and `disposition` is missing; `forbidden` for
   * another's account, or where the password is wrong; `quota` where the receiver may have no more: then what was not
   * handed over stays with the user.
   */
  async removeOwn(
    actor: Actor,
    id: string,
    { current, address, ...disposition }: DeviceDisposition & CurrentLogin,
  ): Promise<void> {
    this.#permissions.requireNoKey(actor, 'users');
    this.#permissions.requireGuestAllowed(actor);
    const user = await this.#users.getById(id);
    if (actor.guest || actor.key !== user.key)
      throw new Refusal('forbidden', 'This removes your own account. Admins remove those of others by DELETE.');
    await this.#current.require(user, { current, address, what: 'remove your account' });
    await this.#remove(actor, user, disposition);
  }

  async #remove(actor: Actor, user: User, disposition: DeviceDisposition): Promise<void> {
    const isOwn = actor.key === user.key;
    // Before anything ends, because the receiver's quota may refuse some of it; and before the turn, because it may take long.
    // Where the turn refuses the removal after all (another admin has gone meanwhile), the user stays without what was handed over.
    if (isOwn) await this.#handOverOwn(actor, user, disposition);
    await this.#lastAdmin.inTurn(async () => {
      // Not before the turn: the receiver may be removed in the turn of somebody else.
      const newOwner = await this.#newOwnerOf(user, disposition);
      await this.#lastAdmin.requireOther(user);
      if (disposition.devices === undefined) await this.#requireNoDevices(user);
      // What was added meanwhile.
      if (isOwn && newOwner !== undefined) await this.#handOverAll(actor, user, newOwner);
      await this.#users.leave(user, async () => {
        const { key: userKey, id: userId, username } = user;
        await this.#revocations.announce({ userKey, userId, username, isRemoval: true });
        await this.#removeWithDevices(actor, user, { newOwner, projectsTo: isOwn ? undefined : newOwner });
      });
    });
  }

  async #handOverOwn(actor: Actor, user: User, disposition: DeviceDisposition): Promise<void> {
    const newOwner = await this.#newOwnerOf(user, disposition);
    await this.#lastAdmin.requireOther(user);
    if (newOwner !== undefined) await this.#handOverAll(actor, user, newOwner);
  }

  /** Hands over all devices and gateways as their owner does, a few at a time. */
  async #handOverAll(actor: Actor, user: User, newOwner: User): Promise<void> {
    for (;;) {
      await loopTurns.turn(actor.caller);
      const { devices } = await this.#devices.ownedBy(user.key, devicesAtOnce);
      const gateways = await this.#store.listGateways(user.key, devicesAtOnce);
      if (devices.length === 0 && gateways.length === 0) return;
      for (const { id } of devices) await this.#giveAway(actor, id, newOwner);
      for (const id of gateways) {
        await unlessGone(this.#gateways.setOwner(actor, id, newOwner.username));
        await this.#requireStill(newOwner);
      }
    }
  }

  /** Removes or hands over devices, a few at a time, each in a unit of its own; then removes the user. */
  async #removeWithDevices(
    actor: Actor,
    user: User,
    { newOwner, projectsTo }: { readonly newOwner: User | undefined; readonly projectsTo: User | undefined },
  ): Promise<void> {
    for (;;) {
      const { devices } = await this.#devices.ownedBy(user.key, devicesAtOnce);
      await Promise.all(devices.map((device) => this.#giveAway(actor, device.id, newOwner)));
      if (devices.length > 0) continue;
      try {
        await this.#store.remove(user.key, { newOwner: projectsTo?.key, atMs: this.#clock.now() });
        await this.#gateways.anyChanged();
        return;
      } catch (error) {
        // A device was added meanwhile, because its creation had begun before the removal.
        if (!(error instanceof Refusal) || error.code !== 'not-found') throw error;
        if ((await this.#devices.ownedBy(user.key, 1)).total === 0) throw error;
      }
    }
  }

  async #giveAway(actor: Actor, device: string, newOwner: User | undefined): Promise<void> {
    if (newOwner === undefined) return unlessGone(this.#devices.remove(actor, device));
    await unlessGone(this.#handovers.handOver(actor, device, newOwner.username));
    await this.#requireStill(newOwner);
  }

  /** @throws Refusal `not-found` where the user is gone, though another may have the name since. */
  async #requireStill(user: User): Promise<void> {
    const { key } = await this.#users.getByName(user.username);
    if (key !== user.key) throw new Refusal('not-found', `There is no user ${user.username} any more.`);
  }

  async #newOwnerOf(user: User, { devices, to }: DeviceDisposition): Promise<User | undefined> {
    if (devices !== 'transfer') {
      if (to === undefined) return undefined;
      throw new Refusal('malformed', 'Name `to` together with devices=transfer.', {
        faults: [{ pointer: '/to', detail: 'belongs to devices=transfer' }],
      });
    }
    if (to === undefined) {
      throw new Refusal('malformed', 'Say who gets the devices: devices=transfer&to=<username>.', {
        faults: [{ pointer: '/to', detail: 'is missing' }],
      });
    }
    const newOwner = await this.#users.getByName(to);
    if (newOwner.key !== user.key && newOwner.username !== guestUsername) return newOwner;
    throw new Refusal('conflict', `The devices cannot go to ${to}. Name another user who can sign in.`);
  }

  async #requireNoDevices(user: User): Promise<void> {
    const { devices, total } = await this.#devices.ownedBy(user.key, devicesNamed);
    const gateways = await this.#store.listGateways(user.key, devicesNamed);
    if (total === 0 && gateways.length === 0) return;
    const names = devices.map((device) => device.id).join(', ');
    const more = total > devices.length ? ` and ${total - devices.length} more` : '';
    const owned = [
      ...(total === 0 ? [] : [`devices (${total}): ${names}${more}`]),
      ...(gateways.length === 0 ? [] : [`gateways: ${gateways.join(', ')}`]),
    ].join('; ');
    throw new Refusal(
      'conflict',
      `${user.username} owns ${owned}. Say what becomes of them: devices=delete, or devices=transfer&to=<username>.`,
    );
  }
}

/** Another request may just have removed it. */
async function unlessGone(change: Promise<void>): Promise<void> {
  await change.catch((error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== 'not-found') throw error;
  });
}
