// Counts handovers against the quotas of giver and receiver, so that they are no way around a quota (migration 0024).
import { type RawBuilder, sql } from 'kysely';
import type { HandoverOptions } from '../../../../domain/devices/handover-store.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { descriptionBytes } from '../accounts/usage-count.ts';

interface HandedOver {
  readonly kind: 'device' | 'gateway';
  readonly key: number;
  readonly receiver: UserKey;
  readonly atMs: number;
}

/** Statements to be run before the owner changes; without effect where the receiver is the owner already. */
export function chargeStatements(
  { kind, key, receiver, atMs }: HandedOver,
  { forgetBeforeMs, isCounted }: HandoverOptions,
): RawBuilder<unknown>[] {
  const table = sql.table(kind);
  const changed = sql`FROM ${table} WHERE ${table}.key = ${key} AND owner <> ${receiver}`;
  const sensors = sql`(SELECT count(*) FROM sensor WHERE sensor.device = device.key)`;
  const amounts = kind === 'device' ? sql`1, ${sensors}, 0` : sql`0, 0, 1`;
  const added = sql`INSERT INTO handover_charge
      (kind, record, giver, receiver, at, devices, sensors, gateways, description_bytes)
    SELECT ${kind}, ${key}, owner, ${receiver}, ${atMs}, ${amounts}, ${sql.raw(descriptionBytes[kind])} ${changed}`;
  return [
    sql`DELETE FROM handover_charge WHERE at < ${forgetBeforeMs}`,
    sql`DELETE FROM handover_charge WHERE kind = ${kind} AND record = ${key} AND EXISTS (SELECT 1 ${changed})`,
    ...(isCounted === true ? [added] : []),
  ];
}
