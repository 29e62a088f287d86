// Reads the fields of records that the permission function needs, for permission queries over any number of records.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { BatchRange } from '../../../../base/in-batches.ts';
import type { Audience } from '../../../../domain/permissions/permission.ts';
import type { OrderedRecord, ProtectedRecordStore } from '../../../../domain/permissions/permission-queries.ts';
import { noScopes, type RecordKind, scopesOn } from '../../../../domain/scopes.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { audienceCondition, callerOf } from '../conditions/audience.ts';
import { deviceScopes, inheritedShares } from '../conditions/inherited-shares.ts';
import { withinTime } from '../conditions/time-guard.ts';
import type { Registry } from '../registry.ts';

interface Row {
  readonly key: number;
  readonly id: string;
  readonly owner: number;
  readonly visibility: 'public' | 'private';
  /** Scopes that the audience's user has by shares; null or 0: none. */
  readonly scopes: number | null;
}

export class SqlProtectedRecordStore implements ProtectedRecordStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async count(kind: RecordKind, audience: Audience): Promise<number> {
    const query = sql<{ count: number }>`SELECT count(*) AS count FROM ${sql.table(kind)}
      WHERE ${withinTime(kind)} AND ${audienceCondition(kind, audience)}`;
    const [row] = await this.#search(query, audience);
    return row?.count ?? 0;
  }

  async list(
    kind: RecordKind,
    { audience, after, limit, offset }: BatchRange & { readonly audience: Audience },
  ): Promise<OrderedRecord[]> {
    const user = audience.all ? undefined : audience.user;
    const visibility = kind === 'project' ? sql`'private'` : sql.ref(`${kind}.visibility`);
    const scopes = user === undefined ? sql`NULL` : sharedScopes(kind, user);
    const query = sql<Row>`SELECT key, id, owner, ${visibility} AS visibility, ${scopes} AS scopes
      FROM ${sql.table(kind)} WHERE key > ${after} AND ${withinTime(kind)} AND ${audienceCondition(kind, audience)}
      ORDER BY key LIMIT ${limit} OFFSET ${offset}`;
    const rows = await this.#search(query, audience);
    return rows.map(({ owner: ownerKey, scopes: shared, ...row }) => ({
      kind,
      ...row,
      ownerKey,
      ...(shared === null || shared === noScopes || user === undefined ? {} : { shares: new Map([[user, shared]]) }),
    }));
  }

  #search<Row>(query: RawBuilder<Row>, audience: Audience): Promise<Row[]> {
    const { read } = this.#registry;
    return this.#registry.search({ compile: () => query.compile(read) }, callerOf(audience));
  }
}

/** The scopes that the user has on the record by shares. */
function sharedScopes(kind: RecordKind, user: UserKey): RawBuilder<number | null> {
  if (kind !== 'device') {
    const given = sql`SELECT given.scopes FROM ${sql.table(`${kind}_share`)} AS given
      WHERE given.record = ${sql.ref(`${kind}.key`)} AND given."user" = ${user}`;
    return sql`((${given}) & ${scopesOn[kind]})`;
  }
  const own = sql`SELECT share.scopes FROM share WHERE share.device = device.key AND share."user" = ${user}`;
  const isOfDevice = sql<SqlBool>`reached.key = device.key AND given."user" = ${user}`;
  // Each right for itself, because SQL has no aggregate for bits that all engines know.
  const bits = Array.from({ length: 31 }, (_, bit) => 1 << bit).filter((bit) => (deviceScopes & bit) !== 0);
  const each = bits.map((bit) => sql`max(inherited.scopes & ${bit})`);
  const inherited = sql`SELECT ${sql.join(each, sql` + `)} FROM ${inheritedShares(isOfDevice)} AS inherited`;
  return sql`(coalesce((${own}), 0) | coalesce((${inherited}), 0))`;
}
