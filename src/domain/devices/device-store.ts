// The store of devices, as the domain needs it; engines implement it.

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
import type { Near } from './near.ts';
import type { SensorChange, SensorDraft, SensorKey } from './sensor.ts';
import type { NewSetting } from './setting.ts';

/** Search texts of a list, besides the filter. */
export interface DeviceSearch {
  /** Searched in the id and name of the device. */
  readonly text?: string | undefined;
  /** Searched in the ids and names of its sensors. */
  readonly sensorText?: string | undefined;
  /** Only devices shared with this user. */
  readonly sharedWith?: UserKey | undefined;
}

/**
 * Orders of a list: by creation, by name letter by letter, by name as people count (`natural`: 9 before 10), or by the time of the
 * last datapoint; `-` reverses the order.
 */
export const deviceOrders = ['created', '-created', 'name', '-name', 'natural', '-natural', 'heard', '-heard'] as const;
export type DeviceOrder = (typeof deviceOrders)[number];

/** Which devices a list is of. */
export interface DeviceMatch {
  readonly audience: Audience;
  readonly filter: Filter;
  /** For conditions on values: who may know the values of which devices. Others are as if they had none. */
  readonly valuesFor?: Audience | undefined;
  readonly search?: DeviceSearch | undefined;
  /** Only devices around a place, the nearest first unless there is an `order`. */
  readonly near?: Near | undefined;
}

export interface DeviceListQuery extends DeviceMatch {
  readonly order?: DeviceOrder | undefined;
  readonly limit?: number;
  readonly offset: number;
}

export interface Share {
  readonly username: string;
  readonly scopes: ScopeSet;
}

/** A share as it is shown to the device's owner and to the user who has it. */
export interface ShareOfDevice extends Share {
  /** Of the device. */
  readonly key: DeviceKey;
  readonly device: DeviceId;
  readonly deviceName?: string;
  readonly isPublic: boolean;
  /** The device's owner. */
  readonly owner: string;
  /** The user who gave the share; absent where that is not known. */
  readonly givenBy?: string;
}

/** Which shares: those on what a user owns, or those that a user has. */
export type ShareDirection = { readonly ownedBy: UserKey } | { readonly sharedWith: UserKey };

/** A page of shares; `after`: of those behind this one in their order. */
export interface SharesPage {
  readonly limit: number;
  readonly offset: number;
  readonly after?: { readonly key: number; readonly username: string } | undefined;
}

/** The device that a write changes, the time of the change, and the lease under which it is written. */
export interface ModificationStamp {
  /** The lease, where a change is caused by work that only one process does. */
  readonly fence?: Fence | undefined;
  readonly device: DeviceKey;
  /** Milliseconds since 1970 UTC; becomes `date_modified`. */
  readonly atMs: number;
}

export interface DeviceStore {
  find(id: DeviceId): Promise<Device | undefined>;
  /** Keys of devices that the audience may see and that match filter and search; by default in order of creation. */
  listKeys(query: DeviceListQuery): Promise<DeviceKey[]>;
  /** The domains that devices of the audience have, each once; those of more characters than names may have are left out. */
  listDomains(audience: Audience, limit: number): Promise<string[]>;
  /** The devices of these keys, in this order; removed ones are left out. */
  listByKeys(keys: readonly DeviceKey[]): Promise<Device[]>;
  /**
   * For each of these devices, its sensors (counted up to `max`) plus its actuators (up to `max`); 0 for removed
   * ones.
   */
  countParts(keys: readonly DeviceKey[], max: number): Promise<number[]>;
  /** Keys of the devices after `after`, of all or of a gateway, in order of creation, that the audience may see. */
  listKeysAfter(
    query: BatchRange & { readonly audience: Audience; readonly gateway?: string },
  ): Promise<{ readonly key: DeviceKey }[]>;
  /** Keys of the devices that have these ids, or had them and answer by them at `atMs`, each once, in the order of the ids. */
  listKeysByIds(ids: readonly DeviceId[], atMs: number): Promise<DeviceKey[]>;
  count(match: DeviceMatch): Promise<number>;
  /**
   * @param times `ageMs`: by the clock of former ids, which ends them.
   * @throws Refusal `exists` when the id is taken, or another device still answers by it.
   */
  create(
    draft: DeviceDraft & { visibility: Visibility },
    owner: UserKey,
    times: { readonly atMs: number; readonly ageMs: number },
  ): Promise<void>;
  /**
   * Changes the device's own fields. With `onlyUnshared`, it comes under another gateway only where no share of that
   * gateway would give rights on it. Returns false, without a change, where one does.
   */
  update(
    stamp: ModificationStamp,
    change: DeviceChange,
    options?: { readonly onlyUnshared?: boolean },
  ): Promise<boolean>;
  /**
   * Removes the device with its parts and shares. Its datapoints become unreachable at once; they are deleted in the
   * background.
   */
  remove(device: DeviceKey): Promise<void>;

  /** Adds the sensor, or replaces the description of the existing one with that id. */
  putSensor(stamp: ModificationStamp, draft: SensorDraft, ageMs?: number): Promise<void>;
  updateSensor(stamp: ModificationStamp, sensor: SensorKey, change: SensorChange): Promise<void>;
  removeSensor(stamp: ModificationStamp, sensor: SensorKey): Promise<void>;
  /**
   * Makes the sensor, with all its datapoints, one of the device `target`; both devices are marked as changed. In the same
   * commit, what was charged for its datapoints moves along, and what is remembered of pushes to it without an
   * `Idempotency-Key` ends.
   * @returns false, without a change, where it is not (or no longer) a sensor of the device of the stamp.
   * @throws Refusal `exists` where the target has a sensor of its id, or one that still answers by it at `ageMs`; `quota`
   * where the target has another owner.
   */
  moveSensor(stamp: ModificationStamp, sensor: SensorKey, target: DeviceKey, ageMs?: number): Promise<boolean>;

  /**
   * Adds an actuator, or replaces the description of the one with its id; a value in the draft replaces its value.
   * `setting`: how the value of the draft was set; it is added to the history.
   */
  putActuator(stamp: ModificationStamp, draft: ActuatorDraft, setting?: NewSetting): Promise<void>;
  /** Changes an actuator. Returns false, without a change, where it does not exist. */
  updateActuator(
    stamp: ModificationStamp,
    actuator: number,
    change: ActuatorChange,
    setting?: NewSetting,
  ): Promise<boolean>;
  removeActuator(stamp: ModificationStamp, actuator: number): Promise<void>;

  listShares(device: DeviceKey): Promise<Share[]>;
  /** Shares in order of their devices' creation, and of username. */
  listSharesOf(direction: ShareDirection, page: SharesPage): Promise<ShareOfDevice[]>;
  countSharesOf(direction: ShareDirection): Promise<number>;
  putShare(device: DeviceKey, user: UserKey, share: { scopes: ScopeSet; givenBy: UserKey }): Promise<void>;
  removeShare(device: DeviceKey, user: UserKey): Promise<void>;
}
