// What devices need remembered.
import type { ActuatorChange, ActuatorDraft } from '../actuators/actuator.ts';
import type { Audience } from '../permissions/permission.ts';
import type { ScopeSet } from '../permissions/scopes.ts';
import type { SensorChange, SensorDraft, SensorKey } from '../sensors/sensor.ts';
import type { UserKey } from '../users/user.ts';
import type { Device, DeviceChange, DeviceDraft, DeviceId, DeviceKey, Visibility } from './device.ts';
import type { Filter } from './filter.ts';

export interface DeviceListQuery {
  readonly audience: Audience;
  readonly filter: Filter;
  readonly limit?: number;
  readonly offset: number;
}

export interface Share {
  readonly username: string;
  readonly scopes: ScopeSet;
}

/** A place in a device record that a write touches, with the time it is marked by. */
export interface Mark {
  readonly device: DeviceKey;
  /** Milliseconds since 1970 UTC; becomes `date_modified`. */
  readonly atMs: number;
}

/**
 * What an actuator had when a change of it was judged, null for nothing: what is named here must still be so. A value
 * is judged by the value type, and a value type by the value.
 */
export interface Seen {
  readonly valueType?: string | null;
  readonly valueJson?: string | null;
}

export interface DeviceStore {
  find(id: DeviceId): Promise<Device | undefined>;
  /** Devices in order of creation that the audience may see and the filter lets through. */
  list(query: DeviceListQuery): Promise<Device[]>;
  count(query: Pick<DeviceListQuery, 'audience' | 'filter'>): Promise<number>;
  /** @throws Refusal `exists` when the id is taken. */
  create(draft: DeviceDraft & { visibility: Visibility }, owner: UserKey, atMs: number): Promise<void>;
  update(mark: Mark, change: DeviceChange): Promise<void>;
  setOwner(mark: Mark, owner: UserKey): Promise<void>;
  /** Removes the device with its parts and shares; its datapoints go in the background, out of reach at once. */
  remove(device: DeviceKey, sensors: readonly SensorKey[]): Promise<void>;

  /** Adds the sensor, or replaces the description of the one with that id. */
  putSensor(mark: Mark, draft: SensorDraft): Promise<void>;
  updateSensor(mark: Mark, sensor: SensorKey, change: SensorChange): Promise<void>;
  removeSensor(mark: Mark, sensor: SensorKey): Promise<void>;

  /** False, and nothing is changed, where the actuator of that id is no longer as it was `seen`. */
  putActuator(mark: Mark, draft: ActuatorDraft, seen: Seen): Promise<boolean>;
  /** The same; false too where the actuator is gone. */
  updateActuator(mark: Mark, actuator: number, change: ActuatorChange, seen: Seen): Promise<boolean>;
  removeActuator(mark: Mark, actuator: number): Promise<void>;

  listShares(device: DeviceKey): Promise<Share[]>;
  putShare(device: DeviceKey, user: UserKey, scopes: ScopeSet): Promise<void>;
  removeShare(device: DeviceKey, user: UserKey): Promise<void>;
}
