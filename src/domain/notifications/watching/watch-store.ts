// Storage of the watcher of rules. Results are stored in one unit with the watcher's position, so that after a crash it
// continues there and comes to the same results (I5).
import type { DeviceId } from '../../devices/device.ts';
import type { SensorId, SensorKey } from '../../devices/sensor.ts';
import type { Fence } from '../../ports/coordination.ts';
import type { UserKey } from '../../users/user.ts';
import type { NewMessage } from '../outbox/message.ts';
import type { NotificationId } from '../rules/notification.ts';
import type { RuleExtras } from '../rules/rule-changes.ts';

export type RuleKey = number & { readonly __brand?: 'RuleKey' };

/** An active rule as held in memory, unparsed; most of 100 000 are never parsed. */
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
  /** Its state by device; only of rules with state. */
  readonly memories: readonly { readonly device: DeviceId; readonly memory: string }[];
}

/** A firing or a recovery. */
export interface RecordedFiring {
  readonly rule: RuleKey;
  readonly author: UserKey;
  /** False for a recovery. */
  readonly isCounted: boolean;
  /** `times_sent` when it was decided: not stored where the rule has changed since. */
  readonly timesSent: number;
  readonly atMs: number;
  /** Seq of the datapoint; undefined where time made it fire. */
  readonly seq: number | undefined;
  readonly messages: readonly NewMessage[];
}

/** What a rule with state remembers of a device. */
export interface RecordedMemory {
  readonly rule: RuleKey;
  readonly device: DeviceId;
  readonly memory: string;
  /** That of the rule when it was evaluated: not stored where the rule has another form since, which begins anew. */
  readonly watchedSinceMs: number;
}

export interface WatchRecord {
  readonly firings: readonly RecordedFiring[];
  readonly memories: readonly RecordedMemory[];
  /** Datapoints up to this seq have been evaluated; undefined: unchanged. */
  readonly followedSeq: number | undefined;
}

export interface WatchStore {
  /** Active rules with keys after this one. */
  listRules(page: { readonly after: number; readonly limit: number }): Promise<WatchedRule[]>;
  /** The rule, if it is active. */
  findRule(id: NotificationId): Promise<WatchedRule | undefined>;
  /** Device and sensor ids of existing sensors. */
  sensorRefsOf(
    sensors: readonly SensorKey[],
  ): Promise<Map<SensorKey, { readonly device: DeviceId; readonly sensor: SensorId }>>;
  /**
   * Stores everything or nothing.
   * @returns the firings that were not stored, because their rule has changed.
   * @throws LeaseLost where another process has taken the lease since.
   */
  record(record: WatchRecord, fence: Fence): Promise<readonly RecordedFiring[]>;
}
