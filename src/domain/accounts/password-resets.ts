// Forgotten passwords (decision 40). A request is answered before anything is looked up, so that the answer and its time are the same
// for everybody: whether there is such a user, whether they have confirmed an address, and whether a limit is reached. It
// waits in a bounded queue in memory, and a mail that comes of it in the outbox.

import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Callers } from '../callers/callers.ts';
import type { Keys } from '../keys/keys.ts';
import type { SessionRevocations } from '../users/session-revocations.ts';
import { guestUsername, type User } from '../users/user.ts';
import type { UserStore } from '../users/user-store.ts';
import type { Users } from '../users/users.ts';
import type { AccountLinks } from './account-links.ts';
import type { AccountMailOutbox, MailLanguage } from './account-mail.ts';
import { type AccountMailLimits, requireMails } from './account-mail-limits.ts';

/** Who has forgotten a password, and from where they ask. */
export interface ResetRequest {
  /** A username, or an e-mail address that was confirmed. */
  readonly account: string;
  readonly language: MailLanguage;
  /** The address of the client. */
  readonly address: string;
}

export class PasswordResets {
  readonly #store: UserStore;
  readonly #users: Users;
  readonly #links: AccountLinks;
  readonly #mails: AccountMailOutbox;
  readonly #limits: AccountMailLimits;
  readonly #keys: Keys;
  readonly #revocations: SessionRevocations;
  readonly #callers: Callers;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #isOn: boolean;
  readonly #waiting: ResetRequest[] = [];
  #working: Promise<void> | undefined;

  constructor(parts: {
    readonly store: UserStore;
    readonly users: Users;
    readonly links: AccountLinks;
    readonly mails: AccountMailOutbox;
    readonly mailLimits: AccountMailLimits;
    readonly keys: Keys;
    readonly revocations: SessionRevocations;
    readonly callers: Callers;
    readonly clock: Clock;
    readonly log: Log;
    /** Whether mails can be sent and links be made. */
    readonly mailsAreOn: boolean;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#links = parts.links;
    this.#mails = parts.mails;
    this.#limits = parts.mailLimits;
    this.#keys = parts.keys;
    this.#revocations = parts.revocations;
    this.#callers = parts.callers;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#isOn = parts.mailsAreOn;
  }

  /**
   * Takes a request: where the account has a confirmed address, a link is mailed there.
   * @throws Refusal `conflict` where the service sends no such mail, `busy` where too many requests wait.
   */
  request(request: ResetRequest): void {
    requireMails(this.#isOn);
    if (this.#waiting.length >= limits.resetRequestsWaitingMax) {
      const retryAfterS = limits.busyRetryAfterS;
      throw new Refusal('busy', 'Too many ask for a new password at once. Try again shortly.', { retryAfterS });
    }
    this.#waiting.push(request);
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  /** Resolves when no request waits. */
  async idle(): Promise<void> {
    await this.#working;
  }

  /**
   * Sets a new password by a link. All tokens, refresh sessions and MQTT connections of the user end, and with
   * `endKeys` the API keys too.
   * @throws Refusal `not-found` for a link that is good no more, `malformed` for a bad password, `busy`.
   */
  async setPassword(
    secret: string,
    {
      password,
      endKeys,
      language,
      address,
    }: Pick<ResetRequest, 'language' | 'address'> & { readonly password: string; readonly endKeys: boolean },
  ): Promise<void> {
    requireMails(this.#isOn);
    const { link, user } = await this.#links.get(secret, 'reset');
    const caller = this.#callers.ofAddress(address);
    await this.#users.replacePassword(user, password, {
      caller,
      save: (hash) => this.#links.setPassword(link, { hash, endKeys }),
    });
    if (endKeys) await this.#keys.changed();
    await this.#revocations.announce({
      ...{ userKey: user.key, userId: user.id, username: user.username },
      ...(endKeys ? { withKeys: true } : {}),
    });
    this.#log.audit({ user: user.username }, 'audit: a password was set by a mailed link');
    const notice = { kind: 'password-set', to: link.email, language, askedMs: this.#clock.now() } as const;
    // The password is set, whether or not the notice can be stored.
    await this.#mails.add(user, notice).catch((error: unknown) => {
      this.#log.error({ err: error }, 'the notice of a new password could not be put into the outbox');
    });
  }

  async #work(): Promise<void> {
    // In a later turn: the answer goes out first.
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        await this.#mail(next);
      } catch (error) {
        this.#log.error({ err: error }, 'a request for a new password could not be worked on');
      }
    }
  }

  async #mail({ account, language, address }: ResetRequest): Promise<void> {
    if (!(await this.#limits.takeAddress(this.#callers.ofAddress(address).key))) return;
    for (const user of await this.#listUsers(account)) {
      const { confirmedEmail: to } = user;
      if (to === undefined || user.username === guestUsername) continue;
      if ((await this.#limits.takeMail(user, 'reset', to)) !== undefined) continue;
      await this.#mails.add(user, { kind: 'reset', to, language, askedMs: this.#clock.now() });
    }
  }

  /** The user of this name, and those who have confirmed this address: the name of somebody may be the address of another. */
  async #listUsers(account: string): Promise<readonly User[]> {
    const named = await this.#users.findByName(account);
    const some = named === undefined ? [] : [named];
    if (!account.includes('@')) return some;
    const confirmed = await this.#store.listByConfirmedEmail(account, limits.accountsPerMailboxMax);
    return [...some, ...confirmed.filter(({ key }) => key !== named?.key)];
  }
}
