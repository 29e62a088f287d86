// About how many bytes a device takes in memory, with all its parts: what the directory weighs it by. Measured: 1.0 KiB for
// one with a sensor, 250 bytes for each further one; what its owner wrote comes on top.
import { heapBytes, textHeapBytes } from '../../base/memory/heap-bytes.ts';
import type { Actuator } from './actuator.ts';
import type { Device } from './device.ts';
import type { Sensor } from './sensor.ts';

const deviceBytes = 600;
const partBytes = 230;
const shareBytes = 64;

export function deviceHeapBytes(device: Device): number {
  const { id, name, domain, gatewayId, location, meta, sensors, actuators, shares } = device;
  let bytes = deviceBytes + textsBytes(id, name, domain, gatewayId) + heapBytes(location) + heapBytes(meta);
  for (const sensor of sensors.values()) bytes += sensorBytes(sensor);
  for (const actuator of actuators.values()) bytes += actuatorBytes(actuator);
  return bytes + shares.size * shareBytes;
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
