// Lists shares, and explains a user's rights on a device (contract 3 and 10). Shares are made in devices.ts.
import type { PermissionReason, Permissions } from '../permissions/permission.ts';
import type { ScopeSet } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { Device, DeviceId } from './device.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { DeviceStore, ShareOfDevice } from './device-store.ts';

export interface SharePage {
  readonly shares: readonly ShareOfDevice[];
  /** Shares on all pages. */
  readonly total: number;
}

/** A user's rights on a device, and where they come from. */
export interface Explanation {
  readonly device: Device;
  readonly username: string;
  readonly scopes: ScopeSet;
  readonly reasons: readonly PermissionReason[];
  /** Setting actuators is a right of its own (contract 4). */
  readonly maySetActuators: boolean;
  /** Who gave the share; undefined where there is none or it is not known. */
  readonly sharedBy: string | undefined;
}

export class Sharing {
  readonly #store: DeviceStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #users: Users;

  constructor(parts: {
    readonly store: DeviceStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly users: Users;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#users = parts.users;
  }

  /** A page of the shares that the actor has, or of those on what the actor owns. */
  async list(
    actor: Actor,
    query: { readonly direction: 'with-me' | 'by-me'; readonly limit: number; readonly offset: number },
  ): Promise<SharePage> {
    this.#permissions.requireGuestAllowed(actor);
    this.#permissions.requireNoKey(actor, 'shares');
    // Guests who may not act as owners see no shares.
    if (!this.#permissions.mayOwn(actor)) return { shares: [], total: 0 };
    const direction = query.direction === 'with-me' ? { sharedWith: actor.key } : { ownedBy: actor.key };
    const total = await this.#store.countSharesOf(direction);
    return { shares: total <= query.offset ? [] : await this.#store.listSharesOf(direction, query), total };
  }

  /**
   * A user's rights on the device and the reasons for them. The owner and admins may ask about anybody, others only
   * about themselves.
   * @throws Refusal `not-found`, `forbidden`.
   */
  async explain(actor: Actor, id: DeviceId, username = actor.username): Promise<Explanation> {
    const device = await this.#directory.get(id);
    if (username !== actor.username) {
      this.#permissions.requireNoKey(actor, 'shares');
      this.#permissions.requireOwner(actor, device);
    }
    this.#permissions.requireGuestAllowed(actor);
    const asked = username === actor.username ? actor : this.#users.actorOf(await this.#users.getByName(username));
    return {
      device,
      username,
      scopes: this.#permissions.scopesOf(asked, device),
      reasons: this.#permissions.reasonsOf(asked, device),
      maySetActuators: this.#permissions.maySetActuators(asked, device),
      sharedBy: await this.#store.findGiver(device.key, asked.key),
    };
  }
}
