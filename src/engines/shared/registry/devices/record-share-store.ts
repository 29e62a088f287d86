// Shares of gateways and projects in the registry. Those of devices are in device-store.ts.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { BatchRange } from '../../../../base/in-batches.ts';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { DeviceId } from '../../../../domain/devices/device.ts';
import type { Share, ShareDirection, SharesPage } from '../../../../domain/devices/device-store.ts';
import type {
  RecordShareStore,
  ShareChange,
  SharedRecord,
  SharedRecordKind,
  ShareOfRecord,
  ShareSource,
} from '../../../../domain/devices/record-share-store.ts';
import { noScopes, type ScopeSet } from '../../../../domain/scopes.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { deviceScopes, inheritedShares } from '../conditions/inherited-shares.ts';
import type { Registry } from '../registry.ts';

export class SqlRecordShareStore implements RecordShareStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async list({ kind, key }: SharedRecord): Promise<Share[]> {
    const rows = sql<Share>`SELECT "user".username AS username, given.scopes AS scopes
      FROM ${tableOf(kind)} AS given INNER JOIN "user" ON "user".key = given."user"
      WHERE given.record = ${key} ORDER BY "user".username`;
    return (await rows.execute(this.#registry.read)).rows;
  }

  async put(
    record: SharedRecord,
    user: UserKey,
    { scopes, givenBy, reachingMax }: { scopes: ScopeSet; givenBy: UserKey; reachingMax: number },
  ): Promise<ShareChange> {
    const table = tableOf(record.kind);
    const reaches = (scopes & deviceScopes) !== noScopes;
    const isWithin = reaches ? sql`${reachingOf(record.ownerKey)} < ${reachingMax}` : sql`1 = 1`;
    const [ended = 0, put] = await this.#write([
      // The former share is taken away first, so that it does not count.
      removal(record, user, reachesAny),
      sql`INSERT INTO ${table} (record, "user", scopes, given_by)
        SELECT ${record.key}, ${user}, ${scopes}, ${givenBy} FROM ${sql.table(record.kind)} AS shared
        WHERE shared.key = ${record.key} AND ${isAsRead(record)} AND ${isWithin}
        ON CONFLICT (record, "user") DO UPDATE SET scopes = excluded.scopes, given_by = excluded.given_by`,
    ]);
    return { isDone: put === 1, reachesDevices: ended > 0 || reaches };
  }

  async remove(record: SharedRecord, user: UserKey): Promise<ShareChange> {
    const isThere = sql`SELECT count(*) AS found FROM ${sql.table(record.kind)} AS shared
      WHERE shared.key = ${record.key} AND ${isAsRead(record)}`;
    const [reaching = 0, other = 0] = await this.#write([
      removal(record, user, reachesAny),
      removal(record, user, sql`1 = 1`),
    ]);
    if (reaching + other > 0) return { isDone: true, reachesDevices: reaching > 0 };
    const [row] = (await (isThere as RawBuilder<{ found: number }>).execute(this.#registry.read)).rows;
    return { isDone: row?.found === 1, reachesDevices: false };
  }

  async listOf(
    kind: SharedRecordKind,
    direction: ShareDirection,
    { limit, offset, after }: SharesPage,
  ): Promise<ShareOfRecord[]> {
    const isBehind =
      after === undefined ? sql`1 = 1` : sql`(shared.key, holder.username) > (${after.key}, ${after.username})`;
    const rows = sql<ShareRow>`SELECT shared.key AS key, shared.id AS id, shared.name AS name, owner.username AS owner,
        holder.username AS username, given.scopes AS scopes, giver.username AS given_by
      ${sharesOf(kind, direction)} AND ${isBehind}
      ORDER BY shared.key, holder.username LIMIT ${limit} OFFSET ${Math.min(offset, Number.MAX_SAFE_INTEGER)}`;
    return (await rows.execute(this.#registry.read)).rows.map(({ name, given_by: givenBy, ...row }) => ({
      ...row,
      ...(name === null ? {} : { name }),
      ...(givenBy === null ? {} : { givenBy }),
    }));
  }

  async countOf(kind: SharedRecordKind, direction: ShareDirection): Promise<number> {
    const counted = sql<{ count: number }>`SELECT count(*) AS count ${sharesOf(kind, direction)}`;
    return (await counted.execute(this.#registry.read)).rows[0]?.count ?? 0;
  }

  async reachesDevices({ kind, key }: SharedRecord): Promise<boolean> {
    const found = sql`SELECT 1 FROM ${tableOf(kind)} AS given
      WHERE given.record = ${key} AND ${reachesAny} LIMIT 1`;
    return (await found.execute(this.#registry.read)).rows.length > 0;
  }

  async listSources(device: DeviceKey, user: UserKey): Promise<ShareSource[]> {
    const isTheirs = sql<SqlBool>`reached.key = ${device} AND given."user" = ${user}`;
    const rows = sql<SourceRow>`SELECT source.kind, source.record, source.scopes, giver.username AS given_by
      FROM (SELECT 'device' AS kind, device.id AS record, share.scopes AS scopes, share.given_by AS given_by
          FROM share INNER JOIN device ON device.key = share.device
          WHERE share.device = ${device} AND share."user" = ${user}
        UNION ALL SELECT kind, record, scopes, given_by FROM ${inheritedShares(isTheirs)} AS inherited) AS source
      LEFT JOIN "user" AS giver ON giver.key = source.given_by
      ORDER BY source.kind, source.record`;
    return (await rows.execute(this.#registry.read)).rows.map(({ kind, record, scopes, given_by: givenBy }) => ({
      ...{ kind, record, scopes: scopes & deviceScopes },
      ...(givenBy === null ? {} : { givenBy }),
    }));
  }

  async listDevicesOfGateway(
    gateway: string,
    { after, limit, offset }: BatchRange,
  ): Promise<{ readonly key: DeviceKey; readonly id: DeviceId }[]> {
    const named = this.#registry.read.selectFrom('device').select(['key', 'id']).where('gateway_id', '=', gateway);
    return named.where('key', '>', after).orderBy('key').limit(limit).offset(offset).execute();
  }

  #write(statements: readonly RawBuilder<unknown>[]): Promise<readonly number[]> {
    return this.#registry.write(
      statements.map((statement) => ({ compile: () => statement.compile(this.#registry.read) })),
    );
  }
}

interface ShareRow {
  readonly key: number;
  readonly id: string;
  readonly name: string | null;
  readonly owner: string;
  readonly username: string;
  readonly scopes: number;
  readonly given_by: string | null;
}

interface SourceRow {
  readonly kind: ShareSource['kind'];
  readonly record: string;
  readonly scopes: number;
  readonly given_by: string | null;
}

const tableOf = (kind: SharedRecordKind) => sql.table(`${kind}_share`);

/** Whether the share `given` gives rights on devices. */
const reachesAny = sql<SqlBool>`(given.scopes & ${deviceScopes}) <> 0`;

/**
 * Whether the record `shared` has the owner, and the project names the devices, as when it was read. Otherwise a device that
 * was taken out since would not be reloaded when a share ends, and would keep its rights in memory.
 */
function isAsRead({ ownerKey, deviceIds }: SharedRecord): RawBuilder<SqlBool> {
  const isOwned = sql<SqlBool>`shared.owner = ${ownerKey}`;
  return deviceIds === undefined ? isOwned : sql`(${isOwned} AND shared.device_ids = ${JSON.stringify(deviceIds)})`;
}

function removal(record: SharedRecord, user: UserKey, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  const { kind, key } = record;
  return sql`DELETE FROM ${tableOf(kind)} WHERE record = ${key} AND "user" IN (SELECT given."user" FROM ${tableOf(kind)} AS given
      WHERE given.record = ${key} AND given."user" = ${user} AND ${condition})
    AND EXISTS (SELECT 1 FROM ${sql.table(kind)} AS shared WHERE shared.key = ${key} AND ${isAsRead(record)})`;
}

/** The number of shares that give rights on devices, of all gateways and projects of the owner. */
function reachingOf(owner: UserKey): RawBuilder<number> {
  const of = (kind: SharedRecordKind) => sql`(SELECT count(*) FROM ${sql.table(kind)} AS shared
    INNER JOIN ${tableOf(kind)} AS given ON given.record = shared.key WHERE shared.owner = ${owner} AND ${reachesAny})`;
  return sql`(${of('gateway')} + ${of('project')})`;
}

function sharesOf(kind: SharedRecordKind, direction: ShareDirection): RawBuilder<unknown> {
  const isAsked =
    'ownedBy' in direction ? sql`shared.owner = ${direction.ownedBy}` : sql`given."user" = ${direction.sharedWith}`;
  return sql`FROM ${tableOf(kind)} AS given
    INNER JOIN ${sql.table(kind)} AS shared ON shared.key = given.record
    INNER JOIN "user" AS owner ON owner.key = shared.owner
    INNER JOIN "user" AS holder ON holder.key = given."user"
    LEFT JOIN "user" AS giver ON giver.key = given.given_by
    WHERE ${isAsked}`;
}
