// Reading, creating, changing and removing accounts (contract 2). Methods take the actor first. The store refuses to
// leave the service without an admin. This class checks that before as well, and makes one change at a time, so that
// a removal that the store refuses at its end has not taken the user's devices by then.

import { inOffsetSteps } from '../../base/in-batches.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { Devices } from '../devices/devices.ts';
import type { Handovers } from '../devices/handovers.ts';
import type { Gateways } from '../gateways/gateways.ts';
import type { Keys } from '../keys/keys.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Logins } from '../users/logins.ts';
import { changedProfile, type ProfileChange } from '../users/profile.ts';
import type { SessionRevocations } from '../users/session-revocations.ts';
import { type Actor, guestUsername, type User } from '../users/user.ts';
import type { UserQuery, UserStore } from '../users/user-store.ts';
import { assertOneScript, isLikeReserved } from '../users/username.ts';
import type { UserDraft, Users } from '../users/users.ts';
import { previousGoodUntilMs, type WebhookKeys } from '../users/webhook-keys.ts';
import type { MailLanguage } from './account-mail.ts';
import type { EmailConfirmations } from './email-confirmations.ts';
import type { Registrations } from './registrations.ts';

/** How much of a user an actor sees: everything, identity, or the name alone. */
export type UserView = 'all' | 'person' | 'name';

export interface AccountChange extends ProfileChange {
  readonly admin?: boolean | undefined;
  /** Paid messages a day; null takes the credit away. Admins change it alone. */
  readonly smsCredit?: number | null | undefined;
  /** The present password; required where the e-mail address of one's own account changes. */
  readonly current?: string | undefined;
  /** Must equal the present name; usernames cannot be changed. */
  readonly username?: string | undefined;
}

export interface NewPassword {
  /** The present password; required for one's own account, not when an admin changes another user's. */
  readonly current?: string | undefined;
  readonly password: string;
}

/** From where a change comes: the address, and the language of a mail about it. */
export interface ChangeOrigin {
  readonly address: string;
  readonly language: MailLanguage;
}

/** What happens to the devices, gateways and projects of a removed user. */
export interface DeviceDisposition {
  readonly devices?: 'delete' | 'transfer' | undefined;
  /** Username of the new owner. */
  readonly to?: string | undefined;
}

/** Devices handled in one step of a removal; and devices named in a refusal. */
const devicesAtOnce = 50;
const devicesNamed = 20;

export class Accounts {
  readonly #store: UserStore;
  readonly #users: Users;
  readonly #logins: Logins;
  readonly #permissions: Permissions;
  readonly #devices: Devices;
  readonly #handovers: Handovers;
  readonly #gateways: Gateways;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #revocations: SessionRevocations;
  readonly #registrations: Registrations;
  readonly #confirmations: EmailConfirmations;
  readonly #selfRegistration: boolean;
  readonly #webhookKeys: WebhookKeys;
  /** The change in progress; the next one waits for it. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(parts: {
    readonly store: UserStore;
    readonly users: Users;
    readonly logins: Logins;
    readonly permissions: Permissions;
    readonly devices: Devices;
    readonly handovers: Handovers;
    readonly gateways: Gateways;
    readonly keys: Keys;
    readonly clock: Clock;
    readonly revocations: SessionRevocations;
    readonly registrations: Registrations;
    readonly confirmations: EmailConfirmations;
    readonly selfRegistration: boolean;
    readonly webhookKeys: WebhookKeys;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#logins = parts.logins;
    this.#permissions = parts.permissions;
    this.#devices = parts.devices;
    this.#handovers = parts.handovers;
    this.#gateways = parts.gateways;
    this.#keys = parts.keys;
    this.#clock = parts.clock;
    this.#revocations = parts.revocations;
    this.#registrations = parts.registrations;
    this.#confirmations = parts.confirmations;
    this.#selfRegistration = parts.selfRegistration;
    this.#webhookKeys = parts.webhookKeys;
  }

  /** A page of the users that match the query, in steps, and the number of all that match. */
  async list(
    actor: Actor,
    query: UserQuery,
  ): Promise<{ readonly steps: AsyncGenerator<readonly User[]>; readonly total: number }> {
    this.#permissions.requireGuestAllowed(actor);
    const total = await this.#store.count(query);
    const read = async (step: { readonly limit: number; readonly offset: number }) =>
      total <= step.offset ? [] : this.#users.list({ ...query, ...step });
    const { limit, offset } = query;
    return {
      steps: inOffsetSteps(read, {
        limit,
        offset,
        stepRows: limits.recordStepRows,
        turn: () => loopTurns.turn(actor.caller),
      }),
      total,
    };
  }

  /** @throws Refusal `not-found` */
  async get(actor: Actor, id: string): Promise<User> {
    this.#permissions.requireGuestAllowed(actor);
    return this.#users.getById(id);
  }

  /** How much of the user the actor sees. API keys do not see private fields, unless they act as admin. */
  viewOf(actor: Actor, user: User): UserView {
    if (actor.guest) return 'name';
    return actor.admin || isSelf(actor, user) ? 'all' : 'person';
  }

  /**
   * The key that signs messages to the user's webhooks. Undefined for others than the user, and where the user has no
   * webhooks.
   */
  findWebhookKey(actor: Actor, user: User): string | undefined {
    if (actor.guest || !isSelf(actor, user) || user.webhook === undefined) return undefined;
    return this.#webhookKeys.textOf(user);
  }

  /**
   * Rotates the key of the user's webhooks; for a day messages are signed with the previous one too. Only the user
   * gets the key; an admin gets undefined.
   * @throws Refusal `forbidden` unless the user or an admin asks.
   */
  async rotateWebhookKey(
    actor: Actor,
    id: string,
  ): Promise<{ readonly key: string | undefined; readonly previousUntilMs: number }> {
    const user = await this.#users.rotateWebhookKey(await this.#requireSelfOrAdmin(actor, id));
    const key = isSelf(actor, user) ? this.#webhookKeys.textOf(user) : undefined;
    return { key, previousUntilMs: previousGoodUntilMs(user) ?? 0 };
  }

  /**
   * Creates an account. Admins do so for anybody, others for themselves where self-registration is on.
   * @throws Refusal `forbidden`, `exists`, `malformed`, `too-many`.
   */
  async create(actor: Actor, draft: UserDraft & ProfileChange, address: string): Promise<User> {
    this.#permissions.requireNoKey(actor, 'users');
    if (!actor.admin) this.#requireSelfRegistration(actor, draft);
    const { id, username, password, passwordHash, createdTime, admin } = draft;
    if ((password === undefined) === (passwordHash === undefined)) {
      const detail = password === undefined ? 'is missing' : 'and /passwordHash exclude each other';
      throw new Refusal('malformed', `/password ${detail}.`, { faults: [{ pointer: '/password', detail }] });
    }
    const whole = { ...changedProfile({}, draft), id, username, password, passwordHash, createdTime, admin };
    if (actor.admin) return this.#users.create(whole, { caller: actor.caller });
    await this.#users.assertDraft(whole);
    assertOneScript(username);
    if (isLikeReserved(username) || (await this.#store.hasLookalike(username))) {
      throw new Refusal('exists', `The name ${username} looks like one that is taken. Choose another.`);
    }
    await this.#registrations.take(address);
    return this.#users.create(whole, { unlikeOthers: true, caller: actor.caller });
  }

  /**
   * Changes fields. Another e-mail address is not confirmed, and the one before is told.
   * @throws Refusal `forbidden` unless the user or an admin asks, or where the given current password is wrong;
   * `malformed` where one's own e-mail address changes without it; `conflict` for the last admin.
   */
  async update(actor: Actor, id: string, change: AccountChange, origin: ChangeOrigin): Promise<void> {
    const user = await this.#requireSelfOrAdmin(actor, id);
    const { admin, username, smsCredit } = change;
    if (username !== undefined && username !== user.username) {
      const detail = `stays ${user.username}: devices, topics and sessions go by it`;
      throw new Refusal('malformed', `/username ${detail}.`, { faults: [{ pointer: '/username', detail }] });
    }
    if (admin !== undefined && admin !== user.admin && !actor.admin) {
      throw new Refusal('forbidden', 'Only an admin says who is an admin.');
    }
    if (smsCredit !== undefined && !actor.admin) {
      throw new Refusal('forbidden', 'Only an admin says how many paid messages a user may send.');
    }
    if (admin === true && user.username === guestUsername) {
      throw new Refusal('conflict', 'Guest is no admin: it stands for callers who do not sign in.');
    }
    const hasNewEmail = change.email !== undefined && change.email.trim() !== (user.email ?? '');
    if (hasNewEmail && actor.key === user.key)
      await this.#requireCurrent(user, { current: change.current, address: origin.address, what: 'e-mail address' });
    await this.#inTurn(async () => {
      if (admin === false) await this.#requireOtherAdmin(user);
      await this.#users.update(user.key, (now) => ({
        profile: changedProfile(now, change),
        // An actor who may not change the field may only repeat its present value.
        admin: actor.admin ? (admin ?? now.admin) : now.admin,
        smsCredit: smsCredit === undefined ? now.smsCredit : (smsCredit ?? undefined),
      }));
    });
    if (hasNewEmail) await this.#confirmations.tellChange(user, origin.language);
  }

  /**
   * Sets a new password; all earlier sign-ins end. Where an admin resets it, API keys end too, because it is not
   * known who has them.
   * @throws Refusal `forbidden` when the given current password is wrong.
   */
  async setPassword(actor: Actor, id: string, { current, password }: NewPassword, address: string): Promise<void> {
    const user = await this.#requireSelfOrAdmin(actor, id);
    if (current !== undefined || actor.key === user.key)
      await this.#requireCurrent(user, { current, address, what: 'password' });
    const isReset = actor.key !== user.key;
    await this.#users.setPassword(user.username, password, { caller: actor.caller, endKeys: isReset });
    if (isReset) await this.#keys.changed();
    await this.#revocations.announce({
      ...{ userKey: user.key, userId: user.id, username: user.username },
      ...(isReset ? { withKeys: true } : {}),
    });
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
    const newOwner = await this.#newOwnerOf(user, disposition);
    await this.#inTurn(async () => {
      await this.#requireOtherAdmin(user);
      if (disposition.devices === undefined) await this.#requireNoDevices(user);
      await this.#users.leave(user, async () => {
        const { key: userKey, id: userId, username } = user;
        await this.#revocations.announce({ userKey, userId, username, isRemoval: true });
        await this.#removeWithDevices(actor, user, newOwner);
      });
    });
  }

  /** Removes or hands over devices, a few at a time, each in a unit of its own; then removes the user. */
  async #removeWithDevices(actor: Actor, user: User, newOwner: User | undefined): Promise<void> {
    for (;;) {
      const { devices } = await this.#devices.ownedBy(user.key, devicesAtOnce);
      await Promise.all(devices.map((device) => this.#giveAway(actor, device.id, newOwner)));
      if (devices.length > 0) continue;
      try {
        await this.#store.remove(user.key, { newOwner: newOwner?.key, atMs: this.#clock.now() });
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
    try {
      if (newOwner === undefined) await this.#devices.remove(actor, device);
      else await this.#handovers.handOver(actor, device, newOwner.username);
    } catch (error) {
      // Another request has just removed it.
      if (!(error instanceof Refusal) || error.code !== 'not-found') throw error;
      if (newOwner !== undefined) await this.#users.getByName(newOwner.username);
    }
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

  async #requireOtherAdmin(user: User): Promise<void> {
    const isOne = (await this.#store.findByKey(user.key))?.admin === true && user.passwordHash !== undefined;
    if (!isOne || (await this.#store.countAdmins()) > 1) return;
    throw new Refusal('conflict', `${user.username} is the last admin. Make another one first.`);
  }

  async #requireSelfOrAdmin(actor: Actor, id: string): Promise<User> {
    this.#permissions.requireNoKey(actor, 'users');
    this.#permissions.requireGuestAllowed(actor);
    const user = await this.#users.getById(id);
    const isSelf = !actor.guest && actor.key === user.key;
    if (isSelf || actor.admin) return user;
    throw new Refusal('forbidden', 'Only the user and admins change an account.');
  }

  #requireSelfRegistration(actor: Actor, { admin, id, passwordHash }: UserDraft): void {
    if (!this.#selfRegistration) {
      this.#permissions.requireGuestAllowed(actor);
      throw new Refusal('forbidden', 'Only an admin makes users here.');
    }
    if (!admin && id === undefined && passwordHash === undefined) return;
    throw new Refusal('forbidden', 'Only an admin makes admins, or brings along ids and password hashes.');
  }

  /**
   * Checks the current password as a sign-in does, so that guessing is slowed down. Admins too need it for their own
   * account: an open page or a stolen token must not be enough to take it over.
   */
  async #requireCurrent(
    user: User,
    {
      current,
      address,
      what,
    }: { readonly current: string | undefined; readonly address: string; readonly what: string },
  ): Promise<void> {
    if (current === undefined) {
      const detail = `is missing: send your present password with it to change your own ${what}`;
      throw new Refusal('malformed', `/current ${detail}.`, { faults: [{ pointer: '/current', detail }] });
    }
    try {
      await this.#logins.verify({ username: user.username, password: current, address });
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'unauthenticated') throw error;
      throw new Refusal('forbidden', 'The current password is wrong.', {
        faults: [{ pointer: '/current', detail: 'is not the present password' }],
      });
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }
}

/** Whether the actor is this user. False for an API key, because private fields are not for machines. */
function isSelf(actor: Actor, user: User): boolean {
  return actor.key === user.key && actor.keyScopes === undefined;
}
