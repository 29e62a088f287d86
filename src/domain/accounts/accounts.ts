// Reading, creating and changing accounts (contract 2); account-removals.ts removes them. Methods take the actor first. The
// store refuses to leave the service without an admin; last-admin.ts checks that before.

import { inStepsAfter, type StepAfter } from '../../base/in-batches.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { Keys } from '../keys/keys.ts';
import type { Permissions } from '../permissions/permission.ts';
import { changedProfile, type ProfileChange } from '../users/profile.ts';
import type { SessionRevocations } from '../users/session-revocations.ts';
import { type Actor, guestUsername, type User } from '../users/user.ts';
import type { UserQuery, UserStore } from '../users/user-store.ts';
import { assertOneScript, isLikeReserved } from '../users/username.ts';
import type { UserDraft, Users } from '../users/users.ts';
import { previousGoodUntilMs, type WebhookKeys } from '../users/webhook-keys.ts';
import type { MailLanguage } from './account-mail.ts';
import type { CurrentPassword } from './current-password.ts';
import type { EmailConfirmations } from './email-confirmations.ts';
import type { LastAdmin } from './last-admin.ts';
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

export class Accounts {
  readonly #store: UserStore;
  readonly #users: Users;
  readonly #permissions: Permissions;
  readonly #keys: Keys;
  readonly #revocations: SessionRevocations;
  readonly #registrations: Registrations;
  readonly #lastAdmin: LastAdmin;
  readonly #current: CurrentPassword;
  readonly #confirmations: EmailConfirmations;
  readonly #selfRegistration: boolean;
  readonly #webhookKeys: WebhookKeys;

  constructor(parts: {
    readonly store: UserStore;
    readonly users: Users;
    readonly permissions: Permissions;
    readonly keys: Keys;
    readonly revocations: SessionRevocations;
    readonly registrations: Registrations;
    readonly lastAdmin: LastAdmin;
    readonly current: CurrentPassword;
    readonly confirmations: EmailConfirmations;
    readonly selfRegistration: boolean;
    readonly webhookKeys: WebhookKeys;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#permissions = parts.permissions;
    this.#keys = parts.keys;
    this.#revocations = parts.revocations;
    this.#registrations = parts.registrations;
    this.#lastAdmin = parts.lastAdmin;
    this.#current = parts.current;
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
    const read = async (step: StepAfter<User>) => (total <= step.offset ? [] : this.#users.list({ ...query, ...step }));
    const { limit, offset } = query;
    return {
      steps: inStepsAfter(read, {
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
      await this.#current.require(user, {
        ...{ current: change.current, address: origin.address },
        what: 'change your own e-mail address',
      });
    await this.#lastAdmin.inTurn(async () => {
      if (admin === false) await this.#lastAdmin.requireOther(user);
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
      await this.#current.require(user, { current, address, what: 'change your own password' });
    const isReset = actor.key !== user.key;
    await this.#users.setPassword(user.username, password, { caller: actor.caller, endKeys: isReset });
    if (isReset) await this.#keys.changed();
    await this.#revocations.announce({
      ...{ userKey: user.key, userId: user.id, username: user.username },
      ...(isReset ? { withKeys: true } : {}),
    });
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
}

/** Whether the actor is this user. False for an API key, because private fields are not for machines. */
function isSelf(actor: Actor, user: User): boolean {
  return actor.key === user.key && actor.keyScopes === undefined;
}
