// The setting of guest access: chosen by an admin while the service runs, or fixed by the operator
// (DUNDUN_GUEST_ACCESS), which takes precedence. A change is stored first. It then takes effect at once for all
// protocols, because all ask the same Permissions.
import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import type { GuestAccess, Permissions } from '../permissions/permission.ts';
import type { Announcer } from '../ports/coordination.ts';
import type { SessionRevocations } from '../users/session-revocations.ts';
import type { Actor, User } from '../users/user.ts';
import type { SettingStore } from './setting-store.ts';

export interface GuestAccessState {
  readonly access: GuestAccess;
  /** True where the operator has fixed it. */
  readonly isFixed: boolean;
  /** True once an admin or the operator has chosen. */
  readonly isAnswered: boolean;
}

const name = 'guest-access';
const unlessChosen: GuestAccess = 'full';

export class GuestAccessSetting {
  readonly #store: SettingStore;
  readonly #permissions: Permissions;
  readonly #revocations: SessionRevocations;
  readonly #coordination: Announcer;
  readonly #guest: User;
  readonly #log: Log;
  readonly #fixed: GuestAccess | undefined;
  #isChosen = false;

  constructor(parts: {
    readonly store: SettingStore;
    readonly permissions: Permissions;
    readonly revocations: SessionRevocations;
    readonly coordination: Announcer;
    readonly guest: User;
    readonly log: Log;
    /** The operator's choice; undefined: admins choose. */
    readonly fixed: GuestAccess | undefined;
  }) {
    this.#store = parts.store;
    this.#permissions = parts.permissions;
    this.#revocations = parts.revocations;
    this.#coordination = parts.coordination;
    this.#guest = parts.guest;
    this.#log = parts.log;
    this.#fixed = parts.fixed;
  }

  /** Loads the stored choice. Called before the servers listen, and when another process has stored a choice. */
  async start(): Promise<void> {
    const chosen = (await this.#store.find(name)) as GuestAccess | undefined;
    this.#isChosen = chosen !== undefined;
    this.#permissions.guestAccess = this.#fixed ?? chosen ?? unlessChosen;
  }

  /** The present access. @throws Refusal `forbidden` for all but admins. */
  get(actor: Actor): GuestAccessState {
    this.#permissions.requireSettings(actor);
    const isFixed = this.#fixed !== undefined;
    return { access: this.#permissions.guestAccess, isFixed, isAnswered: isFixed || this.#isChosen };
  }

  /** Chooses the access. @throws Refusal `forbidden` for all but admins, `conflict` where the operator has fixed it. */
  async set(actor: Actor, access: GuestAccess): Promise<void> {
    this.#permissions.requireSettings(actor);
    if (this.#fixed !== undefined) {
      throw new Refusal(
        'conflict',
        `The operator of this service has fixed guest access to ${this.#fixed} (DUNDUN_GUEST_ACCESS). It is changed there.`,
      );
    }
    await this.#store.save(name, access);
    const before = this.#permissions.guestAccess;
    this.#isChosen = true;
    this.#permissions.guestAccess = access;
    this.#log.audit({ by: actor.username, before, access }, 'audit: guest access was chosen');
    await this.#coordination.announce({ kind: 'guest-access-changed' });
    // Ends existing MQTT connections of guests.
    if (access === 'none')
      await this.#revocations.announce({
        userKey: this.#guest.key,
        userId: this.#guest.id,
        username: this.#guest.username,
      });
  }
}
