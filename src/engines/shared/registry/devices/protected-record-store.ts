// Reads the fields of records that the permission function needs, for permission queries over any number of records.
import { type RawBuilder, sql } from 'kysely';
import type { BatchRange } from '../../../../base/in-batches.ts';
import type { Audience } from '../../../../domain/permissions/permission.ts';
import type { OrderedRecord, ProtectedRecordStore } from '../../../../domain/permissions/permission-queries.ts';
import type { RecordKind } from '../../../../domain/scopes.ts';
import { audienceCondition, callerOf } from '../conditions/audience.ts';
import { withinTime } from '../conditions/time-guard.ts';
import type { Registry } from '../registry.ts';

interface Row {
  readonly key: number;
  readonly id: string;
  readonly owner: number;
  readonly visibility: 'public' | 'private';
  /** Scopes of the share with the audience's user. */
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
    const scopes =
      kind === 'device' && user !== undefined
        ? sql`(SELECT share.scopes FROM share WHERE share.device = device.key AND share.user = ${user})`
        : sql`NULL`;
    const query = sql<Row>`SELECT key, id, owner, ${visibility} AS visibility, ${scopes} AS scopes
      FROM ${sql.table(kind)} WHERE key > ${after} AND ${withinTime(kind)} AND ${audienceCondition(kind, audience)}
      ORDER BY key LIMIT ${limit} OFFSET ${offset}`;
    const rows = await this.#search(query, audience);
    return rows.map(({ owner: ownerKey, scopes: shared, ...row }) => ({
      kind,
      ...row,
      ownerKey,
      ...(shared === null || user === undefined ? {} : { shares: new Map([[user, shared]]) }),
    }));
  }

  #search<Row>(query: RawBuilder<Row>, audience: Audience): Promise<Row[]> {
    const { read } = this.#registry;
    return this.#registry.search({ compile: () => query.compile(read) }, callerOf(audience));
  }
}
