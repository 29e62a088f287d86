// What devices need remembered.

import type { BatchRange } from '../../base/in-batches.ts';
import type { DeviceKey } from '../device-key.ts';
import type { Audience } from '../permissions/permission.ts';
import type { Visibility } from '../permissions/visibility.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';
import type { ActuatorChange, ActuatorDraft } from './actuator.ts';
import type { Device, DeviceChange, DeviceDraft, DeviceId } from './device.ts';
import type { Filter } from './filter.ts';
import type { SensorChange, SensorDraft, SensorKey } from './sensor.ts';

/** What people look for in a list, beside the filter. */
export interface DeviceSearch {
  /** In the id or the name of the device. */
  readonly text?: string | undefined;
  /** In the id or the name of one of its sensors. */
  readonly sensorText?: string | undefined;
  /** With whom somebody shares it. */
  readonly sharedWith?: UserKey | undefined;
}

/** By what a list is ordered: creation, name, or when something was last heard; `-` is the other way round. */
export const deviceOrders = ['created', '-created', 'name', '-name', 'heard', '-heard'] as const;
export type DeviceOrder = (typeof deviceOrders)[number];

export interface DeviceListQuery {
  readonly audience: Audience;
  readonly filter: Filter;
  readonly search?: DeviceSearch | undefined;
  readonly order?: DeviceOrder | undefined;
  readonly limit?: number;
  readonly offset: number;
}

export interface Share {
  readonly username: string;
  readonly scopes: ScopeSet;
}

/** A share as its owner or its user looks at it. */
export interface ShareOfDevice extends Share {
  readonly device: DeviceId;
  readonly deviceName?: string;
  /** The device's owner. */
  readonly owner: string;
  /** Who gave it; absent when that is not known any more. */
  readonly givenBy?: string;
}

/** The shares on what the user owns, or the shares with the user. */
export type ShareDirection = { readonly ownedBy: UserKey } | { readonly sharedWith: UserKey };

/** A place in a device record that a write touches, with the time it is marked by. */
export interface ModificationStamp {
  readonly device: DeviceKey;
  /** Milliseconds since 1970 UTC; becomes `date_modified`. */
  readonly atMs: number;
}

/**
 * What an actuator had when a change of it was judged, null for nothing: what is named here must still be so. A value
 * is judged by the value type, and a value type by the value.
 */
export interface ExpectedActuator {
  readonly valueType?: string | null;
  readonly valueJson?: string | null;
}

export interface DeviceStore {
  find(id: DeviceId): Promise<Device | undefined>;
  /** Devices that the audience may see and filter and search let through; in order of creation unless another is named. */
  listKeys(query: DeviceListQuery): Promise<DeviceKey[]>;
  /** Devices of these keys, in the order of the keys; those that have gone since are left out. */
  listByKeys(keys: readonly DeviceKey[]): Promise<Device[]>;
  /** Devices of the gateway behind `after`, in order of creation, that the audience may see. */
  listOfGateway(gateway: string, query: BatchRange & { readonly audience: Audience }): Promise<Device[]>;
  /** Devices of these ids, in no order. */
  listByIds(ids: readonly DeviceId[]): Promise<Device[]>;
  count(query: Pick<DeviceListQuery, 'audience' | 'filter' | 'search'>): Promise<number>;
  /** @throws Refusal `exists` when the id is taken. */
  create(draft: DeviceDraft & { visibility: Visibility }, owner: UserKey, atMs: number): Promise<void>;
  update(stamp: ModificationStamp, change: DeviceChange): Promise<void>;
  /** Removes the device with its parts and shares; its datapoints go in the background, out of reach at once. */
  remove(device: DeviceKey, sensors: readonly SensorKey[]): Promise<void>;

  /** Adds the sensor, or replaces the description of the one with that id. */
  putSensor(stamp: ModificationStamp, draft: SensorDraft): Promise<void>;
  updateSensor(stamp: ModificationStamp, sensor: SensorKey, change: SensorChange): Promise<void>;
  removeSensor(stamp: ModificationStamp, sensor: SensorKey): Promise<void>;

  /** False, and nothing is changed, where the actuator of that id is no longer as it was `seen`. */
  putActuator(stamp: ModificationStamp, draft: ActuatorDraft, expected: ExpectedActuator): Promise<boolean>;
  /** The same; false too where the actuator is gone. */
  updateActuator(
    stamp: ModificationStamp,
    actuator: number,
    change: ActuatorChange,
    expected: ExpectedActuator,
  ): Promise<boolean>;
  removeActuator(stamp: ModificationStamp, actuator: number): Promise<void>;

  listShares(device: DeviceKey): Promise<Share[]>;
  /** Shares by device, in order of creation, and username. */
  listSharesOf(
    direction: ShareDirection,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<ShareOfDevice[]>;
  countSharesOf(direction: ShareDirection): Promise<number>;
  /** Who gave the user the share on the device, where that is known. */
  findGiver(device: DeviceKey, user: UserKey): Promise<string | undefined>;
  putShare(device: DeviceKey, user: UserKey, share: { scopes: ScopeSet; givenBy: UserKey }): Promise<void>;
  removeShare(device: DeviceKey, user: UserKey): Promise<void>;
}
