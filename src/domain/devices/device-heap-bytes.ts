// Estimates the bytes of a device with its parts in memory, by which the directory weighs it. Measured: 1.0 KiB with
// one sensor, 250 bytes for each further one, plus the texts that its owner wrote.
import { heapBytes, textHeapBytes } from '../../base/memory/heap-bytes.ts';
import { limits } from '../../config/limits.ts';
import type { Actuator } from './actuator.ts';
import type { Device } from './device.ts';
import { SensorsWithFormer } from './former-ids/sensors-with-former.ts';
import type { Sensor } from './sensor.ts';

const deviceBytes = 600;
const partBytes = 230;
const shareBytes = 64;
/** A former id of the longest. */
const formerBytes = 100 + 2 * limits.idCharsMax;

export function deviceHeapBytes(device: Device): number {
  const { id, name, domain, gatewayId, location, meta, sensors, actuators, shares, formerIds = [] } = device;
  let bytes = deviceBytes + textsBytes(id, name, domain, gatewayId) + heapBytes(location) + heapBytes(meta);
  for (const sensor of sensors.values()) bytes += sensorBytes(sensor);
  for (const actuator of actuators.values()) bytes += actuatorBytes(actuator);
  const former = formerIds.length + (sensors instanceof SensorsWithFormer ? sensors.formerSize : 0);
  return bytes + shares.size * shareBytes + former * formerBytes;
}

function sensorBytes({ id, name, kind, quantityKind, unit, calib, meta }: Sensor): number {
  return partBytes + textsBytes(id, name, kind, quantityKind, unit) + heapBytes(calib) + heapBytes(meta);
}

function actuatorBytes({ id, name, actuatorKind, valueJson, meta }: Actuator): number {
  return partBytes + textsBytes(id, name, actuatorKind, valueJson) + heapBytes(meta);
}

function textsBytes(...texts: readonly (string | undefined)[]): number {
  let bytes = 0;
  for (const text of texts) if (text !== undefined) bytes += textHeapBytes(text);
  return bytes;
}
