// Reads datapoints (contract 5 and 10): ranges, the last N, pages, calibrated or raw; aggregated by buckets of time,
// or downsampled for a chart; of one sensor, or of several merged by time. Every read is streamed in bounded steps.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import type { Sensor, SensorId, SensorKey } from '../../devices/sensor.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { AggregateStep, OpenDownsampling, Series } from '../../ports/series.ts';
import { scope } from '../../scopes.ts';
import type { Actor } from '../../users/user.ts';
import { bytesOfColumns, type Columns, datapointsOf, type Slice } from '../columns.ts';
import { compareTimes, type Datapoint } from '../datapoint.ts';
import { type Aggregate, closeBucket, type OpenBucket } from './aggregate.ts';
import type { BucketRequest } from './buckets.ts';
import { mergeRuns } from './merge.ts';
import type { RowEncoding } from './row-encoding.ts';
import { readSeries, StepBudget, type StepStart, stepsOf } from './series.ts';

/** The sensors to read. */
export interface Selection {
  readonly devices: readonly DeviceId[];
  /** The sensors of each device; at least one device must have each of them. Undefined: all sensors. */
  readonly sensors: readonly SensorId[] | undefined;
}

export interface HistoryQuery {
  readonly selection: Selection;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly descending: boolean;
  readonly calibrated: boolean;
  /** Maximum number of rows, over all sensors; undefined: all. */
  readonly limit: number | undefined;
  readonly offset: number;
}

/** A row with its device and sensor. */
export interface SensorRow<T> {
  readonly device: DeviceId;
  readonly sensor: SensorId;
  readonly row: T;
}

/** Some rows as JSON. */
export interface TextPiece {
  /** The rows as bytes, with one free byte before them and one after. `release` it when it has been sent. */
  readonly text: Uint8Array;
  /** Number of rows, perhaps 0. */
  readonly rows: number;
  /** True in the last piece if there are more rows than the limit. */
  readonly hasMore: boolean;
}

interface SelectedSensor {
  readonly device: Device;
  readonly sensor: Sensor;
}

export class History {
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #series: Series;

  constructor(parts: {
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly series: Series;
  }) {
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#series = parts.series;
  }

  /**
   * Checks permission now and returns the datapoints in steps; with `lastN`, the last ones of each sensor, newest
   * first.
   * @throws Refusal `not-found`, `forbidden`, `malformed` where too many sensors are asked for.
   */
  async read(
    actor: Actor,
    query: HistoryQuery & { readonly lastN?: number | undefined },
  ): Promise<AsyncGenerator<SensorRow<Datapoint>[]>> {
    const { rowsMax, descending } = boundsOf(query);
    const series = { ...query, descending, rowsMax };
    const runs = await this.#runs(actor, query.selection, (source, budget) =>
      rowsOf(readSeries(this.#series, source.sensor, series, budget)),
    );
    return pageOf(mergeRuns(runs, byTime(descending)), query);
  }

  /**
   * Like `read`, for one sensor, as JSON. The datapoints are encoded where they are read, without an object for each.
   */
  async readText(
    actor: Actor,
    query: HistoryQuery & { readonly lastN?: number | undefined; readonly encoding: RowEncoding },
  ): Promise<AsyncGenerator<TextPiece>> {
    const source = await this.#permitOne(actor, query.selection);
    return this.#written(source, query, new StepBudget({ asker: actor, series: 1 }));
  }

  /** Returns the buffer of a text piece, so that it is used again. */
  release(text: Uint8Array): void {
    this.#series.release(text);
  }

  /** Checks permission now and returns one row for each sensor and non-empty bucket. */
  async aggregate(
    actor: Actor,
    query: HistoryQuery & { readonly buckets: BucketRequest },
  ): Promise<AsyncGenerator<SensorRow<Aggregate>[]>> {
    const runs = await this.#runs(actor, query.selection, (source, budget) => this.#aggregated(source, query, budget));
    const direction = query.descending ? -1 : 1;
    return pageOf(
      mergeRuns(runs, (a, b) => direction * (a.row.startMs - b.row.startMs)),
      query,
    );
  }

  /**
   * Checks permission now and returns at most `points` datapoints of each sensor, including its extremes and both ends.
   */
  async downsample(
    actor: Actor,
    query: HistoryQuery & { readonly points: number },
  ): Promise<AsyncGenerator<SensorRow<Datapoint>[]>> {
    const runs = await this.#runs(actor, query.selection, (source, budget) =>
      rowsOf(this.#downsampled(source, query, budget)),
    );
    return pageOf(mergeRuns(runs, byTime(query.descending)), query);
  }

  /** Like `downsample`, for one sensor, as the columns of each step. */
  async downsampleColumns(
    actor: Actor,
    query: HistoryQuery & { readonly points: number },
  ): Promise<AsyncGenerator<Slice>> {
    const source = await this.#permitOne(actor, query.selection);
    const budget = new StepBudget({ asker: actor, series: 1 });
    return slicesOf(this.#downsampled(source, query, budget), query);
  }

  /** Opens a stream of rows for each selected sensor; all share one budget of memory. */
  async #runs<T>(
    actor: Actor,
    selection: Selection,
    open: (source: SelectedSensor, budget: StepBudget) => AsyncGenerator<readonly T[]>,
  ): Promise<AsyncGenerator<SensorRow<T>[]>[]> {
    const sources = await this.#permit(actor, selection);
    const budget = new StepBudget({ asker: actor, series: sources.length });
    return sources.map((source) => located(source, open(source, budget)));
  }

  async #permitOne(actor: Actor, selection: Selection): Promise<SelectedSensor> {
    const [source, ...others] = await this.#permit(actor, selection);
    if (source === undefined || others.length > 0) throw new Error('One sensor is read at a time.');
    return source;
  }

  /** The selected sensors; the actor must be permitted to read all of their devices. */
  async #permit(actor: Actor, { devices: ids, sensors }: Selection): Promise<SelectedSensor[]> {
    if (ids.length > limits.sensorsReadMax) throw tooManySensors();
    const sources: SelectedSensor[] = [];
    const missing = new Set(sensors);
    // Once, by whichever of its ids each is asked for.
    const found = new Set<SensorKey>();
    for (const id of ids) {
      const device = await this.#directory.get(id);
      this.#permissions.require(actor, device, scope.dataView);
      for (const name of sensors ?? device.sensors.keys()) {
        const sensor = device.sensors.get(name);
        if (sensor === undefined) continue;
        missing.delete(name);
        if (found.has(sensor.key)) continue;
        found.add(sensor.key);
        sources.push({ device, sensor });
      }
      if (sources.length > limits.sensorsReadMax) throw tooManySensors();
    }
    const [absent] = missing;
    if (absent === undefined) return sources;
    const where = ids.length === 1 ? `Device ${ids[0]} has` : 'None of the devices has';
    throw new Refusal('not-found', `${where} ${ids.length === 1 ? 'no' : 'a'} sensor ${absent}.`);
  }

  async *#written(
    { sensor }: SelectedSensor,
    query: HistoryQuery & { readonly lastN?: number | undefined; readonly encoding: RowEncoding },
    budget: StepBudget,
  ): AsyncGenerator<TextPiece> {
    const { fromMs, toMs, limit, offset, encoding } = query;
    const { rowsMax, descending } = boundsOf({ ...query, limit: limit === undefined ? undefined : limit + 1 });
    const made = { ...madeOf(sensor, query), fromMs, toMs, descending, encoding };
    // Reads one row more than is shown, which tells whether there are more.
    let [toRead, toSkip, toShow] = [rowsMax, offset, limit ?? Number.POSITIVE_INFINITY];
    const ask = (start: StepStart) => {
      const rows = { limit: Math.min(limits.textStepRows, toRead), skip: toSkip, rowsMax: toShow };
      return this.#series.text({ ...made, ...start, ...rows }, budget.asker);
    };
    for await (const { text, rows, count } of stepsOf(ask, { bytesOf: ({ text }) => text.length, budget })) {
      const skipped = Math.min(toSkip, count);
      toRead -= count;
      toSkip -= skipped;
      toShow -= rows;
      yield { text, rows, hasMore: count - skipped > rows };
      if (toRead <= 0) return;
    }
  }

  async *#aggregated(
    { sensor }: SelectedSensor,
    query: HistoryQuery & { readonly buckets: BucketRequest },
    budget: StepBudget,
  ): AsyncGenerator<readonly Aggregate[]> {
    const { fromMs, toMs, descending, buckets } = query;
    const made = { ...madeOf(sensor, query), fromMs, toMs, descending, buckets };
    const wanted = limits.foldRowsWanted / budget.series;
    let limit = Math.max(limits.mainThreadReadRows, Math.floor(limits.foldStepRows / 4 / budget.series));
    let open: OpenBucket | undefined;
    const ask = (start: StepStart) => this.#series.aggregate({ ...made, ...start, limit, open }, budget.asker);
    for await (const step of stepsOf(ask, { bytesOf: bytesOfAggregates, budget })) {
      open = step.open;
      const perRow = step.count / Math.max(1, step.rows.length);
      limit = Math.ceil(Math.min(limits.foldStepRows, Math.max(limits.mainThreadReadRows, wanted * perRow)));
      if (step.rows.length > 0) yield step.rows;
    }
    if (open !== undefined) yield [closeBucket(open)];
  }

  async *#downsampled(
    { sensor }: SelectedSensor,
    query: HistoryQuery & { readonly points: number },
    budget: StepBudget,
  ): AsyncGenerator<Columns> {
    const { fromMs, toMs, descending, points } = query;
    const made = { ...madeOf(sensor, query), fromMs, toMs, descending, points, limit: limits.foldStepRows };
    let open: OpenDownsampling | undefined;
    const ask = (start: StepStart) => this.#series.downsample({ ...made, ...start, open }, budget.asker);
    for await (const step of stepsOf(ask, { bytesOf: ({ columns }) => bytesOfColumns(columns), budget })) {
      open = step.open;
      if (step.columns.count > 0) yield step.columns;
    }
  }
}

/** The fields that all computed queries of a sensor have. */
function madeOf({ key, calibration }: Sensor, { calibrated }: HistoryQuery) {
  return { sensor: key, calibration: calibrated ? calibration : undefined };
}

function bytesOfAggregates({ rows }: AggregateStep): number {
  let bytes = rows.length * aggregateBytes;
  for (const { first, last } of rows)
    for (const value of [first, last]) if (typeof value === 'string') bytes += 2 * value.length;
  return bytes;
}

/** Estimated bytes of an aggregate without its texts. */
const aggregateBytes = 150;

/** How many rows of each sensor to read, and from which end of the range. */
function boundsOf({ lastN, limit, offset, descending }: HistoryQuery & { readonly lastN?: number | undefined }) {
  const rowsMax = Math.min(lastN ?? Number.POSITIVE_INFINITY, (limit ?? Number.POSITIVE_INFINITY) + offset);
  return { rowsMax, descending: lastN !== undefined || descending };
}

/** The rows of a page, as slices of the columns of each step. */
async function* slicesOf(
  steps: AsyncGenerator<Columns>,
  { limit, offset }: Pick<HistoryQuery, 'limit' | 'offset'>,
): AsyncGenerator<Slice> {
  let skip = offset;
  let left = limit ?? Number.POSITIVE_INFINITY;
  for await (const columns of steps) {
    const from = Math.min(skip, columns.count);
    const to = Math.min(columns.count, from + left);
    skip -= from;
    left -= to - from;
    if (to > from) yield { columns, from, to };
    if (left <= 0) return;
  }
}

async function* rowsOf(steps: AsyncGenerator<Columns>): AsyncGenerator<Datapoint[]> {
  for await (const columns of steps) yield datapointsOf(columns);
}

async function* located<T>(
  { device, sensor }: SelectedSensor,
  steps: AsyncGenerator<readonly T[]>,
): AsyncGenerator<SensorRow<T>[]> {
  for await (const rows of steps) yield rows.map((row) => ({ device: device.id, sensor: sensor.id, row }));
}

/** Orders rows by time, then by time of receiving, then by the sensor's id within a device. */
function byTime(descending: boolean): (a: SensorRow<Datapoint>, b: SensorRow<Datapoint>) => number {
  const direction = descending ? -1 : 1;
  return (a, b) => direction * compareTimes(a.row, b.row) || compareSensors(a, b);
}

function compareSensors(a: SensorRow<unknown>, b: SensorRow<unknown>): number {
  if (a.device !== b.device || a.sensor === b.sensor) return 0;
  return a.sensor < b.sensor ? -1 : 1;
}

async function* pageOf<T>(
  steps: AsyncGenerator<T[]>,
  { limit, offset }: Pick<HistoryQuery, 'limit' | 'offset'>,
): AsyncGenerator<T[]> {
  let skip = offset;
  let left = limit ?? Number.POSITIVE_INFINITY;
  for await (const rows of steps) {
    const shown = rows.slice(skip, skip + left);
    skip -= Math.min(skip, rows.length);
    left -= shown.length;
    if (shown.length > 0) yield shown;
    if (left <= 0) return;
  }
}

function tooManySensors(): Refusal {
  return new Refusal('malformed', `One request reads at most ${limits.sensorsReadMax} sensors. Ask for fewer.`);
}
