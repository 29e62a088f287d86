// The datapoints of one sensor, read from the store in steps that are bounded in rows and in bytes, however long the
// range and however large the values. Several series that are read side by side share one budget.
import { limits } from '../../config/limits.ts';
import { type Calibration, calibrate } from '../sensors/calibration.ts';
import type { Sensor } from '../sensors/sensor.ts';
import { type Datapoint, orderOf } from './datapoint.ts';
import type { DatapointStore, Position, RangeQuery } from './datapoint-store.ts';

export interface SeriesQuery extends Pick<RangeQuery, 'fromMs' | 'toMs' | 'descending'> {
  readonly calibrated: boolean;
  /** Datapoints at most; undefined: the whole range. */
  readonly rowsMax?: number | undefined;
}

/** How much the series of one request hold in memory together. */
export class StepBudget {
  readonly rowsFirst: number;
  #heldBytes = 0;

  constructor(options: { readonly series: number }) {
    this.rowsFirst = Math.min(200, Math.max(2, Math.floor(limits.readStepRows / options.series)));
  }

  /** Says what a series holds now instead of `before`. */
  replace(before: number, now: number): void {
    this.#heldBytes += now - before;
  }

  /** Rows for the next step of a series whose last step had so many rows of so many bytes together. */
  rowsAfter(rows: number, bytes: number): number {
    const roomBytes = limits.readBytes - this.#heldBytes + bytes;
    const fitting = Math.floor((roomBytes / bytes) * rows);
    return Math.max(1, Math.min(rows * 4, fitting, limits.readStepRows));
  }
}

/** Gives the datapoints in steps; the one before is let go when the next is asked for. */
export async function* readSeries(
  store: DatapointStore,
  sensor: Sensor,
  query: SeriesQuery,
  budget: StepBudget,
): AsyncGenerator<Datapoint[]> {
  const { fromMs, toMs, descending, calibrated } = query;
  const calibration = calibrated ? sensor.calibration : undefined;
  let left = query.rowsMax ?? Number.POSITIVE_INFINITY;
  let rows = budget.rowsFirst;
  let bytes = 0;
  let after: Position | undefined;
  try {
    while (left > 0) {
      const limit = Math.min(rows, left);
      const points = await store.read({ sensor: sensor.key, fromMs, toMs, descending, limit, after });
      const last = points.at(-1);
      if (last === undefined) return;
      left -= points.length;
      const held = bytesOf(points);
      budget.replace(bytes, held);
      bytes = held;
      yield calibration === undefined ? points : points.map((point) => corrected(point, calibration));
      if (points.length < limit) return;
      after = { order: orderOf(last), seq: last.seq };
      rows = budget.rowsAfter(points.length, bytes);
      // Other callers come between two steps of a long read.
      await turnOfTheLoop();
    }
  } finally {
    budget.replace(bytes, 0);
  }
}

export function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function corrected(point: Datapoint, calibration: Calibration): Datapoint {
  return { ...point, value: calibrate(point.value, calibration) };
}

/** About what they take in memory. */
function bytesOf(points: readonly Datapoint[]): number {
  let bytes = 0;
  for (const { value } of points) bytes += typeof value === 'number' ? 100 : 100 + value.length * 2;
  return bytes;
}
