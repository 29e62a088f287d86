// The port of time series: the datapoints of one sensor by time, read in bounded steps, and what is made of them where they
// are read, so that little travels between threads. Reads name the caller for whom they are made, so that an engine
// serves callers in turns. Every engine passes test/storage/series.suite.ts.
import type { Caller } from '../callers/caller.ts';
import type { Columns } from '../datapoints/columns.ts';
import type { ArrivedDatapoint } from '../datapoints/datapoint.ts';
import type { Aggregate, OpenBucket } from '../datapoints/history/aggregate.ts';
import type { BucketRequest } from '../datapoints/history/buckets.ts';
import type { OpenColumn, Span } from '../datapoints/history/downsample.ts';
import type { RowEncoding } from '../datapoints/history/row-encoding.ts';
import type { Calibration } from '../devices/calibration.ts';
import type { SensorKey } from '../devices/sensor.ts';
import type { LogPosition } from './commit-log.ts';

/** A place between two datapoints of a sensor. It stays the same place whatever arrives meanwhile. */
export interface SeriesCursor {
  /** Time of the datapoint read last. */
  readonly order: number;
  /** How many of the datapoints of just that time lie on its side of the beginning, in order of arrival. */
  readonly index: number;
}

/** Datapoints of a sensor between two times. */
export interface SeriesRange {
  readonly sensor: SensorKey;
  /** Bounds of the order, inclusive, milliseconds since 1970 UTC. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export interface RangeQuery extends SeriesRange {
  readonly descending: boolean;
  /** Datapoints at most in this step. */
  readonly limit: number;
  /** Bytes in this step, about; one datapoint is always given. */
  readonly bytesMax?: number | undefined;
  /** Where the step before ended. */
  readonly after?: SeriesCursor | undefined;
  /** True where times and values are enough: the columns of receiving stay empty. */
  readonly valuesOnly?: boolean | undefined;
}

/** A step of a read. */
export interface RangeStep {
  readonly columns: Columns;
  /** Where the next step goes on; undefined at the end of the range. */
  readonly next: SeriesCursor | undefined;
}

/** A query whose answer is computed where the datapoints are read, and is small however many they are. */
interface ComputedQuery extends Omit<RangeQuery, 'valuesOnly'> {
  /** Corrects what is read. */
  readonly calibration?: Calibration | undefined;
}

export interface AggregateQuery extends ComputedQuery {
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
  readonly next: SeriesCursor | undefined;
}

export interface DownsampleQuery extends ComputedQuery {
  /** Datapoints at most. */
  readonly points: number;
  /** How far the step before came. */
  readonly open?: OpenDownsampling | undefined;
}

export interface OpenDownsampling {
  /** undefined where there are so few that all of them stay. */
  readonly span: Span | undefined;
  readonly column: OpenColumn | undefined;
}

/** A step of a downsampled series. */
export interface DownsampleStep {
  readonly columns: Columns;
  readonly open: OpenDownsampling | undefined;
  readonly next: SeriesCursor | undefined;
}

export interface TextQuery extends ComputedQuery {
  readonly encoding: RowEncoding;
  /** Rows that are passed over before the first that is written, and rows written at most. */
  readonly skip: number;
  readonly rowsMax: number;
}

/** A step of rows as text. */
export interface TextStep {
  /** The rows, with a byte of room before them and another behind. */
  readonly text: Uint8Array;
  /** Rows in it. */
  readonly rows: number;
  /** Datapoints read, those passed over and those beyond the most included. */
  readonly count: number;
  readonly next: SeriesCursor | undefined;
}

export interface Series {
  /**
   * One step of a read by time, equal times in order of arrival.
   * @throws Refusal `damaged` where what lies in the range cannot be read; `busy` where too many reads of the caller wait,
   * and this is the first step of another.
   */
  range(query: RangeQuery, caller: Caller): Promise<RangeStep>;
  /** The same put together by buckets of time. @throws Refusal `damaged`, `busy` */
  aggregate(query: AggregateQuery, caller: Caller): Promise<AggregateStep>;
  /** The same downsampled for a chart; all of it where there are no more than `points`. @throws Refusal `damaged`, `busy` */
  downsample(query: DownsampleQuery, caller: Caller): Promise<DownsampleStep>;
  /** The same as encoded text, whose memory may be released once nobody reads it any more. @throws Refusal `damaged`, `busy` */
  text(query: TextQuery, caller: Caller): Promise<TextStep>;
  /** Gives the memory of a text back, to be written into again. */
  release(text: Uint8Array): void;
  /** How many datapoints a range has; counted no further than about `max`. */
  count(range: SeriesRange, max: number): Promise<number>;
  /** The datapoint pushed last for each of the sensors that has any; also when it was removed for its age. */
  latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, ArrivedDatapoint>>;
  /**
   * The datapoint of a sensor pushed last before a position of the log. Where later ones came with earlier times, and it
   * was pushed long ago, an older one may be taken for it.
   */
  latestUpTo(sensor: SensorKey, position: LogPosition): Promise<ArrivedDatapoint | undefined>;
  /**
   * Removes sealed datapoints of the sensor whose order is before this time, oldest first, in one bounded step.
   * @returns how many; 0 when there is nothing left to remove.
   * @throws Refusal `busy`, `storage`.
   */
  removeBefore(sensor: SensorKey, beforeMs: number): Promise<number>;
  /** The order of the oldest sealed datapoint of each of the sensors that has any. */
  oldest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>>;
}
