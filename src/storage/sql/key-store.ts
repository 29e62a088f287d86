// API keys in the registry.
import { type SqlBool, sql } from 'kysely';
import type { ApiKey, KeyScope } from '../../domain/keys/key.ts';
import type { KeyStore } from '../../domain/keys/key-store.ts';
import type { UserKey } from '../../domain/users/user.ts';
import type { Registry } from './registry.ts';

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

  async create(key: ApiKey, { hash, max }: { readonly hash: string; readonly max: number }): Promise<boolean> {
    const { id, owner, name, scopes, devices, dateCreatedMs, expiresMs } = key;
    const text = (list: readonly string[] | undefined) => (list === undefined ? null : JSON.stringify(list));
    // Counted where it is written, so that no two at once pass the bound.
    const count = this.#db.selectFrom('api_key').select(sql<number>`count(*)`.as('count')).where('user', '=', owner);
    const row = this.#db
      .selectNoFrom([
        sql.val(id).as('id'),
        sql.val(owner).as('user'),
        sql.val(hash).as('hash'),
        sql.val(name).as('name'),
        sql.val(text(scopes)).as('scopes'),
        sql.val(text(devices)).as('devices'),
        sql.val(dateCreatedMs).as('date_created'),
        sql.val(expiresMs ?? null).as('expires'),
      ])
      .where(sql<SqlBool>`${count} < ${max}`);
    const columns = ['id', 'user', 'hash', 'name', 'scopes', 'devices', 'date_created', 'expires'] as const;
    const insert = this.#db.insertInto('api_key').columns(columns).expression(row);
    const [inserted] = await this.#registry.write([insert]);
    return inserted === 1;
  }

  async remove(id: string): Promise<void> {
    const key = sql<number>`(SELECT key FROM api_key WHERE id = ${id})`;
    await this.#registry.write([
      this.#db.deleteFrom('api_key_use').where('api_key', '=', key),
      this.#db.deleteFrom('api_key').where('id', '=', id),
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
    scopes: row.scopes === null ? undefined : (JSON.parse(row.scopes) as KeyScope[]),
    devices: row.devices === null ? undefined : (JSON.parse(row.devices) as string[]),
    dateCreatedMs: row.date_created,
    expiresMs: row.expires ?? undefined,
    lastUsedMs: row.last_used ?? undefined,
  };
}
