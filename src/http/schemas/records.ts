// Converts between JSON records of version 2 and the types of the domain: devices, sensors, actuators, datapoints,
// gateways, projects, drops. Version 1 uses the same records with other field names (v1/words.ts).

import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import { type Datapoint, jsonValue, type StoredValue } from '../../domain/datapoints/datapoint.ts';
import type { LastDatapoints } from '../../domain/datapoints/history/last-values.ts';
import type { Actuator, ActuatorDraft, ValueType } from '../../domain/devices/actuator.ts';
import { parseCalibration } from '../../domain/devices/calibration.ts';
import type { Device, DeviceDraft } from '../../domain/devices/device.ts';
import type { Drop } from '../../domain/devices/drop-log.ts';
import type { Sensor, SensorDraft } from '../../domain/devices/sensor.ts';
import type { Setting } from '../../domain/devices/setting.ts';
import type { SeenGateway } from '../../domain/gateways/gateway.ts';
import type { Project } from '../../domain/projects/project.ts';
import { type ScopeSet, scope } from '../../domain/scopes.ts';
import type { ActuatorBody, DeviceBody, SensorBody } from './device-schemas.ts';
import { assertJsonLength } from './text-bounds.ts';

/** @throws Refusal `malformed` for ids that occur twice or an invalid calibration, `too-large` for long JSON. */
export function toDeviceDraft(body: DeviceBody): DeviceDraft {
  const { id, gateway_id: gatewayId, name, domain, visibility, location, meta, deployed } = body;
  const { retention_days: retentionDays } = body;
  const sensors = (body.sensors ?? []).map((sensor, index) => toSensorDraft(sensor, `/sensors/${index}`));
  const actuators = (body.actuators ?? []).map((actuator, index) => toActuatorDraft(actuator, `/actuators/${index}`));
  assertDistinct(sensors, '/sensors');
  assertDistinct(actuators, '/actuators');
  assertDescriptions({ location, meta }, '');
  return {
    id,
    sensors,
    actuators,
    ...defined({
      gatewayId: gatewayId === '' ? undefined : gatewayId,
      name,
      domain,
      visibility,
      deployed,
      retentionDays,
    }),
    ...defined({ location: location as Json | undefined, meta: meta as Json | undefined }),
  };
}

/** @param pointer the place of the sensor in the body, for errors. @throws Refusal `malformed`, `too-large` */
export function toSensorDraft(body: SensorBody, pointer: string): SensorDraft {
  const { id, name, sensing_device, sensor_kind, quantity_kind: quantityKind, unit, meta } = body;
  const { retention_days: retentionDays } = body;
  const calib = body.calib as Json | undefined;
  assertDescriptions({ calib, meta }, pointer);
  return {
    id,
    kindName: sensing_device === undefined && sensor_kind !== undefined ? 'sensor_kind' : 'sensing_device',
    ...defined({
      name,
      kind: sensing_device ?? sensor_kind,
      quantityKind,
      unit,
      calib,
      meta: meta as Json | undefined,
      retentionDays,
    }),
    ...defined({ calibration: calib === undefined ? undefined : parseCalibration(calib, `${pointer}/calib`) }),
  };
}

/** @param pointer the place of the actuator in the body, for errors. @throws Refusal `too-large` */
export function toActuatorDraft(body: ActuatorBody, pointer: string): ActuatorDraft {
  const { id, name, actuator_kind: actuatorKind, value, meta, valid_for: validFor } = body;
  const valueType = (body.actuator_value_type ?? body.value_type) as ValueType | undefined;
  assertDescriptions({ meta }, pointer);
  if (value !== undefined) assertJsonLength(value as Json, `${pointer}/value`, limits.valueBytesMax);
  return {
    id,
    ...defined({ name, actuatorKind, valueType, meta: meta as Json | undefined, validFor }),
    ...defined({ valueJson: value === undefined ? undefined : JSON.stringify(value) }),
  };
}

/** The record of a device for a caller with `scopes`: without the right to view data it has no values. */
export function toDeviceRecord(device: Device, scopes: ScopeSet, last: LastDatapoints): object {
  const received = [...device.sensors.values()].map((sensor) => last.pushed.get(sensor.key)?.receivedMs ?? 0);
  return {
    id: device.id,
    gateway_id: device.gatewayId,
    name: device.name,
    domain: device.domain,
    visibility: device.visibility,
    location: device.location,
    meta: device.meta,
    deployed: device.deployed,
    retention_days: device.retentionDays,
    sensors: [...device.sensors.values()].map((sensor) => toSensorRecord(sensor, scopes, last)),
    actuators: [...device.actuators.values()].map((actuator) => toActuatorRecord(actuator, scopes)),
    owner: device.owner,
    date_created: formatTimestamp(device.dateCreatedMs),
    date_modified: formatTimestamp(Math.max(device.dateModifiedMs, ...received)),
  };
}

/** The record of a sensor; without the right to view data it has no last value. */
export function toSensorRecord(sensor: Sensor, scopes: ScopeSet, last: LastDatapoints): object {
  const isReadable = (scopes & scope.dataView) !== 0;
  const point = isReadable ? last.pushed.get(sensor.key) : undefined;
  const measured = isReadable ? last.measured.get(sensor.key) : undefined;
  const lastValue = point && toDatapointRecord(point);
  const usualMs = isReadable ? last.usualMs.get(sensor.key) : undefined;
  return {
    id: sensor.id,
    name: sensor.name,
    [sensor.kindName]: sensor.kind,
    quantity_kind: sensor.quantityKind,
    unit: sensor.unit,
    calib: sensor.calib,
    meta: sensor.meta,
    retention_days: sensor.retentionDays,
    last_value: lastValue,
    value: lastValue,
    newest_value: measured && toDatapointRecord(measured),
    usual_interval: usualMs === undefined ? undefined : toSeconds(usualMs),
  };
}

/** As a record says an interval: whole seconds, at least one. */
export function toSeconds(ms: number): number {
  return Math.max(1, Math.round(ms / 1000));
}

/** The order of keys must not change: some microcontrollers parse the answer by position. */
export function toActuatorRecord(actuator: Actuator, scopes: ScopeSet): object {
  const visible = (scopes & scope.dataView) !== 0 && actuator.valueJson !== undefined;
  return {
    actuator_value_type: actuator.valueType,
    value: visible ? JSON.parse(actuator.valueJson as string) : undefined,
    actuator_kind: actuator.actuatorKind,
    name: actuator.name,
    id: actuator.id,
    meta: actuator.meta,
    valid_for: actuator.validFor,
  };
}

export function toSettingRecord(setting: Setting): object {
  const { valueJson, atMs, door, user, keyName, rule, deliveredMs, confirmedMs, ackJson } = setting;
  const at = (ms: number | undefined) => (ms === undefined ? undefined : formatTimestamp(ms));
  return {
    value: JSON.parse(valueJson),
    timestamp: formatTimestamp(atMs),
    door,
    username: user?.username,
    key: keyName,
    rule,
    delivered: deliveredMs !== undefined,
    date_delivered: at(deliveredMs),
    confirmed: confirmedMs !== undefined,
    date_confirmed: at(confirmedMs),
    ack: ackJson === undefined ? undefined : JSON.parse(ackJson),
  };
}

/** `JSON.stringify` writes -0 as 0, although JSON has -0; `rawJSON` keeps it. */
const negativeZero = (JSON as unknown as { rawJSON(text: string): Json }).rawJSON('-0');

/** A stored value as JSON that `JSON.stringify` writes without loss. */
export function toJson(value: StoredValue): Json {
  return Object.is(value, -0) ? negativeZero : jsonValue(value);
}

export function toDatapointRecord(point: Datapoint): {
  value: Json;
  timestamp: string | undefined;
  date_received: string;
} {
  return {
    value: toJson(point.value),
    timestamp: point.timestampMs === undefined ? undefined : formatTimestamp(point.timestampMs),
    date_received: formatTimestamp(point.receivedMs),
  };
}

export function toGatewayRecord(gateway: SeenGateway): object {
  const { id, name, owner, visibility, location, connected, lastSeenMs, refused } = gateway;
  return {
    ...{ id, name, owner, visibility, location },
    date_created: formatTimestamp(gateway.dateCreatedMs),
    date_modified: formatTimestamp(gateway.dateModifiedMs),
    connected,
    last_seen: lastSeenMs === undefined ? undefined : formatTimestamp(lastSeenMs),
    refused: refused && {
      times: refused.times,
      since: formatTimestamp(refused.sinceMs),
      last: formatTimestamp(refused.lastMs),
      username: refused.username,
      reason: refused.reason,
    },
  };
}

export function toProjectRecord({ id, name, owner, deviceIds, gatewayIds }: Project): object {
  return { id, name, owner, device_ids: deviceIds, gateway_ids: gatewayIds };
}

export function toDropRecord(drop: Drop): object {
  return { timestamp: formatTimestamp(drop.atMs), topic: drop.topic, username: drop.username, reason: drop.reason };
}

type Defined<T> = { [F in keyof T]?: Exclude<T[F], undefined> };

/** Removes undefined fields, because `exactOptionalPropertyTypes` allows a field to be absent but not undefined. */
function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

function assertDescriptions(fields: Record<string, unknown>, pointer: string): void {
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined) assertJsonLength(value as Json, `${pointer}/${field}`, limits.descriptionBytesMax);
  }
}

function assertDistinct(parts: readonly { readonly id: string }[], pointer: string): void {
  const seen = new Set<string>();
  for (const [index, { id }] of parts.entries()) {
    if (seen.has(id)) {
      const detail = `The id ${id} occurs twice.`;
      throw new Refusal('malformed', detail, { faults: [{ pointer: `${pointer}/${index}/id`, detail }] });
    }
    seen.add(id);
  }
}
