// An alarm: something is wrong, since when, and what people did about it. Open as long as it holds, then history.
import type { DeviceKey } from '../device-key.ts';
import type { DeviceId } from '../devices/device.ts';
import type { SensorId, SensorKey } from '../devices/sensor.ts';
import type { GatewayId, GatewayKey } from '../gateways/gateway.ts';
import type { UserKey } from '../users/user.ts';

export type AlarmId = string & { readonly __brand?: 'AlarmId' };

/**
 * `rule`: the condition of a rule holds. `silence`: a sensor has sent nothing for longer than is usual for it. `gateway`:
 * a gateway has sent nothing. `storage`: the service refuses what it should store.
 */
export const alarmKinds = ['rule', 'silence', 'gateway', 'storage'] as const;
export type AlarmKind = (typeof alarmKinds)[number];

export interface Alarm {
  readonly key: number;
  readonly id: AlarmId;
  readonly kind: AlarmKind;
  /** Milliseconds since 1970 UTC, as all times here. A silence began when the sensor was last heard. */
  readonly sinceMs: number;
  /** Undefined while it is open. */
  readonly clearedMs?: number;
  /** How often it began: one that begins again soon after it ended is the same. */
  readonly times: number;
  /** The value that began it, as JSON, calibrated. */
  readonly valueJson?: string;
  /** The expression of the rule; for `storage` why it refuses. */
  readonly condition?: string;
  /** With what a rule compares the sensor; for the others the seconds after which quiet is an alarm. */
  readonly threshold?: number;
  /** Seconds between two receptions, usually. */
  readonly usualS?: number;
  readonly device?: { readonly id: DeviceId; readonly name?: string };
  /** The position of the device, or of the gateway that it is about, as JSON. */
  readonly locationJson?: string;
  readonly sensor?: { readonly id: SensorId; readonly name?: string; readonly unit?: string };
  /** The gateway that it is about, or of the device. */
  readonly gateway?: { readonly id: GatewayId; readonly name?: string };
  readonly rule?: { readonly id: string; readonly description?: string };
  /** `by`: a username; absent where that user was removed. */
  readonly acknowledged?: { readonly atMs: number; readonly by?: string; readonly note?: string };
  readonly snoozedUntilMs?: number;
  /** A username. */
  readonly assignee?: string;
  /** Whether the one who reads it may acknowledge, snooze and assign it. */
  readonly mayUpdate: boolean;
  /** The count of changes at its last change. */
  readonly changed: number;
}

/** What an alarm is about; at most one alarm is open about the same. */
export type AlarmSubject = string & { readonly __brand?: 'AlarmSubject' };

export const subjectOf = {
  rule: (rule: number, device: DeviceKey): AlarmSubject => `rule ${rule} ${device}`,
  silence: (sensor: SensorKey): AlarmSubject => `silence ${sensor}`,
  gateway: (gateway: GatewayKey): AlarmSubject => `gateway ${gateway}`,
  storage: 'storage' as AlarmSubject,
};

/** A change of whether something is wrong. */
export interface AlarmChange {
  readonly kind: AlarmKind;
  readonly subject: AlarmSubject;
  /** For a new alarm. */
  readonly id: AlarmId;
  /** How often it began since the last change; 0: it only ended. */
  readonly begins: number;
  /** When that was found. */
  readonly atMs: number;
  readonly sinceMs: number;
  /** When it ended; undefined: it is open. */
  readonly clearedMs: number | undefined;
  /** The user whom its row counts for; undefined: the service. */
  readonly keeper?: UserKey | undefined;
  /** Set where only the author of the rule may see it. */
  readonly author?: UserKey | undefined;
  /** The rule in the form in which it was evaluated: where the stored one has another `watchedSinceMs`, nothing is stored. */
  readonly rule?: { readonly key: number; readonly watchedSinceMs: number } | undefined;
  readonly device?: DeviceKey | undefined;
  readonly sensor?: SensorKey | undefined;
  readonly gateway?: GatewayKey | undefined;
  readonly valueJson?: string | undefined;
  readonly condition?: string | undefined;
  readonly threshold?: number | undefined;
  readonly usualS?: number | undefined;
}
