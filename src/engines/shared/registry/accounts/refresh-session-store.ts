// Refresh sessions in the registry.
import { type Selectable, sql } from 'kysely';
import type {
  RefreshSession,
  RefreshSessionStore,
  RefreshSessionUse,
} from '../../../../domain/accounts/refresh-session-store.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import type { Registry } from '../registry.ts';
import type { RefreshSessionTable } from '../tables.ts';

export class SqlRefreshSessionStore implements RefreshSessionStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(family: string): Promise<RefreshSession | undefined> {
    const row = await this.#sessions().where('family', '=', family).executeTakeFirst();
    return row && toRefreshSession(row);
  }

  async findById(id: string): Promise<RefreshSession | undefined> {
    const row = await this.#sessions().where('id', '=', id).executeTakeFirst();
    return row && toRefreshSession(row);
  }

  async list(user: UserKey, nowMs: number): Promise<RefreshSession[]> {
    const rows = this.#sessions().where('user', '=', user).where('expires', '>', nowMs);
    return (await rows.orderBy('last_used', 'desc').orderBy('key', 'desc').execute()).map(toRefreshSession);
  }

  async create(
    session: RefreshSession,
    { max, nowMs }: { readonly max: number; readonly nowMs: number },
  ): Promise<void> {
    const { id, family, user, passwordVersion: password_version, createdMs: date_created } = session;
    const db = this.#registry.read;
    // The newest session beyond the bound; it and all older ones are deleted.
    const beyond = db
      .selectFrom('refresh_session as newer')
      .select('newer.key')
      .where('newer.user', '=', user)
      .orderBy('newer.key', 'desc')
      .limit(1)
      .offset(sql.lit(max));
    await this.#registry.write([
      db
        .insertInto('refresh_session')
        .values({ id, family, user, password_version, date_created, ...columnsOf(session) }),
      db.deleteFrom('refresh_session').where('user', '=', user).where('key', '<=', beyond),
      db.deleteFrom('refresh_session').where('expires', '<=', nowMs),
    ]);
  }

  async rotate(family: string, use: RefreshSessionUse): Promise<void> {
    const update = this.#registry.read.updateTable('refresh_session').set(columnsOf(use)).where('family', '=', family);
    await this.#registry.write([update.where('hash', '=', use.previous ?? '')]);
  }

  async remove(family: string): Promise<void> {
    await this.#registry.write([this.#registry.read.deleteFrom('refresh_session').where('family', '=', family)]);
  }

  async removeAll(user: UserKey): Promise<void> {
    await this.#registry.write([this.#registry.read.deleteFrom('refresh_session').where('user', '=', user)]);
  }

  #sessions() {
    return this.#registry.read.selectFrom('refresh_session').selectAll();
  }
}

function columnsOf({ hash, previous, lastUsedMs, expiresMs, endsMs, agent, address }: RefreshSessionUse) {
  return {
    ...{ hash, previous: previous ?? null, last_used: lastUsedMs, expires: expiresMs, ends: endsMs },
    ...{ agent: agent ?? null, address: address ?? null },
  };
}

function toRefreshSession(row: Selectable<RefreshSessionTable>): RefreshSession {
  return {
    ...{ id: row.id, family: row.family, hash: row.hash, previous: row.previous ?? undefined },
    ...{ user: row.user, passwordVersion: row.password_version, createdMs: row.date_created },
    ...{ lastUsedMs: row.last_used, expiresMs: row.expires, endsMs: row.ends },
    ...{ agent: row.agent ?? undefined, address: row.address ?? undefined },
  };
}
