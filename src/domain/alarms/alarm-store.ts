// The store of alarms, as the domain needs it; engines implement it. Whoever asks is told only what they may see.
import type { DeviceKey } from '../device-key.ts';
import type { DeviceId } from '../devices/device.ts';
import type { SensorKey } from '../devices/sensor.ts';
import type { GatewayId, GatewayKey } from '../gateways/gateway.ts';
import type { AlarmView } from '../permissions/permission.ts';
import type { Fence } from '../ports/coordination.ts';
import type { UserKey } from '../users/user.ts';
import type { Alarm, AlarmChange, AlarmId, AlarmKind } from './alarm.ts';

export interface AlarmFilter {
  readonly isOpen?: boolean | undefined;
  readonly isAcknowledged?: boolean | undefined;
  /** Whether it is snoozed at `nowMs`. */
  readonly isSnoozed?: boolean | undefined;
  readonly kind?: AlarmKind | undefined;
  readonly device?: DeviceId | undefined;
  readonly gateway?: GatewayId | undefined;
  /** A username. */
  readonly assignee?: string | undefined;
}

export interface AlarmQuery extends AlarmFilter {
  readonly view: AlarmView;
  readonly nowMs: number;
}

/** How far a reader has come in the changes of alarms. */
export interface AlarmCursor {
  readonly changed: number;
  readonly key: number;
}

/** What people do about an alarm; null takes it back. */
export interface AlarmHandling {
  readonly acknowledged?: { readonly atMs: number; readonly by: UserKey; readonly note?: string | undefined } | null;
  readonly snoozedUntilMs?: number | null;
  readonly assignee?: UserKey | null;
}

/** An open alarm as who keeps them up to date remembers it. */
export interface OpenAlarm {
  readonly key: number;
  readonly sinceMs: number;
  readonly keeper: UserKey | undefined;
  readonly sensor: SensorKey | undefined;
  readonly gateway: GatewayKey | undefined;
}

/** A gateway that has been heard. */
export interface HeardGateway {
  readonly key: GatewayKey;
  readonly id: GatewayId;
  readonly owner: UserKey;
  /** As stored. */
  readonly lastSeenMs: number;
}

export interface AlarmStore {
  /** Newest first. */
  list(query: AlarmQuery & { readonly limit: number; readonly offset: number }): Promise<Alarm[]>;
  count(query: AlarmQuery): Promise<number>;
  find(id: AlarmId, view: AlarmView): Promise<Alarm | undefined>;
  /** One step of what has changed behind the cursor, in order of the changes; of those the view shows. */
  listChanged(
    after: AlarmCursor,
    view: AlarmView,
  ): Promise<{ readonly alarms: readonly Alarm[]; readonly cursor: AlarmCursor; readonly isEnd: boolean }>;
  /** The cursor behind all changes so far. */
  lastChange(): Promise<AlarmCursor>;
  handle(id: AlarmId, handling: AlarmHandling): Promise<void>;
  /**
   * Stores changes of what is wrong. One that began again within `limits.alarmReopenMs` is the alarm of before.
   * @throws LeaseLost
   */
  record(changes: readonly AlarmChange[], fence: Fence): Promise<void>;
  /** One step of the open alarms of a kind, in order of keys. */
  listOpen(kind: AlarmKind, page: { readonly after: number; readonly limit: number }): Promise<OpenAlarm[]>;
  /** Devices and owners of sensors, without removed ones. */
  ownersOf(
    sensors: readonly SensorKey[],
  ): Promise<Map<SensorKey, { readonly device: DeviceKey; readonly owner: UserKey }>>;
  /** One step of the gateways that have ever been heard, in order of keys. */
  listHeardGateways(page: { readonly after: number; readonly limit: number }): Promise<HeardGateway[]>;
  /** Ends open alarms of rules whose time is over. */
  endExpired(atMs: number, fence: Fence): Promise<void>;
  /** Removes what is beyond the bounds of history, and what ended before that time. */
  trim(beforeMs: number, fence: Fence): Promise<void>;
}
