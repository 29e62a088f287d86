// Users in the registry.
import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { User, UserKey, UserProfile } from '../../domain/users/user.ts';
import type { NewUser, UserStore } from '../../domain/users/user-store.ts';
import type { Registry } from './registry.ts';
import type { UserTable } from './tables.ts';

export class SqlUserStore implements UserStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async findByKey(key: UserKey): Promise<User | undefined> {
    return toUser(await this.#users().where('key', '=', key).executeTakeFirst());
  }

  async findById(id: string): Promise<User | undefined> {
    return toUser(await this.#users().where('id', '=', id).executeTakeFirst());
  }

  async findByName(username: string): Promise<User | undefined> {
    return toUser(await this.#users().where('username', '=', username).executeTakeFirst());
  }

  async list({ limit, offset }: { limit: number; offset: number }): Promise<User[]> {
    const rows = await this.#users().orderBy('username').limit(limit).offset(offset).execute();
    return rows.flatMap((row) => toUser(row) ?? []);
  }

  async create(user: NewUser): Promise<void> {
    const { id, username, admin, createdTime, passwordHash, ...profile } = user;
    await this.#registry.write([
      this.#registry.read.insertInto('user').values({
        id,
        username,
        profile: JSON.stringify(profile),
        admin: admin ? 1 : 0,
        created_time: createdTime,
        password_hash: passwordHash ?? null,
      }),
    ]);
  }

  async setPassword(key: UserKey, passwordHash: string): Promise<void> {
    await this.#registry.write([
      this.#registry.read
        .updateTable('user')
        .set({ password_hash: passwordHash, password_version: sql`password_version + 1` })
        .where('key', '=', key),
    ]);
  }

  #users() {
    return this.#registry.read.selectFrom('user').selectAll();
  }
}

function toUser(row: Selectable<UserTable> | undefined): User | undefined {
  if (row === undefined) return undefined;
  return {
    ...(JSON.parse(row.profile) as UserProfile),
    key: row.key,
    id: row.id,
    username: row.username,
    admin: row.admin === 1,
    createdTime: row.created_time,
    ...(row.password_hash === null ? {} : { passwordHash: row.password_hash }),
    passwordVersion: row.password_version,
  };
}
