// Renewal sessions in the registry.
import { sql } from 'kysely';
import type { Renewal, RenewalStore } from '../../domain/users/renewals.ts';
import type { Registry } from './registry.ts';

export class SqlRenewalStore implements RenewalStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(hash: string): Promise<Renewal | undefined> {
    return this.#registry.read
      .selectFrom('renewal')
      .select(['user', 'password_version as passwordVersion', 'expires as expiresMs'])
      .where('hash', '=', hash)
      .executeTakeFirst();
  }

  async create(
    hash: string,
    renewal: Renewal,
    { max, nowMs }: { readonly max: number; readonly nowMs: number },
  ): Promise<void> {
    const { user, passwordVersion: password_version, expiresMs: expires } = renewal;
    const db = this.#registry.read;
    // The newest beyond the bound; it and all before it go.
    const beyond = db
      .selectFrom('renewal as newer')
      .select('newer.key')
      .where('newer.user', '=', user)
      .orderBy('newer.key', 'desc')
      .limit(1)
      .offset(sql.lit(max));
    await this.#registry.write([
      db.insertInto('renewal').values({ hash, user, password_version, expires }),
      db.deleteFrom('renewal').where('user', '=', user).where('key', '<=', beyond),
      db.deleteFrom('renewal').where('expires', '<=', nowMs),
    ]);
  }

  async setExpires(hash: string, expiresMs: number): Promise<void> {
    const update = this.#registry.read.updateTable('renewal').set({ expires: expiresMs });
    await this.#registry.write([update.where('hash', '=', hash)]);
  }

  async remove(hash: string): Promise<void> {
    await this.#registry.write([this.#registry.read.deleteFrom('renewal').where('hash', '=', hash)]);
  }
}
