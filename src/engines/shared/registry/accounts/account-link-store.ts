// Mailed links in the registry. A link ends with the address that it was sent to (user-store.ts), so whoever finds it in
// the transaction that spends it knows that the user still has that address.
import { type SqlBool, sql } from 'kysely';
import type { AccountLink, AccountLinkStore, LinkPurpose } from '../../../../domain/accounts/account-link-store.ts';
import type { Registry } from '../registry.ts';
import { removalOfKeys } from './key-store.ts';

export class SqlAccountLinkStore implements AccountLinkStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(hash: string): Promise<AccountLink | undefined> {
    const row = await this.#db.selectFrom('account_link').selectAll().where('hash', '=', hash).executeTakeFirst();
    return (
      row && {
        ...{ hash: row.hash, user: row.user, purpose: row.purpose as LinkPurpose, email: row.email },
        ...{ createdMs: row.date_created, expiresMs: row.expires },
      }
    );
  }

  async create(
    { hash, user, purpose, email, createdMs, expiresMs }: AccountLink,
    { max, nowMs }: { readonly max: number; readonly nowMs: number },
  ): Promise<void> {
    // The newest link beyond the bound; it and all older ones are deleted.
    const beyond = this.#db
      .selectFrom('account_link as newer')
      .select('newer.key')
      .where('newer.user', '=', user)
      .where('newer.purpose', '=', purpose)
      .orderBy('newer.key', 'desc')
      .limit(1)
      .offset(sql.lit(max));
    await this.#registry.write([
      this.#db
        .insertInto('account_link')
        .values({ hash, user, purpose, email, date_created: createdMs, expires: expiresMs }),
      this.#links(user, purpose).where('key', '<=', beyond),
      this.#db.deleteFrom('account_link').where('expires', '<=', nowMs),
    ]);
  }

  async setPassword(
    link: AccountLink,
    { hash, endKeys }: { readonly hash: string; readonly endKeys: boolean },
  ): Promise<boolean> {
    const isThere = isUnspent(link);
    const [changed] = await this.#registry.write([
      this.#db
        .updateTable('user')
        .set({ password_hash: hash, password_version: sql`password_version + 1` })
        .where('key', '=', link.user)
        .where('email_confirmed', '=', link.email)
        .where(isThere),
      this.#db.deleteFrom('refresh_session').where('user', '=', link.user).where(isThere),
      ...(endKeys ? removalOfKeys(this.#db, link.user).map((removal) => removal.where(isThere)) : []),
      // Last, because the others ask whether the link is there.
      this.#links(link.user, 'reset'),
    ]);
    return changed === 1;
  }

  async confirm(link: AccountLink): Promise<boolean> {
    const [changed] = await this.#registry.write([
      this.#db
        .updateTable('user')
        .set({ email_confirmed: link.email })
        .where('key', '=', link.user)
        .where(isUnspent(link)),
      this.#links(link.user, 'confirm'),
    ]);
    return changed === 1;
  }

  #links(user: number, purpose: LinkPurpose) {
    return this.#db.deleteFrom('account_link').where('user', '=', user).where('purpose', '=', purpose);
  }

  get #db() {
    return this.#registry.read;
  }
}

function isUnspent({ hash }: AccountLink) {
  return sql<SqlBool>`EXISTS (SELECT 1 FROM account_link WHERE hash = ${hash})`;
}
