// API keys in the registry.
import { sql } from 'kysely';
import type { ApiKey, KeyScopeName } from '../../../../domain/keys/key.ts';
import type { KeyStore } from '../../../../domain/keys/key-store.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import type { Registry } from '../registry.ts';

export class SqlKeyStore implements KeyStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async findByHash(hash: string): Promise<ApiKey | undefined> {
    const row = await this.#keys().where('api_key.hash', '=', hash).executeTakeFirst();
    return row && toKey(row);
  }

  async findById(id: string): Promise<ApiKey | undefined> {
    const row = await this.#keys().where('api_key.id', '=', id).executeTakeFirst();
    return row && toKey(row);
  }

  async list(owner: UserKey): Promise<ApiKey[]> {
    const rows = await this.#keys().where('api_key.user', '=', owner).orderBy('api_key.key').execute();
    return rows.map(toKey);
  }

  async create(key: ApiKey, { hash }: { readonly hash: string }): Promise<void> {
    const { id, owner, name, scopes, devices, dateCreatedMs, expiresMs } = key;
    const text = (list: readonly string[] | undefined) => (list === undefined ? null : JSON.stringify(list));
    const lists = { scopes: text(scopes), devices: text(devices) };
    const times = { date_created: dateCreatedMs, expires: expiresMs ?? null };
    await this.#registry.write([
      this.#db.insertInto('api_key').values({ id, user: owner, hash, name, ...lists, ...times }),
    ]);
  }

  async remove(id: string): Promise<void> {
    const key = sql<number>`(SELECT key FROM api_key WHERE id = ${id})`;
    await this.#registry.write([
      this.#db.deleteFrom('api_key_use').where('api_key', '=', key),
      this.#db.deleteFrom('api_key').where('id', '=', id),
    ]);
  }

  async removeAll(owner: UserKey): Promise<void> {
    const keys = this.#db.selectFrom('api_key').select('api_key.key').where('user', '=', owner);
    await this.#registry.write([
      this.#db.deleteFrom('api_key_use').where('api_key', 'in', keys),
      this.#db.deleteFrom('api_key').where('user', '=', owner),
    ]);
  }

  async noteUse(id: string, atMs: number): Promise<void> {
    const key = this.#db
      .selectFrom('api_key')
      .select(['key', sql.val(atMs).as('at')])
      .where('id', '=', id);
    const use = this.#db.insertInto('api_key_use').columns(['api_key', 'at']).expression(key);
    await this.#registry.write([use.onConflict((conflict) => conflict.column('api_key').doUpdateSet({ at: atMs }))]);
  }

  get #db() {
    return this.#registry.read;
  }

  #keys() {
    return this.#db
      .selectFrom('api_key')
      .leftJoin('api_key_use', 'api_key_use.api_key', 'api_key.key')
      .selectAll('api_key')
      .select('api_key_use.at as last_used');
  }
}

interface Row {
  readonly id: string;
  readonly user: number;
  readonly name: string;
  readonly scopes: string | null;
  readonly devices: string | null;
  readonly date_created: number;
  readonly expires: number | null;
  readonly last_used: number | null;
}

function toKey(row: Row): ApiKey {
  return {
    id: row.id,
    owner: row.user,
    name: row.name,
    scopes: row.scopes === null ? undefined : (JSON.parse(row.scopes) as KeyScopeName[]),
    devices: row.devices === null ? undefined : (JSON.parse(row.devices) as string[]),
    dateCreatedMs: row.date_created,
    expiresMs: row.expires ?? undefined,
    lastUsedMs: row.last_used ?? undefined,
  };
}

/** The statements that remove all keys of a user. */
export function removalOfKeys(db: Registry['read'], owner: UserKey) {
  const keys = db.selectFrom('api_key').select('api_key.key').where('user', '=', owner);
  return [
    db.deleteFrom('api_key_use').where('api_key', 'in', keys),
    db.deleteFrom('api_key').where('user', '=', owner),
  ];
}
