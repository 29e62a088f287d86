// What the watcher of rules needs remembered. What it concludes from datapoints is written in one unit with how far it
// has come, so that after a crash it goes on from there and comes to the same (I5).
import type { DeviceId } from '../../devices/device.ts';
import type { SensorId, SensorKey } from '../../devices/sensor.ts';
import type { UserKey } from '../../users/user.ts';
import type { NewMessage } from '../outbox/message.ts';
import type { NotificationFields, NotificationId } from '../rules/notification.ts';

export type RuleKey = number & { readonly __brand?: 'RuleKey' };

export type RuleExtras = Pick<NotificationFields, 'hysteresis' | 'forS' | 'silenceS' | 'recoveryMessage'>;

/** An active rule as it is held in memory; of 100 000 most are never asked what they say. */
export interface WatchedRule {
  readonly key: RuleKey;
  readonly id: NotificationId;
  readonly author: UserKey;
  readonly devices: readonly DeviceId[];
  /** True where time alone may make it fire. */
  readonly hasTimes: boolean;
  /** What it says, as JSON, for `toRule`. */
  readonly conditionJson: string;
  readonly actionJson: string;
  readonly throttlingS: number;
  readonly expiresMs: number | undefined;
  /** The fields that most rules do not have. */
  readonly extras: RuleExtras;
  readonly timesSent: number;
  readonly lastFiredMs: number | undefined;
  /** Datapoints up to this seq do not concern it. */
  readonly afterSeq: number;
  /** Since when it is watched as it is now, milliseconds since 1970 UTC. */
  readonly watchedSinceMs: number;
  /** By device; only of rules that remember something. */
  readonly memories: readonly { readonly device: DeviceId; readonly memory: string }[];
}

/** Something a rule did. */
export interface RecordedFiring {
  readonly rule: RuleKey;
  readonly author: UserKey;
  /** False for a recovery, which is no firing. */
  readonly isCounted: boolean;
  /** What the decision was based on: nothing is recorded where it is no longer so. */
  readonly timesSent: number;
  readonly atMs: number;
  /** Of the datapoint; undefined where time made it fire. */
  readonly seq: number | undefined;
  readonly messages: readonly NewMessage[];
}

export interface WatchRecord {
  readonly firings: readonly RecordedFiring[];
  readonly memories: readonly { readonly rule: RuleKey; readonly device: DeviceId; readonly memory: string }[];
  /** All datapoints up to this seq have been looked at; undefined: no further than before. */
  readonly followedSeq: number | undefined;
}

export interface WatchStore {
  /** Active rules behind this one. */
  listRules(page: { readonly after: number; readonly limit: number }): Promise<WatchedRule[]>;
  /** The rule, if it is active. */
  findRule(id: NotificationId): Promise<WatchedRule | undefined>;
  /** Where sensors belong, of those that there are. */
  sensorRefsOf(
    sensors: readonly SensorKey[],
  ): Promise<Map<SensorKey, { readonly device: DeviceId; readonly sensor: SensorId }>>;
  /**
   * Writes all of it or nothing.
   * @returns the firings that were not recorded, because their rule has changed.
   */
  record(record: WatchRecord): Promise<readonly RecordedFiring[]>;
}
