// What datapoints need remembered. Every engine passes the one suite in test/storage/datapoint-store-suite.ts. Reads name the caller
// for whom they are made, so that an engine serves callers in turns.
import type { Caller } from '../callers/caller.ts';
import type { Calibration } from '../devices/calibration.ts';
import type { SensorKey } from '../devices/sensor.ts';
import type { Columns } from './columns.ts';
import type { ArrivedDatapoint } from './datapoint.ts';
import type { DatapointBatch, PublishMark, PushReceipt } from './datapoint-batch.ts';
import type { Aggregate, OpenBucket } from './history/aggregate.ts';
import type { BucketRequest } from './history/buckets.ts';
import type { Separator } from './history/column-json.ts';
import type { OpenColumn, Span } from './history/downsample.ts';

/** A publish that is still remembered, with when it came, milliseconds since 1970 UTC. */
export interface RememberedPublish extends PublishMark {
  readonly atMs: number;
}

/**
 * A place between two datapoints of a sensor. It stays the same place whatever arrives meanwhile.
 */
export interface Position {
  /** Time of the datapoint read last. */
  readonly order: number;
  /** How many of the datapoints of just that time lie on its side of the beginning, in order of arrival. */
  readonly index: number;
}

export interface RangeQuery {
  readonly sensor: SensorKey;
  /** Bounds of the order, inclusive, milliseconds since 1970 UTC. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly descending: boolean;
  /** Datapoints at most in this step. */
  readonly limit: number;
  /** Bytes in this step, about; one datapoint is always given. */
  readonly bytesMax?: number | undefined;
  /** Where the step before ended. */
  readonly after?: Position | undefined;
  /** True where times and values are enough: the columns of receiving stay empty. */
  readonly valuesOnly?: boolean | undefined;
}

/** A step of a read. */
export interface RangeStep {
  readonly columns: Columns;
  /** Where the next step goes on; undefined at the end of the range. */
  readonly next: Position | undefined;
}

/** What is made of a range where it is read: the reader's answer is small, however much it has read. */
interface MadeQuery extends Omit<RangeQuery, 'valuesOnly'> {
  /** Corrects what is read. */
  readonly calibration?: Calibration | undefined;
}

export interface AggregateQuery extends MadeQuery {
  readonly buckets: BucketRequest;
  /** The bucket at which the step before ended. */
  readonly open?: OpenBucket | undefined;
}

/** A step of rows put together by buckets. */
export interface AggregateStep {
  readonly rows: readonly Aggregate[];
  /** Datapoints read. */
  readonly count: number;
  /** The bucket that may go on; at the end of the range it is the last row. */
  readonly open: OpenBucket | undefined;
  readonly next: Position | undefined;
}

export interface ThinQuery extends MadeQuery {
  /** Datapoints at most. */
  readonly points: number;
  /** How far the step before came. */
  readonly open?: OpenThinning | undefined;
}

export interface OpenThinning {
  /** undefined where there are so few that all of them stay. */
  readonly span: Span | undefined;
  readonly column: OpenColumn | undefined;
}

/** A step of a thinned-out series. */
export interface ThinStep {
  readonly columns: Columns;
  readonly open: OpenThinning | undefined;
  readonly next: Position | undefined;
}

export interface TextQuery extends MadeQuery {
  readonly separator: Separator;
  /** Rows that are passed over before the first that is written, and rows written at most. */
  readonly skip: number;
  readonly rowsMax: number;
}

/** A step of rows as JSON. */
export interface TextStep {
  /** The rows, with a byte of room before them and another behind. */
  readonly text: Uint8Array;
  /** Rows in it. */
  readonly rows: number;
  /** Datapoints read, those passed over and those beyond the most included. */
  readonly count: number;
  readonly next: Position | undefined;
}

/** A datapoint as those read it who follow all sensors in order of arrival. */
export interface FollowedDatapoint extends ArrivedDatapoint {
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
  /**
   * True while the engine is behind with what it makes of stored datapoints: a batch of more than `catchUpDatapointsMax`
   * would wait for it, and with it all that comes later. Smaller ones go on.
   */
  readonly isCatchingUp: boolean;
  /** Called when that is over. */
  onCaughtUp: () => void;
  /**
   * One step of a read by time, equal times in order of arrival.
   * @throws Refusal `damaged` where what lies in the range cannot be read; `busy` where too many reads of the caller wait,
   * and this is the first step of another.
   */
  read(query: RangeQuery, caller: Caller): Promise<RangeStep>;
  /** The same put together by buckets of time. @throws Refusal `damaged`, `busy` */
  aggregate(query: AggregateQuery, caller: Caller): Promise<AggregateStep>;
  /** The same thinned out for a chart; all of it where there are no more than `points`. @throws Refusal `damaged`, `busy` */
  thinOut(query: ThinQuery, caller: Caller): Promise<ThinStep>;
  /**
   * The same written as JSON. The text may be given back once nobody reads it any more.
   * @throws Refusal `damaged`, `busy`
   */
  readText(query: TextQuery, caller: Caller): Promise<TextStep>;
  /** Gives the memory of a text back, to be written into again. */
  giveBack(text: Uint8Array): void;
  /** How many datapoints a range has; counted no further than about `max`. */
  count(range: Pick<RangeQuery, 'sensor' | 'fromMs' | 'toMs'>, max: number): Promise<number>;
  /**
   * Removes sealed datapoints of the sensor whose order is before this time, oldest first, in one bounded step.
   * @returns how many; 0 when there is nothing left to remove.
   * @throws Refusal `busy`, `storage`.
   */
  removeBefore(sensor: SensorKey, beforeMs: number): Promise<number>;
  /** The order of the oldest sealed datapoint of each of the sensors that has any. */
  oldest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>>;
  /** The datapoint pushed last for each of the sensors that has any; also when it was removed for its age. */
  latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, ArrivedDatapoint>>;
  /**
   * The datapoint pushed last among those with a seq of at most `seq`. Where later ones came with earlier times, and it
   * was pushed long ago, an older one may be taken for it.
   */
  latestUpTo(sensor: SensorKey, seq: number): Promise<ArrivedDatapoint | undefined>;
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
  listPublishes(): Promise<Iterable<RememberedPublish>>;
}
