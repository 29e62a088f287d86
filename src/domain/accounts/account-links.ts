// Links that are mailed to users: to set a new password, and to confirm an e-mail address (decision 40). Their secret has 256
// random bits and stands in the fragment of the address, which browsers send to nobody; only its hash is stored. They are
// made when their mail is sent (account-mails.ts), and are good for half an hour and once.
import { createHash } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { User } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { AccountLink, AccountLinkStore, LinkPurpose } from './account-link-store.ts';

const secretBytes = 32;

/** The pages of the dashboard that take the links. */
const pages: Readonly<Record<LinkPurpose, string>> = { reset: 'new-password', confirm: 'confirm-email' };

export class AccountLinks {
  readonly #store: AccountLinkStore;
  readonly #users: Users;
  readonly #clock: Clock;
  readonly #ages: Clock;
  readonly #ids: Ids;
  readonly #baseUrl: string;

  constructor(parts: {
    readonly store: AccountLinkStore;
    readonly users: Users;
    /** The clock by which links expire, and the one by which the expired are deleted. */
    readonly clock: Clock;
    readonly ages: Clock;
    readonly ids: Ids;
    /** The address of the service as its operator has set it; never what a request says. */
    readonly baseUrl: string;
  }) {
    this.#store = parts.store;
    this.#users = parts.users;
    this.#clock = parts.clock;
    this.#ages = parts.ages;
    this.#ids = parts.ids;
    this.#baseUrl = withoutSlashes(parts.baseUrl);
  }

  /** The address of the service, without a slash at its end. */
  get baseUrl(): string {
    return this.#baseUrl;
  }

  /** Makes a link for the user; the earlier ones stay good, up to a number. @returns its address with the secret. */
  async make(user: User, purpose: LinkPurpose, email: string): Promise<string> {
    const secret = Buffer.from(this.#ids.bytes(secretBytes)).toString('base64url');
    const createdMs = this.#clock.now();
    const link = { hash: hashOf(secret), user: user.key, purpose, email, createdMs };
    await this.#store.create(
      { ...link, expiresMs: createdMs + limits.accountLinkMs },
      { max: limits.accountLinksPerUserMax, nowMs: this.#ages.now() },
    );
    return `${this.#baseUrl}/${pages[purpose]}#${secret}`;
  }

  /** The link of a secret, and its user. @throws Refusal `not-found` where there is none that is still good. */
  async get(secret: string, purpose: LinkPurpose): Promise<{ readonly link: AccountLink; readonly user: User }> {
    const link = await this.#store.find(hashOf(secret));
    const user = link && (await this.#users.findByKey(link.user));
    if (link?.purpose !== purpose || user === undefined || this.#isOver(link)) throw over();
    return { link, user };
  }

  /** Spends a link for a new password. @throws Refusal `not-found` where it was spent meanwhile. */
  async setPassword(link: AccountLink, password: { readonly hash: string; readonly endKeys: boolean }): Promise<void> {
    if (!(await this.#store.setPassword(link, password))) throw over();
  }

  /** Spends a link that confirms an address. @throws Refusal `not-found` where it was spent meanwhile. */
  async confirm(link: AccountLink): Promise<void> {
    if (!(await this.#store.confirm(link))) throw over();
  }

  /** One that was made later than now was made while the clock was ahead, and would live longer than it was meant to. */
  #isOver({ createdMs, expiresMs }: AccountLink): boolean {
    const nowMs = this.#clock.now();
    return expiresMs <= nowMs || createdMs > nowMs + limits.clockDifferenceMsMax;
  }
}

function over(): Refusal {
  return new Refusal(
    'not-found',
    'This link is good no more: it was used, it is older than half an hour, or the address has changed. Ask for another one.',
  );
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64');
}

function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end -= 1;
  return url.slice(0, end);
}
