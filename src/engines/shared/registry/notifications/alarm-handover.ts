// What happens to alarms in the commit in which a device, a sensor of it or a gateway gets another owner: what people wrote to them and did about them was
// for those who saw them before. Whose alarms they are then, triggers of the schema say.
import { type RawBuilder, sql } from 'kysely';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { SensorKey } from '../../../../domain/devices/sensor.ts';
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

/** Of a sensor that is moved from a device to another one, which may be somebody else's. Call it before it is moved. */
export function forgetNotesOfSensor(sensor: SensorKey, from: DeviceKey, to: DeviceKey): RawBuilder<unknown>[] {
  const ownerOf = (device: DeviceKey) => sql`(SELECT owner FROM device WHERE key = ${device})`;
  return [
    countChange,
    sql`UPDATE alarm SET ${forget}, assignee = NULL WHERE sensor = ${sensor} AND device = ${from} AND author IS NULL
      AND ${ownerOf(from)} <> ${ownerOf(to)}`,
  ];
}
