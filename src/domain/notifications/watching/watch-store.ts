// The store of the watcher of rules, as the domain needs it; engines implement it. Results are stored in one unit
// with the watcher's position, so that after a crash it continues there and comes to the same results (I5).
import type { AlarmChange } from '../../alarms/alarm.ts';
import type { DeviceKey } from '../../device-key.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { SensorId, SensorKey } from '../../devices/sensor.ts';
import type { Fence } from '../../ports/coordination.ts';
import type { UserKey } from '../../users/user.ts';
import type { NewMessage } from '../outbox/message.ts';
import type { NotificationId } from '../rules/notification.ts';
import type { RuleExtras } from '../rules/rule-changes.ts';

export type RuleKey = number & { readonly __brand?: 'RuleKey' };

/** An active rule as it is held in memory, unparsed: of 100 000 rules most are never parsed. */
export interface WatchedRule {
  readonly key: RuleKey;
  readonly id: NotificationId;
  readonly author: UserKey;
  readonly devices: readonly DeviceId[];
  /** True where time alone may make it fire. */
  readonly hasTimes: boolean;
  /** Condition and action as JSON, for `toRule`. */
  readonly conditionJson: string;
  readonly actionJson: string;
  readonly throttlingS: number;
  readonly expiresMs: number | undefined;
  readonly extras: RuleExtras;
  readonly timesSent: number;
  readonly lastFiredMs: number | undefined;
  /** Datapoints up to this seq are ignored. */
  readonly afterSeq: number;
  /** Since when it is evaluated in its present form, in milliseconds since 1970 UTC. */
  readonly watchedSinceMs: number;
  /** Its states by device; empty for rules without state. */
  readonly memories: readonly { readonly device: DeviceId; readonly memory: string }[];
}

/** A firing or a recovery. */
export interface RecordedFiring {
  readonly rule: RuleKey;
  readonly author: UserKey;
  /** False for a recovery. */
  readonly isCounted: boolean;
  /**
   * `times_sent` of the rule when it was evaluated. Where the stored rule has another, it has changed, and the firing
   * is not stored.
   */
  readonly timesSent: number;
  readonly atMs: number;
  /** Seq of the datapoint; undefined where time made it fire. */
  readonly seq: number | undefined;
  readonly messages: readonly NewMessage[];
}

/** The state of a rule for one device. */
export interface RecordedMemory {
  readonly rule: RuleKey;
  readonly device: DeviceId;
  readonly memory: string;
  /**
   * `watchedSinceMs` of the rule when it was evaluated. Where the stored rule has another, it has changed, and the
   * state is not stored.
   */
  readonly watchedSinceMs: number;
}

/** An open alarm of a rule as it is stored. */
export interface OpenRuleAlarm {
  readonly key: number;
  readonly rule: RuleKey;
  readonly author: UserKey;
  readonly device: DeviceKey;
}

export interface WatchRecord {
  readonly firings: readonly RecordedFiring[];
  readonly memories: readonly RecordedMemory[];
  /** Alarms that began or ended; absent: none. */
  readonly alarms?: readonly AlarmChange[];
  /** Datapoints up to this seq have been evaluated; undefined: unchanged. */
  readonly followedSeq: number | undefined;
}

export interface StoredSensorRef {
  readonly device: DeviceId;
  readonly sensor: SensorId;
  /** Whether it had another id before, by which rules may name it. */
  readonly hasOtherNames: boolean;
}

export interface WatchStore {
  /** One step of the active rules with keys above `after`, in order of keys. */
  listRules(page: { readonly after: number; readonly limit: number }): Promise<WatchedRule[]>;
  /** The rule, if it is active. */
  findRule(id: NotificationId): Promise<WatchedRule | undefined>;
  /** Those of these rules that are active. Where a rule names a device by a former id, it has the present one here. */
  findRules(ids: readonly NotificationId[]): Promise<WatchedRule[]>;
  /** One step of the open alarms of rules with keys above `after`, in order of keys; of these rules where they are given. */
  listOpenAlarms(page: {
    readonly after: number;
    readonly limit: number;
    readonly rules?: readonly RuleKey[];
  }): Promise<OpenRuleAlarm[]>;
  /** Device and sensor ids of these sensors, without removed ones. */
  sensorRefsOf(sensors: readonly SensorKey[]): Promise<Map<SensorKey, StoredSensorRef>>;
  /**
   * Stores everything or nothing.
   * @returns the firings that were not stored, because their rule has changed since.
   * @throws LeaseLost where another process has taken the lease since.
   */
  record(record: WatchRecord, fence: Fence): Promise<readonly RecordedFiring[]>;
}
