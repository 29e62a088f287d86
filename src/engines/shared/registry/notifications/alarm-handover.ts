// What happens to alarms in the commit in which a device or gateway gets another owner: what people wrote to them and did about them was
// for those who saw them before. Whose alarms they are then, triggers of the schema say.
import { type RawBuilder, sql } from 'kysely';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { GatewayKey } from '../../../../domain/gateways/gateway.ts';
import { changeCount, countChange } from './alarm-rows.ts';

const forget = sql`acknowledged = NULL, acknowledged_by = NULL, note = NULL, snoozed = NULL, changed = ${changeCount}`;
/** Alarms that an author alone sees are the author's, whoever owns the device. */
const hasWords = sql`author IS NULL AND (acknowledged IS NOT NULL OR note IS NOT NULL OR snoozed IS NOT NULL)`;

/** @param isHandedOver the condition of the commit: nothing is forgotten where nothing is handed over. */
export function forgetNotesOfDevice(device: DeviceKey, isHandedOver: RawBuilder<unknown>): RawBuilder<unknown>[] {
  return [countChange, sql`UPDATE alarm SET ${forget} WHERE device = ${device} AND ${hasWords} AND ${isHandedOver}`];
}

export function forgetNotesOfGateway(gateway: GatewayKey, isHandedOver: RawBuilder<unknown>): RawBuilder<unknown>[] {
  return [countChange, sql`UPDATE alarm SET ${forget} WHERE gateway = ${gateway} AND ${hasWords} AND ${isHandedOver}`];
}
