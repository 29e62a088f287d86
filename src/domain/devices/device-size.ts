// The size of a device's descriptions (contract 1): the texts that its owner wrote about the device and its parts,
// and the values of its actuators. Used for bounds and quotas.

import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { limits } from '../../config/limits.ts';
import type { ActuatorDraft } from './actuator.ts';
import type { DeviceFields } from './device.ts';
import type { SensorDraft } from './sensor.ts';

/** Bytes in UTF-8 as JSON. Ids are not counted, because `devicePartsMax` bounds them. */
export interface DeviceSize {
  /** Names, domain, location, kinds, units, calibrations and `meta`. */
  readonly descriptions: number;
  /** Values of actuators. */
  readonly values: number;
}

/** An existing or a new device. */
interface Sized extends Partial<DeviceFields> {
  readonly sensors: { values(): Iterable<SensorDraft> };
  readonly actuators: { values(): Iterable<ActuatorDraft> };
}

export const emptyDevice: DeviceSize = { descriptions: 0, values: 0 };

/** Cached sizes. A device never changes: a changed one is another object. */
const known = new WeakMap<Sized, DeviceSize>();

/** The size of a whole device, cached by its object. */
export function sizeOfDevice(device: Sized): DeviceSize {
  let size = known.get(device);
  if (size === undefined) {
    let { descriptions, values } = sizeOfFields(device);
    for (const sensor of device.sensors.values()) descriptions += sizeOfSensor(sensor).descriptions;
    for (const actuator of device.actuators.values()) {
      const of = sizeOfActuator(actuator);
      descriptions += of.descriptions;
      values += of.values;
    }
    size = { descriptions, values };
    known.set(device, size);
  }
  return size;
}

/** The size of the device's own fields. */
export function sizeOfFields({ name, domain, location, meta }: Partial<DeviceFields>): DeviceSize {
  return { descriptions: textBytes(name) + textBytes(domain) + jsonBytes(location) + jsonBytes(meta), values: 0 };
}

export function sizeOfSensor(sensor: Partial<SensorDraft> | undefined): DeviceSize {
  if (sensor === undefined) return emptyDevice;
  const { name, kind, quantityKind, unit, calib, meta } = sensor;
  const texts = textBytes(name) + textBytes(kind) + textBytes(quantityKind) + textBytes(unit);
  return { descriptions: texts + jsonBytes(calib) + jsonBytes(meta), values: 0 };
}

export function sizeOfActuator(actuator: Partial<ActuatorDraft> | undefined): DeviceSize {
  if (actuator === undefined) return emptyDevice;
  const { name, actuatorKind, meta, valueJson } = actuator;
  return { descriptions: textBytes(name) + textBytes(actuatorKind) + jsonBytes(meta), values: textBytes(valueJson) };
}

/** By how much a part grows when it is replaced; never negative. */
export function growthOf(before: DeviceSize, after: DeviceSize): DeviceSize {
  return {
    descriptions: Math.max(0, after.descriptions - before.descriptions),
    values: Math.max(0, after.values - before.values),
  };
}

/**
 * Checks the growth of a device. A change without growth always passes, so that a device that an earlier release let
 * exceed the bound can be edited and made smaller.
 * @throws Refusal `too-large`
 */
export function assertDeviceSize(present: DeviceSize, growth: DeviceSize): void {
  assertKept(
    'The descriptions of a device',
    present.descriptions,
    growth.descriptions,
    limits.deviceDescriptionBytesMax,
  );
  assertKept("The values of a device's actuators", present.values, growth.values, limits.deviceValueBytesMax);
}

function assertKept(what: string, present: number, growth: number, bytesMax: number): void {
  if (growth === 0 || present + growth <= bytesMax) return;
  throw new Refusal('too-large', `${what} may have ${bytesMax} bytes together, not ${present + growth}.`);
}

function textBytes(text: string | undefined): number {
  return text === undefined || text === null ? 0 : Buffer.byteLength(text);
}

function jsonBytes(json: Json | undefined): number {
  return json === undefined || json === null ? 0 : Buffer.byteLength(JSON.stringify(json));
}
