// The port of time series: the datapoints of one sensor by time, read in bounded steps, and computations that are
// made where the datapoints are read, so that little travels between threads. Each read names its asker, so that an
// engine can serve callers in turns and drops reads of a client that has gone. Every engine passes
// test/storage/series.suite.ts.
import type { Asker } from '../callers/asker.ts';
import type { Columns } from '../datapoints/columns.ts';
import type { ArrivedDatapoint, StoredValue } from '../datapoints/datapoint.ts';
import type { Aggregate, OpenBucket } from '../datapoints/history/aggregate.ts';
import type { BucketRequest } from '../datapoints/history/buckets.ts';
import type { OpenColumn, Span } from '../datapoints/history/downsample.ts';
import type { RowEncoding } from '../datapoints/history/row-encoding.ts';
import type { Calibration } from '../devices/calibration.ts';
import type { SensorKey } from '../devices/sensor.ts';
import type { LogPosition } from './commit-log.ts';

/** A position between two datapoints of a sensor. Datapoints that arrive meanwhile do not change it. */
export interface SeriesCursor {
  /** Time of the last datapoint before it. */
  readonly order: number;
  /** How many datapoints of exactly that time lie before it, in order of arrival. */
  readonly index: number;
}

/** Datapoints of a sensor between two times. */
export interface SeriesRange {
  readonly sensor: SensorKey;
  /** Bounds, inclusive, in milliseconds since 1970 UTC. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export interface RangeQuery extends SeriesRange {
  readonly descending: boolean;
  /** Maximum number of datapoints in this step. */
  readonly limit: number;
  /** Maximum of bytes in this step, about; at least one datapoint is returned. */
  readonly bytesMax?: number | undefined;
  /** Where the previous step ended. */
  readonly after?: SeriesCursor | undefined;
  /** True where times and values are enough: the columns of receiving stay empty. */
  readonly valuesOnly?: boolean | undefined;
}

/** One step of a read. */
export interface RangeStep {
  readonly columns: Columns;
  /** Where the next step begins; undefined at the end of the range. */
  readonly next: SeriesCursor | undefined;
}

/** A query whose answer is computed where the datapoints are read; it is small, however many datapoints there are. */
interface ComputedQuery extends Omit<RangeQuery, 'valuesOnly'> {
  /** Applied to the values before the computation; undefined: values stay raw. */
  readonly calibration?: Calibration | undefined;
}

export interface AggregateQuery extends ComputedQuery {
  readonly buckets: BucketRequest;
  /** The bucket at which the previous step ended. */
  readonly open?: OpenBucket | undefined;
}

/** A step of buckets. */
export interface AggregateStep {
  readonly rows: readonly Aggregate[];
  /** Number of datapoints read. */
  readonly count: number;
  /** The bucket that the next step may continue; at the end of the range, the last row. */
  readonly open: OpenBucket | undefined;
  readonly next: SeriesCursor | undefined;
}

export interface DownsampleQuery extends ComputedQuery {
  /** Number of datapoints to choose, at most. */
  readonly points: number;
  /** The state at the end of the previous step. */
  readonly open?: OpenDownsampling | undefined;
}

export interface OpenDownsampling {
  /** Undefined where the range has at most `points` datapoints, so that all are returned. */
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
  /** Rows to skip before the first one that is written; and rows to write at most. */
  readonly skip: number;
  readonly rowsMax: number;
}

/** A step of rows as text. */
export interface TextStep {
  /** The rows, with one free byte before them and one after. */
  readonly text: Uint8Array;
  /** Number of rows in it. */
  readonly rows: number;
  /** Number of datapoints read, including those skipped and those beyond `rowsMax`. */
  readonly count: number;
  readonly next: SeriesCursor | undefined;
}

/** Datapoints of a sensor that are to be removed. */
export interface SeriesRemoval {
  readonly sensor: SensorKey;
  /** Bounds, inclusive, in milliseconds since 1970 UTC. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Only datapoints with this stored value, compared without calibration; undefined: all. */
  readonly value?: StoredValue | undefined;
}

/** A datapoint that gets another value. */
export interface SeriesCorrection {
  readonly sensor: SensorKey;
  /** Its time, in milliseconds since 1970 UTC. */
  readonly atMs: number;
  /** When it was received; undefined: whenever. */
  readonly receivedMs?: number | undefined;
  readonly value: StoredValue;
}

export interface Series {
  /**
   * One step of a read by time, equal times in order of arrival.
   * @throws Refusal `damaged` where datapoints in the range cannot be read. `busy` for a first step where too many
   * reads of the caller wait, or where the asker has gone before its turn came.
   */
  range(query: RangeQuery, asker: Asker): Promise<RangeStep>;
  /** Like `range`, aggregated by buckets of time. @throws Refusal `damaged`, `busy` */
  aggregate(query: AggregateQuery, asker: Asker): Promise<AggregateStep>;
  /**
   * Like `range`, downsampled for a chart; all datapoints where there are at most `points`.
   * @throws Refusal `damaged`, `busy`
   */
  downsample(query: DownsampleQuery, asker: Asker): Promise<DownsampleStep>;
  /** Like `range`, as encoded text; `release` its buffer when it has been sent. @throws Refusal `damaged`, `busy` */
  text(query: TextQuery, asker: Asker): Promise<TextStep>;
  /** Returns the buffer of a text, so that it is used again. */
  release(text: Uint8Array): void;
  /** The number of datapoints in a range; stops counting soon after `max`. */
  count(range: SeriesRange, max: number): Promise<number>;
  /**
   * The last pushed datapoint of each sensor that ever had one. It stays here when retention removes it from the
   * series.
   */
  latest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, ArrivedDatapoint>>;
  /**
   * A time in milliseconds since 1970 UTC after which each sensor has no datapoint: that of its latest one by time, or after a
   * removal a later one. Sensors without datapoints may be left out.
   */
  latestTimes(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>>;
  /**
   * The last datapoint of a sensor that was pushed before a position of the log. If it was pushed long ago and later
   * ones have earlier times, this may return an older one.
   */
  latestUpTo(sensor: SensorKey, position: LogPosition): Promise<ArrivedDatapoint | undefined>;
  /**
   * Deletes sealed datapoints of the sensor with times before `beforeMs`, oldest first, in one bounded step.
   * @returns how many were deleted; 0 when none is left.
   * @throws Refusal `busy`, `storage`.
   */
  removeBefore(sensor: SensorKey, beforeMs: number): Promise<number>;
  /**
   * Removes all datapoints that were committed before the call, sealed or not, in bounded steps among other commits.
   * After a crash either all of them are there or none is; reads meanwhile may find some of them. Also ends what is
   * remembered of pushes to the sensor without an `Idempotency-Key`, and sets its last datapoint to one that is left.
   * A datapoint of the range that is committed during the call may be removed with them.
   * @returns how many were removed, when they are on disk.
   * @throws Refusal `damaged` where some cannot be read: the others are removed. `busy` where too many removals wait,
   * or where the asker has gone before its turn came; `storage`: nothing was removed.
   */
  remove(removal: SeriesRemoval, asker: Asker): Promise<number>;
  /**
   * Gives the one datapoint of that time another value, everywhere, and ends what is remembered of pushes as `remove`
   * does.
   * @returns how many datapoints fit the description: it is done where that is 1, otherwise nothing is changed.
   * @throws Refusal `damaged`, `busy`, `storage`
   */
  correct(correction: SeriesCorrection, asker: Asker): Promise<number>;
  /** The time of the oldest sealed datapoint of each sensor that has one. */
  oldest(sensors: readonly SensorKey[]): Promise<Map<SensorKey, number>>;
}
