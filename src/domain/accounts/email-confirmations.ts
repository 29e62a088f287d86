// Confirming an e-mail address by a link that is mailed there, and telling the address before that there is another one
// (decision 40).

import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Permissions } from '../permissions/permission.ts';
import { type Actor, guestUsername, type User } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { AccountLinks } from './account-links.ts';
import { type AccountMailOutbox, isEmailAddress, type MailLanguage } from './account-mail.ts';
import { type AccountMailLimits, requireMails } from './account-mail-limits.ts';

export class EmailConfirmations {
  readonly #users: Users;
  readonly #permissions: Permissions;
  readonly #links: AccountLinks;
  readonly #mails: AccountMailOutbox;
  readonly #limits: AccountMailLimits;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #isOn: boolean;

  constructor(parts: {
    readonly users: Users;
    readonly permissions: Permissions;
    readonly links: AccountLinks;
    readonly mails: AccountMailOutbox;
    readonly mailLimits: AccountMailLimits;
    readonly clock: Clock;
    readonly log: Log;
    /** Whether mails can be sent and links be made. */
    readonly mailsAreOn: boolean;
  }) {
    this.#users = parts.users;
    this.#permissions = parts.permissions;
    this.#links = parts.links;
    this.#mails = parts.mails;
    this.#limits = parts.mailLimits;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#isOn = parts.mailsAreOn;
  }

  /**
   * Mails a link to the address of the user; for the user and admins.
   * @throws Refusal `conflict` where the service sends no such mail, the user has no address or has confirmed it;
   * `too-many`, `forbidden`.
   */
  async ask(actor: Actor, id: string, language: MailLanguage): Promise<void> {
    this.#permissions.requireNoKey(actor, 'users');
    this.#permissions.requireGuestAllowed(actor);
    const user = await this.#users.getById(id);
    if (actor.guest || !(actor.key === user.key || actor.admin))
      throw new Refusal('forbidden', 'Only the user and admins have an address confirmed.');
    requireMails(this.#isOn);
    const { email: to } = user;
    if (to === undefined || !isEmailAddress(to) || user.username === guestUsername)
      throw new Refusal('conflict', `${user.username} has no e-mail address that could be confirmed.`);
    if (user.confirmedEmail === to) throw new Refusal('conflict', `${to} is confirmed.`);
    const retryAfterS = await this.#limits.takeMail(user, 'confirm', to);
    if (retryAfterS !== undefined) {
      const detail = `Several mails were sent there already. Look for them, or try again in ${retryAfterS} s.`;
      throw new Refusal('too-many', detail, { retryAfterS });
    }
    await this.#mails.add(user, { kind: 'confirm', to, language, askedMs: this.#clock.now() });
  }

  /** Takes a link; its address is confirmed. @throws Refusal `not-found` for a link that is good no more. */
  async confirm(secret: string): Promise<void> {
    requireMails(this.#isOn);
    const { link, user } = await this.#links.get(secret, 'confirm');
    await this.#users.change(user, () => this.#links.confirm(link));
  }

  /** Tells the address before, after a change: whoever reads mail there may know nothing of it. */
  async tellChange(before: User, language: MailLanguage): Promise<void> {
    const { email: to } = before;
    if (!this.#isOn || to === undefined || !isEmailAddress(to)) return;
    if ((await this.#limits.takeMail(before, 'notice', to)) !== undefined) {
      this.#log.warn({}, 'an address was not told that it was replaced: it was sent too many mails');
      return;
    }
    const notice = { kind: 'email-changed', to, language, askedMs: this.#clock.now() } as const;
    // The address is changed, whether or not the notice can be stored.
    await this.#mails.add(before, notice).catch((error: unknown) => {
      this.#log.error({ err: error }, 'the notice of another address could not be put into the outbox');
    });
  }
}
