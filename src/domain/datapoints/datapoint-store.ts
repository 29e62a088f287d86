// What datapoints need remembered. Every engine passes the one suite in test/datapoint-store-suite.ts.
import type { SensorKey } from '../sensors/sensor.ts';
import type { Datapoint } from './datapoint.ts';
import type { DatapointBatch, PublishMark, PushReceipt } from './datapoint-batch.ts';

/** A publish that is still remembered, with when it came, milliseconds since 1970 UTC. */
export interface RememberedPublish extends PublishMark {
  readonly atMs: number;
}

/** A place between two datapoints of a sensor: after (or, descending, before) this order and seq. */
export interface Position {
  readonly order: number;
  readonly seq: number;
}

export interface RangeQuery {
  readonly sensor: SensorKey;
  /** Bounds of the order, inclusive, milliseconds since 1970 UTC. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly descending: boolean;
  /** Datapoints at most in this step. */
  readonly limit: number;
  /** Where the step before ended. */
  readonly after?: Position | undefined;
}

/** A datapoint as those read it who follow all sensors in order of arrival. */
export interface FollowedDatapoint extends Datapoint {
  readonly sensor: SensorKey;
  /** True when no rule is to look at it. */
  readonly isQuiet: boolean;
}

export interface DatapointStore {
  /**
   * Stores the batch, whole or not at all; durable when it resolves.
   * @returns the seq of the first datapoint; the others follow one by one.
   * @throws Refusal `storage` when the disk refuses.
   */
  append(batch: DatapointBatch): Promise<number>;
  /** One step of a read by order and seq; fewer than `limit` datapoints mean that the range is at its end. */
  read(query: RangeQuery): Promise<Datapoint[]>;
  /** The datapoint pushed last for each of the sensors that has any. */
  latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, Datapoint>>;
  /**
   * The datapoint pushed last among those with a seq of at most `seq`. Where later ones came with earlier times, and it
   * was pushed long ago, an older one may be taken for it.
   */
  latestUpTo(sensor: SensorKey, seq: number): Promise<Datapoint | undefined>;
  /** Seq of the newest datapoint; 0 before the first. */
  readonly lastSeq: number;
  /**
   * Datapoints behind `seq` in order of arrival, one step; none where there is nothing behind it. What lies behind the
   * seq given to `follow` is there; of what lies before it, perhaps a part.
   */
  readBehind(seq: number): Promise<FollowedDatapoint[]>;
  /** Says up to which seq all datapoints were followed, so that the others are kept for `readBehind`; undefined: nobody follows. */
  follow(seq: number | undefined): void;
  /** Up to which seq all were followed for certain when the data was last in use; undefined: not known. */
  followedSeq(): Promise<number | undefined>;
  findReceipt(id: string): Promise<PushReceipt | undefined>;
  /** The publishes still remembered, oldest first. */
  listPublishes(): Promise<RememberedPublish[]>;
}
