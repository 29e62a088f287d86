// Reading and setting quotas of users. A record is charged to its owner. The store counts and refuses by itself, in
// the commit of the change, so that no protocol and no race can exceed a quota.
import type { Log } from '../../base/log.ts';
import { type QuotaKind, type QuotaLimits, quotaKinds } from '../../base/quota-kinds.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Announcer } from '../ports/coordination.ts';
import type { Actor, User, UserKey } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { QuotaExceptions, QuotaReport } from './quota.ts';
import type { QuotaStore } from './quota-store.ts';

export class Quotas {
  readonly #store: QuotaStore;
  readonly #users: Users;
  readonly #permissions: Permissions;
  readonly #coordination: Announcer;
  readonly #log: Log;
  readonly #listeners: ((user: UserKey) => void | Promise<void>)[] = [];

  constructor(parts: {
    readonly store: QuotaStore;
    readonly users: Users;
    readonly permissions: Permissions;
    readonly coordination: Announcer;
    readonly log: Log;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#permissions = parts.permissions;
    this.#coordination = parts.coordination;
    this.#log = parts.log;
  }

  /** Writes the default limits. Admins have none. */
  async start(defaults: { readonly guest: QuotaLimits; readonly user: QuotaLimits }): Promise<void> {
    const none = Object.fromEntries(quotaKinds.map((kind) => [kind, undefined])) as QuotaLimits;
    await this.#store.putDefaults({ ...defaults, admin: none });
  }

  /** The user's limits; undefined: no bound. For code that counts a kind by itself. */
  async limitsOf(user: Pick<User, 'key'>): Promise<QuotaLimits> {
    const report = await this.#find(user.key);
    return Object.fromEntries(quotaKinds.map((kind) => [kind, report[kind].limit])) as QuotaLimits;
  }

  /**
   * Checks in advance; the store checks again in the commit.
   * @throws Refusal `quota`
   */
  async requireWithinQuota(user: Pick<User, 'key'>, amounts: { readonly [K in QuotaKind]?: number }): Promise<void> {
    const report = await this.#find(user.key);
    for (const kind of quotaKinds) {
      const { used, limit } = report[kind];
      const amount = amounts[kind] ?? 0;
      if (amount > 0 && limit !== undefined && used + amount > limit) throw Refusal.ofQuota({ kind, used, limit });
    }
  }

  /** Usage and limits of the actor's user; allowed with an API key. */
  async ofActor(actor: Actor): Promise<QuotaReport> {
    this.#permissions.requireGuestAllowed(actor);
    return this.#find(actor.key);
  }

  /** Usage and limits of a user. @throws Refusal `not-found`; `forbidden` unless the user or an admin asks. */
  async of(actor: Actor, id: string): Promise<QuotaReport> {
    this.#permissions.requireGuestAllowed(actor);
    const user = await this.#users.getById(id);
    if (actor.admin || user.key === actor.key) return this.#find(user.key);
    throw new Refusal('forbidden', 'Only the user and admins see what somebody has.');
  }

  /** Usage and limits of several users, for admins; others get an empty map. */
  async ofAll(actor: Actor, users: readonly User[]): Promise<ReadonlyMap<UserKey, QuotaReport>> {
    return actor.admin ? this.#store.list(users.map(({ key }) => key)) : new Map();
  }

  /**
   * Sets limits for one user. Existing usage stays, even above a limit.
   * @throws Refusal `not-found`, `forbidden`
   */
  async set(actor: Actor, id: string, exceptions: QuotaExceptions): Promise<void> {
    this.#permissions.requireNoKey(actor, 'users');
    this.#permissions.requireGuestAllowed(actor);
    const user = await this.#users.getById(id);
    if (!actor.admin) throw new Refusal('forbidden', 'Only an admin sets quotas.');
    await this.#store.putExceptions(user.key, exceptions);
    this.#log.audit(
      { admin: actor.username, username: user.username, quotas: exceptions },
      'quotas of a user were set',
    );
    await this.apply(user.key);
    await this.#coordination.announce({ kind: 'quotas-changed', user: user.key });
  }

  /** Tells the listeners that the quotas of a user were set; resolves when they hold. */
  async apply(user: UserKey): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener(user)));
  }

  /** Registers a listener that is called after the quotas of a user were set. */
  onChange(listener: (user: UserKey) => void | Promise<void>): void {
    this.#listeners.push(listener);
  }

  async #find(user: UserKey): Promise<QuotaReport> {
    const report = await this.#store.find(user);
    if (report === undefined) throw new Refusal('not-found', 'The user was removed meanwhile.');
    return report;
  }
}
