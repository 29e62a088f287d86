// Gateways in the registry.
import { type Compilable, type Expression, type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import type { BatchRange } from '../../../../base/in-batches.ts';
import type { Json } from '../../../../base/text/json.ts';
import type { Condition } from '../../../../domain/devices/filter.ts';
import type { HandoverOptions } from '../../../../domain/devices/handover-store.ts';
import type {
  Gateway,
  GatewayChange,
  GatewayDraft,
  GatewayId,
  GatewayKey,
} from '../../../../domain/gateways/gateway.ts';
import type { GatewayListQuery, GatewayStore, LastSeenUpdate } from '../../../../domain/gateways/gateway-store.ts';
import type { Visibility } from '../../../../domain/permissions/visibility.ts';
import { scopesOn } from '../../../../domain/scopes.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { audienceCondition, callerOf } from '../conditions/audience.ts';
import { compareJson, compareText, compareTime, refuseField } from '../conditions/comparison.ts';
import { deviceScopes } from '../conditions/inherited-shares.ts';
import { withinTime } from '../conditions/time-guard.ts';
import { forgetNotesOfGateway } from '../notifications/alarm-handover.ts';
import type { Registry } from '../registry.ts';
import type { SqlDialect } from '../sql-dialect.ts';
import { type GivenScopes, scopesByUser } from './device-rows.ts';
import type { GatewayTable } from './device-tables.ts';
import { chargeStatements } from './handover-charges.ts';

export class SqlGatewayStore implements GatewayStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(id: GatewayId): Promise<Gateway | undefined> {
    return (await this.#withShares(await this.#gateways().where('gateway.id', '=', id).execute()))[0];
  }

  async list({ after, limit, offset, ...found }: GatewayListQuery & BatchRange): Promise<Gateway[]> {
    const behind = this.#gateways().where('gateway.key', '>', after).where(this.#conditions(found));
    const page = behind.orderBy('gateway.key').limit(limit).offset(offset);
    return this.#withShares(await this.#registry.search(page, callerOf(found.audience)));
  }

  async count(found: GatewayListQuery): Promise<number> {
    const counted = this.#db
      .selectFrom('gateway')
      .select(sql<number>`count(*)`.as('count'))
      .where(this.#conditions(found));
    const [row] = await this.#registry.search(counted, callerOf(found.audience));
    return row?.count ?? 0;
  }

  async listByIds(ids: readonly GatewayId[]): Promise<Gateway[]> {
    if (ids.length === 0) return [];
    return this.#withShares(await this.#gateways().where('gateway.id', 'in', ids).execute());
  }

  async create(draft: GatewayDraft & { visibility: Visibility }, owner: UserKey, atMs: number): Promise<void> {
    const { id, ...fields } = draft;
    const columns = { ...(toColumns(fields) as { visibility: string }), id, owner };
    await this.#registry.write([
      this.#db.insertInto('gateway').values({ ...columns, date_created: atMs, date_modified: atMs }),
    ]);
  }

  async update(gateway: GatewayKey, change: GatewayChange, atMs: number): Promise<void> {
    await this.#registry.write([this.#mark(gateway, toColumns(change), atMs)]);
  }

  async setOwner(
    gateway: GatewayKey,
    owner: UserKey,
    atMs: number,
    options: HandoverOptions = { forgetBeforeMs: 0 },
  ): Promise<boolean> {
    const charges = chargeStatements({ kind: 'gateway', key: gateway, receiver: owner, atMs }, options);
    // A share with the new owner would be without meaning. Nothing is handed over where that is the owner already.
    const isNew = sql<SqlBool>`EXISTS (SELECT 1 FROM gateway
      WHERE gateway.key = ${gateway} AND gateway.owner <> ${owner})`;
    const isEnding = sql<SqlBool>`record = ${gateway} AND ("user" = ${owner} OR given_by IS DISTINCT FROM ${owner})
      AND ${isNew}`;
    const [reaching = 0] = await this.#registry.write([
      this.#db.deleteFrom('gateway_share').where(isEnding).where(reachesDevices),
      this.#db.deleteFrom('gateway_share').where(isEnding),
      ...[...charges, ...forgetNotesOfGateway(gateway, isNew)].map((statement) => ({
        compile: () => statement.compile(this.#db),
      })),
      this.#mark(gateway, { owner }, atMs),
    ]);
    return reaching > 0;
  }

  async remove(gateway: GatewayKey): Promise<boolean> {
    const shares = this.#db.deleteFrom('gateway_share').where('record', '=', gateway);
    const [reaching = 0] = await this.#registry.write([
      shares.where(reachesDevices),
      shares,
      this.#db.deleteFrom('gateway').where('key', '=', gateway),
    ]);
    return reaching > 0;
  }

  async saveLastSeen(updates: readonly LastSeenUpdate[]): Promise<void> {
    await this.#registry.write(
      updates.map(({ gateway, atMs }) =>
        // Another process may have stored a later time.
        this.#db
          .updateTable('gateway')
          .set({ last_seen: atMs })
          .where('key', '=', gateway)
          .where((eb) => eb.or([eb('last_seen', 'is', null), eb('last_seen', '<', atMs)])),
      ),
    );
  }

  get #db() {
    return this.#registry.read;
  }

  #gateways() {
    return this.#db
      .selectFrom('gateway')
      .innerJoin('user', 'user.key', 'gateway.owner')
      .selectAll('gateway')
      .select('user.username as owner_name');
  }

  async #withShares(rows: readonly GatewayRow[]): Promise<Gateway[]> {
    if (rows.length === 0) return [];
    const keys = rows.map(({ key }) => key);
    const shares = await this.#db.selectFrom('gateway_share').selectAll().where('record', 'in', keys).execute();
    const byGateway = Map.groupBy(shares, ({ record }) => record);
    return rows.map((row) => toGateway(row, byGateway.get(row.key) ?? []));
  }

  #conditions({ audience, filter }: GatewayListQuery): Expression<SqlBool> {
    const met = filter.map((condition) => conditionOf(condition, this.#registry.dialect));
    const conditions = [withinTime('gateway'), audienceCondition('gateway', audience), ...met];
    return sql.join(conditions, sql` AND `) as unknown as Expression<SqlBool>;
  }

  #mark(gateway: GatewayKey, columns: Record<string, unknown>, atMs: number): Compilable {
    return this.#db
      .updateTable('gateway')
      .set({ ...columns, date_modified: atMs })
      .where('key', '=', gateway);
  }
}

type GatewayRow = Selectable<GatewayTable> & { readonly owner_name: string };

/** Whether a row of `gateway_share` gives rights on devices. */
const reachesDevices = sql<SqlBool>`(scopes & ${deviceScopes}) <> 0`;

function toGateway(row: GatewayRow, shares: readonly GivenScopes[]): Gateway {
  return {
    kind: 'gateway',
    key: row.key,
    id: row.id,
    ownerKey: row.owner,
    owner: row.owner_name,
    visibility: row.visibility as Visibility,
    ...(row.name === null ? {} : { name: row.name }),
    ...(row.location === null ? {} : { location: JSON.parse(row.location) as Json }),
    dateCreatedMs: row.date_created,
    dateModifiedMs: row.date_modified,
    ...(row.last_seen === null ? {} : { lastSeenMs: row.last_seen }),
    ...(shares.length === 0 ? {} : { shares: scopesByUser(shares, scopesOn.gateway) }),
  };
}

function toColumns(change: GatewayChange): Record<string, unknown> {
  const columns: Record<string, unknown> = {};
  if ('name' in change) columns['name'] = change.name ?? null;
  if (change.visibility !== undefined) columns['visibility'] = change.visibility;
  if ('location' in change)
    columns['location'] = change.location === undefined ? null : JSON.stringify(change.location);
  return columns;
}

const textColumns: Readonly<Record<string, RawBuilder<unknown>>> = {
  id: sql`gateway.id`,
  name: sql`gateway.name`,
  visibility: sql`gateway.visibility`,
  owner: sql`(SELECT "user".username FROM "user" WHERE "user".key = gateway.owner)`,
};

const timeColumns: Readonly<Record<string, RawBuilder<unknown>>> = {
  date_created: sql`gateway.date_created`,
  date_modified: sql`gateway.date_modified`,
};

/** The fields of a gateway that can be filtered by, as messages name them. */
const fields = `${[...Object.keys(textColumns), ...Object.keys(timeColumns), 'last_seen'].join(', ')}, and those in location`;

function conditionOf(condition: Condition, dialect: SqlDialect): RawBuilder<SqlBool> {
  const [field = '', ...rest] = condition.path;
  if (field === 'location' && rest.length > 0)
    return compareJson(dialect.jsonAt(sql`gateway.location`, rest), condition);
  if (rest.length > 0) return refuseField(condition, fields);
  const text = Object.hasOwn(textColumns, field) ? textColumns[field] : undefined;
  if (text !== undefined) return compareText(text, condition);
  const time = Object.hasOwn(timeColumns, field) ? timeColumns[field] : undefined;
  if (time !== undefined) return compareTime(time, condition);
  if (field !== 'last_seen') return refuseField(condition, fields);
  const seen = compareTime(sql`gateway.last_seen`, condition);
  return condition.operator === '!=' ? sql`(gateway.last_seen IS NULL OR ${seen})` : seen;
}
