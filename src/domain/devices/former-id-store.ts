// The store of new ids and of those that devices had before, as the domain needs it; engines implement it.
import type { DeviceKey } from '../device-key.ts';
import type { DeviceId } from './device.ts';
import type { ModificationStamp } from './device-store.ts';
import type { FormerDeviceId } from './former-id.ts';

/** A new id, and how long the one before answers. */
export interface NewDeviceId {
  readonly from: DeviceId;
  readonly to: DeviceId;
  /** Until when `from` answers, in milliseconds since 1970 UTC. */
  readonly untilMs: number;
  /** How many former ids may answer at once. */
  readonly formerMax: number;
}

export interface FormerIdStore {
  /** The device that had this id before, also where the id answers no longer. */
  findDevice(id: DeviceId): Promise<FormerDeviceId | undefined>;
  /**
   * Gives the device of the stamp another id. In the same commit the one before becomes a former id; API keys, rules and
   * projects that name it, and whose owner may see the device, name the new one, and
   * retained messages of its topics are retained under the new ones.
   * @returns false, without a change, where the device does not have the id `from` (any longer), or as many former ids
   * answer as may.
   * @throws Refusal `exists` where another device has the id, or had it and still answers by it.
   */
  renameDevice(stamp: ModificationStamp, renaming: NewDeviceId): Promise<boolean>;
  /** Ends a former id of a device. @returns false where it has none of this id. */
  forgetDevice(device: DeviceKey, id: DeviceId): Promise<boolean>;
}
