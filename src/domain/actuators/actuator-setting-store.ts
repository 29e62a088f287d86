// The store of actuators' settings, as the domain needs it; engines implement it. A setting is written with the value
// that it sets (DeviceStore.putActuator, updateActuator), in the same transaction.
import type { Caller } from '../callers/caller.ts';
import type { PendingSetting, Setting, SettingId } from '../devices/setting.ts';

/** Which pending settings are read, a batch at a time. */
export interface PendingQuery {
  /** The settings after this key. */
  readonly after: number;
  readonly limit: number;
  /** Whether those count, too, that were queued for a stored session which does not exist any more. */
  readonly withQueued: boolean;
  /** Whose turn the search takes. */
  readonly caller: Caller;
}

export interface ActuatorSettingStore {
  /** The history of an actuator, newest first. Bounded by limits.settingsPerActuatorMax. */
  list(actuator: number): Promise<Setting[]>;
  /** The last settings of actuators of the gateway's devices that it has not been given, in order. */
  listPending(gateway: string, query: PendingQuery): Promise<PendingSetting[]>;
  /** When the actuator was set last, in milliseconds since 1970 UTC; undefined: never, as far as its history goes back. */
  lastSetMs(actuator: number): Promise<number | undefined>;
  /** Notes that what was queued of these actuators was delivered. */
  markReplayed(actuators: readonly number[], atMs: number): Promise<void>;
  /** Takes settings out of those pending, each once: true for those that were pending. Committed when it resolves. */
  claim(ids: readonly SettingId[]): Promise<boolean[]>;
  /** Makes claimed settings pending again, except where the actuator was set since. */
  giveBack(ids: readonly SettingId[]): Promise<void>;
  /** Notes when settings were delivered; the first time counts. They are not pending any more. */
  markDelivered(marks: readonly { readonly id: SettingId; readonly atMs: number }[]): Promise<void>;
  /** Notes that a setting was confirmed, and with what; false where it was confirmed before. */
  confirm(
    id: SettingId,
    confirmation: { readonly atMs: number; readonly ackJson: string | undefined },
  ): Promise<boolean>;
}
