// What the permission function needs to know of records, and nothing else of them: for permission queries over any
// number of records.
import { sql } from 'kysely';
import type { Step } from '../../base/stepwise.ts';
import type { Audience } from '../../domain/permissions/permission.ts';
import type { GuardedStore, Placed } from '../../domain/permissions/permission-queries.ts';
import type { RecordKind } from '../../domain/permissions/scopes.ts';
import { audienceCondition } from './audience.ts';
import type { Registry } from './registry.ts';

interface Row {
  readonly key: number;
  readonly id: string;
  readonly owner: number;
  readonly visibility: 'public' | 'private';
  /** Of the share with the audience's user. */
  readonly scopes: number | null;
}

export class SqlGuardedStore implements GuardedStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async count(kind: RecordKind, audience: Audience): Promise<number> {
    const query = sql<{ count: number }>`SELECT count(*) AS count FROM ${sql.table(kind)}
      WHERE ${audienceCondition(kind, audience)}`;
    const { rows } = await query.execute(this.#registry.read);
    return rows[0]?.count ?? 0;
  }

  async list(
    kind: RecordKind,
    { audience, after, limit, offset }: Step & { readonly audience: Audience },
  ): Promise<Placed[]> {
    const user = audience.all ? undefined : audience.user;
    const visibility = kind === 'project' ? sql`'private'` : sql.ref(`${kind}.visibility`);
    const scopes =
      kind === 'device' && user !== undefined
        ? sql`(SELECT share.scopes FROM share WHERE share.device = device.key AND share.user = ${user})`
        : sql`NULL`;
    const query = sql<Row>`SELECT key, id, owner, ${visibility} AS visibility, ${scopes} AS scopes
      FROM ${sql.table(kind)} WHERE key > ${after} AND ${audienceCondition(kind, audience)}
      ORDER BY key LIMIT ${limit} OFFSET ${offset}`;
    const { rows } = await query.execute(this.#registry.read);
    return rows.map(({ owner: ownerKey, scopes: shared, ...row }) => ({
      kind,
      ...row,
      ownerKey,
      ...(shared === null || user === undefined ? {} : { shares: new Map([[user, shared]]) }),
    }));
  }
}
