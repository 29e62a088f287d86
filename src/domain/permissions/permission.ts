// The one function that decides who may do what with a device (I6), for every door: v2, v1, MQTT, live, CSV.
// Lists take their filter from `audienceOf`, which says the same thing as a condition a store can evaluate.
import { Refusal } from '../../base/refusal.ts';
import type { Device } from '../devices/device.ts';
import type { Actor, UserKey } from '../users/user.ts';
import { allScopes, noScopes, publicScopes, type ScopeName, type ScopeSet, scope, scopeNames } from './scopes.ts';

/** What callers without a token may do: `full` (as owner of what guest owns), `push` (create and push), `none`. */
export type GuestAccess = 'full' | 'push' | 'none';

/** Who holds a right, as a condition: on everything, or on what is public, owned by or shared with the user. */
export type DeviceAudience =
  | { readonly all: true }
  | {
      readonly all: false;
      readonly public: boolean;
      readonly user: UserKey | undefined;
      /** A share counts when it names one of these scopes. */
      readonly shared: ScopeSet;
    };

export class Permissions {
  readonly #guestAccess: GuestAccess;

  constructor(options: { readonly guestAccess: GuestAccess }) {
    this.#guestAccess = options.guestAccess;
  }

  /** True where callers who do not sign in are turned away. */
  get refusesGuests(): boolean {
    return this.#guestAccess === 'none';
  }

  /** Exactly the scopes the actor holds on the device (contract 3). */
  scopesOf(actor: Actor, device: Device): ScopeSet {
    if (actor.guest) {
      if (this.#guestAccess === 'none') return noScopes;
      if (this.#guestAccess === 'full' && device.ownerKey === actor.key) return allScopes;
      return device.visibility === 'public' ? publicScopes : noScopes;
    }
    if (actor.admin || device.ownerKey === actor.key) return allScopes;
    const shared = device.shares.get(actor.key) ?? noScopes;
    return device.visibility === 'public' ? publicScopes | shared : shared;
  }

  /** @throws Refusal `forbidden` (or `unauthenticated` for a guest where guests are switched off). */
  require(actor: Actor, device: Device, needed: ScopeSet): void {
    const held = this.scopesOf(actor, device);
    if ((held & needed) === needed) return;
    this.requireGuestAllowed(actor);
    throw new Refusal('forbidden', `You need the right ${missingName(held, needed)} on device ${device.id}.`);
  }

  /** May the actor set a value of the device's actuators? A public device alone gives nobody this right. */
  maySetActuators(actor: Actor, device: Device): boolean {
    if ((this.scopesOf(actor, device) & scope.update) !== 0) return true;
    return !actor.guest && ((device.shares.get(actor.key) ?? noScopes) & scope.dataCreate) !== 0;
  }

  requireSetActuators(actor: Actor, device: Device): void {
    if (this.maySetActuators(actor, device)) return;
    this.requireGuestAllowed(actor);
    throw new Refusal(
      'forbidden',
      `Setting an actuator of device ${device.id} needs the right devices:update, or devices-data:create given by a share.`,
    );
  }

  /** Sharing and handing over are for the owner and admins alone. */
  requireOwner(actor: Actor, device: Device): void {
    if (this.#ownsOrAdministers(actor, device)) return;
    this.requireGuestAllowed(actor);
    throw new Refusal('forbidden', `Only the owner of device ${device.id} or an admin may do this.`);
  }

  /** @throws Refusal `unauthenticated` where guests are switched off and the caller is one. */
  requireGuestAllowed(actor: Actor): void {
    if (actor.guest && this.#guestAccess === 'none') {
      throw new Refusal('unauthenticated', 'This service takes no calls without a token. Sign in first.');
    }
  }

  /** The records on which `scopesOf` holds at least one of these scopes, of which public visibility gives one. */
  audienceOf(actor: Actor, shared: ScopeSet): DeviceAudience {
    if (actor.admin) return { all: true };
    if (actor.guest && this.#guestAccess === 'none') return { all: false, public: false, user: undefined, shared };
    const user = actor.guest && this.#guestAccess !== 'full' ? undefined : actor.key;
    return { all: false, public: true, user, shared };
  }

  #ownsOrAdministers(actor: Actor, device: Device): boolean {
    if (actor.guest) return this.#guestAccess === 'full' && device.ownerKey === actor.key;
    return actor.admin || device.ownerKey === actor.key;
  }
}

function missingName(held: ScopeSet, needed: ScopeSet): ScopeName {
  const bit = scopeNames.findIndex((_, n) => (needed & ~held & (1 << n)) !== 0);
  return scopeNames[bit] ?? 'devices:view';
}
