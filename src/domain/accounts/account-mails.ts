// Composes the mails that the service writes to its users, at the moment in which they are sent: a link is made then, so
// that its secret is stored nowhere. Called by the dispatcher of the outbox.
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import { guestUsername, type User } from '../users/user.ts';
import type { AccountLinks } from './account-links.ts';
import type { AccountMail } from './account-mail.ts';
import { accountMailText } from './account-mail-text.ts';

export class AccountMails {
  readonly #links: AccountLinks;
  readonly #clock: Clock;

  constructor(parts: { readonly links: AccountLinks; readonly clock: Clock }) {
    this.#links = parts.links;
    this.#clock = parts.clock;
  }

  /** The text of the mail with its link; or why it is not sent any more. */
  async compose(user: User, mail: AccountMail): Promise<{ readonly text: string } | { readonly reason: string }> {
    const { kind, to, language } = mail;
    const purpose = kind === 'reset' || kind === 'confirm' ? kind : undefined;
    if (user.username === guestUsername) return { reason: 'guest gets no mail' };
    if (purpose !== undefined && this.#clock.now() - mail.askedMs > limits.accountLinkMs)
      return { reason: 'it was asked for too long ago' };
    const isStillTheirs = kind === 'confirm' ? user.email === to : user.confirmedEmail === to;
    if (kind !== 'email-changed' && !isStillTheirs) return { reason: 'the address is another one by now' };
    const link = purpose === undefined ? '' : await this.#links.make(user, purpose, to);
    const minutes = limits.accountLinkMs / 60_000;
    const facts = { username: user.username, service: this.#links.baseUrl, link, minutes };
    return { text: accountMailText(kind, language, facts) };
  }
}
