// The store of former ids, and of what changes when a device or sensor gets another id; engines implement it.
import type { DeviceKey } from '../../device-key.ts';
import type { Audience } from '../../permissions/permission.ts';
import type { UserKey } from '../../users/user.ts';
import type { DeviceId } from '../device.ts';
import type { SensorId, SensorKey } from '../sensor.ts';
import type { FormerDeviceId } from './former-id.ts';

/** A device that is about to get another id. */
export interface RenamedDevice {
  readonly device: DeviceKey;
  readonly from: DeviceId;
  readonly to: DeviceId;
  /** Nothing is changed where the device has come to belong to somebody else. */
  readonly owner: UserKey;
}

/** A sensor that is about to get another id. */
export interface RenamedSensor {
  readonly device: DeviceKey;
  readonly sensor: SensorKey;
  readonly from: SensorId;
  readonly to: SensorId;
  /** The owner of the device; nothing is changed where it has come to belong to somebody else. */
  readonly owner: UserKey;
}

/** Milliseconds since 1970 UTC. */
export interface RenameTimes {
  readonly atMs: number;
  /** By the clock of former ids: one that ends then, or before, may be taken. */
  readonly ageMs: number;
  /** Until when the former id answers. */
  readonly untilMs: number;
}

/** Who waits for a long read: callers take turns. */
export interface Asker {
  readonly caller: string;
  readonly isGone?: (() => boolean) | undefined;
}

export interface StoredRename {
  readonly retainedGone: number;
  readonly rules: readonly string[];
}

/** A new id that is ready to be stored, together with the records that name the device. */
export interface PreparedRename {
  /**
   * Gives the device the new id. In the same commit its present id becomes a former id; API keys, rules and projects of its
   * owner that were found to name it name the new one, and retained messages of its topics are retained under the new ones.
   * @returns how many retained messages of an earlier device under the new id were removed, and the ids of the rules that name
   * the new id; undefined, without a change, where the device has another id or owner than was read, or `formerIdsMax` former
   * ids.
   * @throws Refusal `exists` where another device has the id, or had it and still answers by it.
   */
  store(times: RenameTimes): Promise<StoredRename | undefined>;
}

export interface FormerIdStore {
  /** The device that had this id before, also where the id answers no longer. */
  findDevice(id: DeviceId): Promise<FormerDeviceId | undefined>;
  /** Of these ids, those that devices of this owner had before which the audience may see, with their present ones. */
  presentIds(ids: readonly DeviceId[], owner: UserKey, audience: Audience): Promise<ReadonlyMap<DeviceId, DeviceId>>;
  /** Finds the records that name the device. @returns undefined where they are more than one commit may change. */
  prepareRename(names: RenamedDevice, asker: Asker): Promise<PreparedRename | undefined>;
  /**
   * Gives a sensor another id. In the same commit its present id becomes a former id, and retained messages of its topics move
   * to the new topics. @returns as `PreparedRename.store`; `rules` is empty, because rules follow by the former id.
   * @throws Refusal `exists` where another sensor of the device has the id, or had it and still answers by it.
   */
  renameSensor(names: RenamedSensor, times: RenameTimes): Promise<StoredRename | undefined>;
  /** Ends a former id of a sensor. @returns false where it has none of this id. */
  forgetSensor(device: DeviceKey, id: SensorId): Promise<boolean>;
  /** Ends a former id of a device. @returns false where it has none of this id. */
  forgetDevice(device: DeviceKey, id: DeviceId): Promise<boolean>;
}
