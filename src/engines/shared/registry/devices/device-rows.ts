// Converts between rows of the registry and the domain's devices, sensors and actuators.
import type { Selectable } from 'kysely';
import type { Json } from '../../../../base/text/json.ts';
import type { Actuator, ActuatorChange, ActuatorDraft, ValueType } from '../../../../domain/devices/actuator.ts';
import { parseCalibration } from '../../../../domain/devices/calibration.ts';
import type { Device, DeviceChange } from '../../../../domain/devices/device.ts';
import { SensorsWithFormer } from '../../../../domain/devices/former-ids/sensors-with-former.ts';
import type { KindName, Sensor, SensorChange, SensorDraft } from '../../../../domain/devices/sensor.ts';
import type { Visibility } from '../../../../domain/permissions/visibility.ts';
import { noScopes, type ScopeSet, scopesOn } from '../../../../domain/scopes.ts';
import type {
  ActuatorTable,
  DeviceTable,
  FormerDeviceIdTable,
  FormerSensorIdTable,
  SensorTable,
  ShareTable,
} from './device-tables.ts';

function toSensors(
  rows: readonly Selectable<SensorTable>[],
  former: readonly Selectable<FormerSensorIdTable>[],
): Device['sensors'] {
  const sensors = rows.map((row) => [row.id, toSensor(row)] as const);
  if (former.length === 0) return new Map(sensors);
  return new SensorsWithFormer(
    sensors,
    former.map(({ id, sensor, until }) => ({ id, sensor, untilMs: until })),
  );
}

export function toDevice(
  row: Selectable<DeviceTable> & { readonly owner_name: string },
  {
    sensors,
    actuators,
    shares,
    formerIds,
    formerSensorIds,
  }: {
    readonly sensors: readonly Selectable<SensorTable>[];
    readonly actuators: readonly Selectable<ActuatorTable>[];
    readonly shares: readonly GivenScopes[];
    readonly formerIds: readonly Selectable<FormerDeviceIdTable>[];
    readonly formerSensorIds: readonly Selectable<FormerSensorIdTable>[];
  },
): Device {
  const former = formerIds.map(({ id, until }) => ({ id, untilMs: until }));
  return {
    kind: 'device',
    key: row.key,
    id: row.id,
    ownerKey: row.owner,
    owner: row.owner_name,
    visibility: row.visibility as Visibility,
    ...present({
      gatewayId: row.gateway_id,
      name: row.name,
      domain: row.domain,
      location: fromJson(row.location),
      meta: fromJson(row.meta),
      deployed: row.deployed === null ? null : row.deployed === 1,
      retentionDays: row.retention_days,
    }),
    dateCreatedMs: row.date_created,
    dateModifiedMs: row.date_modified,
    sensors: toSensors(sensors, formerSensorIds),
    actuators: new Map(actuators.map((actuator) => [actuator.id, toActuator(actuator)])),
    shares: scopesByUser(shares, scopesOn.device),
    ...(former.length === 0 ? {} : { formerIds: former }),
    lastCharge: undefined,
    charges: undefined,
  };
}

/** Scopes that a user has by one share. */
export type GivenScopes = Pick<ShareTable, 'user' | 'scopes'>;

/** What each user has by all shares together, of the scopes that count. */
export function scopesByUser(shares: readonly GivenScopes[], counted: ScopeSet): Map<number, ScopeSet> {
  const byUser = new Map<number, ScopeSet>();
  for (const { user, scopes } of shares) byUser.set(user, (byUser.get(user) ?? noScopes) | (scopes & counted));
  return byUser;
}

function toSensor(row: Selectable<SensorTable>): Sensor {
  const calib = fromJson(row.calib);
  const calibration = calib === null ? undefined : parseCalibration(calib, '/calib');
  return {
    key: row.key,
    id: row.id,
    kindName: row.kind_name as KindName,
    ...present({
      name: row.name,
      kind: row.kind,
      quantityKind: row.quantity_kind,
      unit: row.unit,
      calib,
      calibration: calibration ?? null,
      meta: fromJson(row.meta),
      retentionDays: row.retention_days,
    }),
  };
}

function toActuator(row: Selectable<ActuatorTable>): Actuator {
  return {
    key: row.key,
    id: row.id,
    ...present({
      name: row.name,
      actuatorKind: row.actuator_kind,
      valueType: row.value_type as ValueType | null,
      valueJson: row.value,
      meta: fromJson(row.meta),
      validFor: row.valid_for,
    }),
  };
}

/** The columns that a change of a device sets; fields it does not name are left out. */
export function deviceColumns(change: DeviceChange): Record<string, unknown> {
  const columns: Record<string, unknown> = {};
  const text = (json: Json | undefined) => (json === undefined ? null : JSON.stringify(json));
  if ('gatewayId' in change) columns['gateway_id'] = change.gatewayId ?? null;
  if ('name' in change) columns['name'] = change.name ?? null;
  if ('domain' in change) columns['domain'] = change.domain ?? null;
  if (change.visibility !== undefined) columns['visibility'] = change.visibility;
  if ('location' in change) columns['location'] = text(change.location);
  if ('meta' in change) columns['meta'] = text(change.meta);
  if ('retentionDays' in change) columns['retention_days'] = change.retentionDays ?? null;
  if ('deployed' in change) columns['deployed'] = change.deployed === undefined ? null : Number(change.deployed);
  return columns;
}

/** The columns that a sensor's draft or change sets; fields it does not name are left out. */
export function sensorColumns(sensor: SensorDraft | SensorChange): Record<string, string | number | null> {
  return defined({
    name: sensor.name,
    kind: sensor.kind,
    kind_name: sensor.kindName,
    quantity_kind: sensor.quantityKind,
    unit: sensor.unit,
    calib: toJson(sensor.calib),
    meta: toJson(sensor.meta),
    retention_days: sensor.retentionDays,
  });
}

/** The columns that an actuator's draft or change sets; fields it does not name are left out. */
export function actuatorColumns(actuator: ActuatorDraft | ActuatorChange): Record<string, string | number | null> {
  return defined({
    name: actuator.name,
    actuator_kind: actuator.actuatorKind,
    value_type: actuator.valueType,
    value: actuator.valueJson,
    meta: toJson(actuator.meta),
    valid_for: actuator.validFor,
  });
}

/** Null removes the field. */
function toJson(json: Json | undefined): string | null | undefined {
  return json === undefined || json === null ? json : JSON.stringify(json);
}

function fromJson(text: string | null): Json {
  return text === null ? null : (JSON.parse(text) as Json);
}

type Present<T> = { [F in keyof T]?: Exclude<T[F], null> };

/** Leaves out null fields: a field without a value is absent. */
function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Present<T>;
}

function defined<T>(fields: Record<string, T | undefined>): Record<string, T> {
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, T] => field[1] !== undefined));
}
