// Storage of devices.

import type { BatchRange } from '../../base/in-batches.ts';
import type { DeviceKey } from '../device-key.ts';
import type { Audience } from '../permissions/permission.ts';
import type { Visibility } from '../permissions/visibility.ts';
import type { Fence } from '../ports/coordination.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';
import type { ActuatorChange, ActuatorDraft } from './actuator.ts';
import type { Device, DeviceChange, DeviceDraft, DeviceId } from './device.ts';
import type { Filter } from './filter.ts';
import type { SensorChange, SensorDraft, SensorKey } from './sensor.ts';

/** Search texts of a list, beside the filter. */
export interface DeviceSearch {
  /** Searched in the id and name of the device. */
  readonly text?: string | undefined;
  /** Searched in the ids and names of its sensors. */
  readonly sensorText?: string | undefined;
  /** Only devices shared with this user. */
  readonly sharedWith?: UserKey | undefined;
}

/** Order of a list: by creation, name, or last-seen time; `-` reverses it. */
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

/** A share as shown to its owner or its user. */
export interface ShareOfDevice extends Share {
  readonly device: DeviceId;
  readonly deviceName?: string;
  /** The device's owner. */
  readonly owner: string;
  /** Who gave it; absent where that is not known. */
  readonly givenBy?: string;
}

/** Shares on what the user owns, or shares with the user. */
export type ShareDirection = { readonly ownedBy: UserKey } | { readonly sharedWith: UserKey };

/** The device that a write changes, and the time of the change. */
export interface ModificationStamp {
  /** Under which lease, where the work of one process causes it. */
  readonly fence?: Fence | undefined;
  readonly device: DeviceKey;
  /** Milliseconds since 1970 UTC; becomes `date_modified`. */
  readonly atMs: number;
}

/**
 * The fields of an actuator that a change was checked against (null: absent); they must be unchanged when it is
 * written. A value depends on the value type, and vice versa.
 */
export interface ExpectedActuator {
  readonly valueType?: string | null;
  readonly valueJson?: string | null;
}

export interface DeviceStore {
  find(id: DeviceId): Promise<Device | undefined>;
  /** Keys of devices that the audience may see and that match filter and search; by default in order of creation. */
  listKeys(query: DeviceListQuery): Promise<DeviceKey[]>;
  /** The devices of these keys, in this order; removed ones are left out. */
  listByKeys(keys: readonly DeviceKey[]): Promise<Device[]>;
  /** Sensors and actuators of each of these devices, of both kinds up to `max` each; 0 of removed ones. */
  countParts(keys: readonly DeviceKey[], max: number): Promise<number[]>;
  /** Keys of the gateway's devices after `after`, in order of creation, that the audience may see. */
  listKeysOfGateway(
    gateway: string,
    query: BatchRange & { readonly audience: Audience },
  ): Promise<{ readonly key: DeviceKey }[]>;
  /** Keys of the devices of these ids, in the order of the ids. */
  listKeysByIds(ids: readonly DeviceId[]): Promise<DeviceKey[]>;
  count(query: Pick<DeviceListQuery, 'audience' | 'filter' | 'search'>): Promise<number>;
  /** @throws Refusal `exists` when the id is taken. */
  create(draft: DeviceDraft & { visibility: Visibility }, owner: UserKey, atMs: number): Promise<void>;
  update(stamp: ModificationStamp, change: DeviceChange): Promise<void>;
  /**
   * Removes the device with its parts and shares. Its datapoints become unreachable at once and are deleted in the
   * background.
   */
  remove(device: DeviceKey): Promise<void>;

  /** Adds the sensor, or replaces the description of the one with that id. */
  putSensor(stamp: ModificationStamp, draft: SensorDraft): Promise<void>;
  updateSensor(stamp: ModificationStamp, sensor: SensorKey, change: SensorChange): Promise<void>;
  removeSensor(stamp: ModificationStamp, sensor: SensorKey): Promise<void>;

  /** False, without a change, where the actuator is no longer as `expected`. */
  putActuator(stamp: ModificationStamp, draft: ActuatorDraft, expected: ExpectedActuator): Promise<boolean>;
  /** The same; false also where the actuator does not exist. */
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
