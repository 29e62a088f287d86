// A setting: one value that was set for an actuator, with who set it, by which door, and what became of it (contract 4
// and 6). The newest settings of each actuator are kept as its history.

import type { UserKey } from '../users/user.ts';
import type { ActuatorId } from './actuator.ts';
import type { DeviceId } from './device.ts';

/** A random id of 32 hex digits. */
export type SettingId = string & { readonly __brand?: 'SettingId' };

/** Where a setting came in. `dashboard`: by REST, with a token that the dashboard's session was given. */
export const settingDoors = ['rest', 'dashboard', 'mqtt', 'rule'] as const;
export type SettingDoor = (typeof settingDoors)[number];

/** Where a setting came in, and which notification rule set it. */
export interface SettingOrigin {
  readonly door: SettingDoor;
  /** The id of the rule, of door `rule` alone. */
  readonly rule?: string | undefined;
}

/**
 * What the gateway of the device is still to be given. `pending`: the value, when its client next subscribes. `queued`:
 * the value waits in the stored session of that client. `none`: nothing.
 */
export type Downlink = 'none' | 'pending' | 'queued';

/** A setting as it is stored together with the value. */
export interface NewSetting extends SettingOrigin {
  readonly id: SettingId;
  /** When it was set, in milliseconds since 1970 UTC. */
  readonly atMs: number;
  readonly valueJson: string;
  readonly user: UserKey;
  /** The API key that was used, if one was. */
  readonly keyId?: string | undefined;
  readonly downlink: Downlink;
}

/** A setting of the history. */
export interface Setting extends SettingOrigin {
  readonly id: SettingId;
  readonly atMs: number;
  readonly valueJson: string;
  readonly downlink: Downlink;
  /** Who set it; absent where the user was removed since, or the device was handed over. */
  readonly user?: { readonly key: UserKey; readonly username: string };
  /** The name of the API key that was used; absent where there was none, or it was revoked since. */
  readonly keyName?: string;
  /** When it was handed to a connection of the device or its gateway, in milliseconds since 1970 UTC. */
  readonly deliveredMs?: number;
  /** When the device confirmed it, in milliseconds since 1970 UTC. */
  readonly confirmedMs?: number;
  /** What the device answered, as JSON text; absent where the answer was empty. */
  readonly ackJson?: string;
}

/** A setting that the gateway of its device has not been given. */
export interface PendingSetting {
  /** Increases in the order of the settings. */
  readonly key: number;
  readonly id: SettingId;
  readonly atMs: number;
  readonly valueJson: string;
  readonly device: DeviceId;
  readonly deviceKey: number;
  readonly actuator: ActuatorId;
  readonly actuatorKey: number;
}
