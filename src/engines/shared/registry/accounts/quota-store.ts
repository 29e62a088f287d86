// Quotas in the registry. Counting and refusing is done by triggers (migration 0017).
import { sql } from 'kysely';
import { type QuotaKind, type QuotaLimits, quotaKinds } from '../../../../base/quota-kinds.ts';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { PendingCharge } from '../../../../domain/quotas/push-charge.ts';
import type { QuotaExceptions, QuotaReport, QuotaState } from '../../../../domain/quotas/quota.ts';
import type { QuotaClass, QuotaStore } from '../../../../domain/quotas/quota-store.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import type { Registry } from '../registry.ts';
import type { UsageTable } from '../tables.ts';

/** Users read in one query. */
const usersAtOnce = 500;

const dayMs = 86_400_000;

export class SqlQuotaStore implements QuotaStore {
  readonly #registry: Registry;
  readonly #now: () => number;

  constructor(registry: Registry, clock: { readonly now: () => number }) {
    this.#registry = registry;
    this.#now = () => clock.now();
  }

  async find(user: UserKey): Promise<QuotaReport | undefined> {
    return (await this.list([user])).get(user);
  }

  async list(users: readonly UserKey[]): Promise<ReadonlyMap<UserKey, QuotaReport>> {
    const reports = new Map<UserKey, QuotaReport>();
    for (let from = 0; from < users.length; from += usersAtOnce) {
      const keys = users.slice(from, from + usersAtOnce);
      const usages = await this.#db.selectFrom('usage').selectAll().where('user', 'in', keys).execute();
      const quotas = await this.#db.selectFrom('quota').selectAll().where('user', 'in', keys).execute();
      const byUser = Map.groupBy(quotas, ({ user }) => user);
      for (const usage of usages) reports.set(usage.user, this.#report(usage, byUser.get(usage.user) ?? []));
    }
    return reports;
  }

  async putDefaults(defaults: Readonly<Record<QuotaClass, QuotaLimits>>): Promise<void> {
    const rows = Object.entries(defaults).flatMap(([name, limits]) =>
      quotaKinds.map((kind) => ({ class: name, kind, max: limits[kind] ?? null })),
    );
    await this.#registry.write([
      this.#db.deleteFrom('quota_default'),
      this.#db.insertInto('quota_default').values(rows),
    ]);
  }

  async putExceptions(user: UserKey, exceptions: QuotaExceptions): Promise<void> {
    const named = quotaKinds.filter((kind) => exceptions[kind] !== undefined);
    if (named.length === 0) return;
    const rows = named
      .filter((kind) => exceptions[kind] !== null)
      .map((kind) => ({ user, kind, max: toMax(exceptions[kind]) }));
    await this.#registry.write([
      this.#db.deleteFrom('quota_exception').where('user', '=', user).where('kind', 'in', named),
      ...(rows.length === 0 ? [] : [this.#db.insertInto('quota_exception').values(rows)]),
    ]);
  }

  async addCharges(charges: readonly PendingCharge[], day: number): Promise<void> {
    const rows = JSON.stringify(
      charges.map(({ device, user, isStranger, datapoints, bytes }) => [
        device,
        user,
        Number(isStranger),
        datapoints,
        bytes,
      ]),
    );
    const perUser = new Map<UserKey, number>();
    for (const { user, datapoints } of charges) perUser.set(user, (perUser.get(user) ?? 0) + datapoints);
    const entries = this.#registry.dialect.rows(sql`${rows}`, {
      ...({ device: 'integer', pusher: 'integer', stranger: 'integer' } as const),
      ...({ datapoints: 'integer', bytes: 'integer' } as const),
    });
    const add = sql`INSERT INTO push_charge (device, "user", stranger, datapoints, bytes)
      SELECT entry.device, entry.pusher, entry.stranger, sum(entry.datapoints), sum(entry.bytes) FROM ${entries} AS entry
      WHERE EXISTS (SELECT 1 FROM device WHERE key = entry.device) AND EXISTS (SELECT 1 FROM "user" WHERE key = entry.pusher)
      GROUP BY entry.device, entry.pusher, entry.stranger
      ON CONFLICT (device, "user", stranger) DO UPDATE SET
        datapoints = push_charge.datapoints + excluded.datapoints, bytes = push_charge.bytes + excluded.bytes`;
    const daily = [...perUser].map(([user, datapoints]) =>
      this.#db
        .updateTable('usage')
        .set({ day, day_datapoints: sql`CASE WHEN day = ${day} THEN day_datapoints ELSE 0 END + ${datapoints}` })
        .where('user', '=', user),
    );
    await this.#registry.write([{ compile: () => add.compile(this.#db) }, ...daily]);
  }

  async strangerBytesOf(device: DeviceKey): Promise<number> {
    const row = await this.#db
      .selectFrom('push_charge')
      .select(sql<number | null>`sum(bytes)`.as('bytes'))
      .where('device', '=', device)
      .where('stranger', '=', 1)
      .executeTakeFirst();
    return row?.bytes ?? 0;
  }

  async setGrowthAllowed(allowed: boolean): Promise<void> {
    await this.#registry.write([this.#db.updateTable('growth').set({ allowed: allowed ? 1 : 0 })]);
  }

  get #db() {
    return this.#registry.read;
  }

  #report(
    usage: UsageTable,
    quotas: readonly { readonly kind: string; readonly max: number | null; readonly is_exception: number }[],
  ): QuotaReport {
    const today = Math.floor(this.#now() / dayMs);
    const used = (kind: QuotaKind): number => {
      if (kind !== 'datapoints_per_day') return usage[kind];
      return usage.day === today ? usage.day_datapoints : 0;
    };
    const states = quotaKinds.map((kind): [QuotaKind, QuotaState] => {
      const quota = quotas.find((row) => row.kind === kind);
      const state = { used: used(kind), limit: quota?.max ?? undefined, isException: quota?.is_exception === 1 };
      return [kind, state];
    });
    return Object.fromEntries(states) as QuotaReport;
  }
}

function toMax(limit: number | 'none' | null | undefined): number | null {
  return typeof limit === 'number' ? limit : null;
}
