// Bounds the mails that the service writes to its users, in windows as long as links are good, counted over all processes:
// for each address that asks, each account, and each mailbox. So nobody fills a stranger's mailbox. An attacker
// who uses up the mails of an account does not lock its owner out: the links in those mails are still good.
import { createHash } from 'node:crypto';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { SharedCounts } from '../ports/shared-counts.ts';
import type { User } from '../users/user.ts';
import type { LinkPurpose } from './account-link-store.ts';

const windowMs = limits.accountLinkMs;

export class AccountMailLimits {
  readonly #counts: SharedCounts;
  readonly #clock: Clock;

  constructor(parts: { readonly counts: SharedCounts; readonly clock: Clock }) {
    this.#counts = parts.counts;
    this.#clock = parts.clock;
  }

  /** Counts a request of an address. @returns false where there were too many. */
  async takeAddress(address: string): Promise<boolean> {
    const max = limits.accountMailsPerAddressMax;
    return (await this.#counts.take([{ kind: 'account-mails-by-address', key: address, max, windowMs }])) === undefined;
  }

  /** Counts a mail to a user. @returns undefined; or in how many seconds to try again, where there were too many. */
  async takeMail(user: User, purpose: LinkPurpose | 'notice', email: string): Promise<number | undefined> {
    const mailbox = createHash('sha256').update(email.toLowerCase()).digest('base64');
    const full = await this.#counts.take([
      { kind: 'account-mails', key: `${purpose} ${user.id}`, max: limits.accountMailsPerUserMax, windowMs },
      { kind: 'account-mails', key: mailbox, max: limits.accountMailsPerMailboxMax, windowMs },
    ]);
    return full && Math.max(1, Math.ceil((full.sinceMs + windowMs - this.#clock.now()) / 1000));
  }
}

/** The refusal where the operator has not set what these mails need. */
export function requireMails(isOn: boolean): void {
  if (isOn) return;
  throw new Refusal(
    'conflict',
    'This service writes no mails of this kind: DUNDUN_SMTP_URL and DUNDUN_BASE_URL are not both set. Ask an admin.',
  );
}
