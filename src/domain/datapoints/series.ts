// The datapoints of one sensor, read from the store in steps that are bounded in rows and in bytes, however long the
// range and however large the values. Several series that are read side by side share one budget.
import { noteSpent } from '../../base/spent-buffers.ts';
import { limits } from '../../config/limits.ts';
import { type Calibration, calibrate } from '../sensors/calibration.ts';
import type { Sensor } from '../sensors/sensor.ts';
import { bytesOfColumns, type Columns } from './columns.ts';
import type { DatapointStore, Position, RangeQuery } from './datapoint-store.ts';

export interface SeriesQuery extends Pick<RangeQuery, 'fromMs' | 'toMs' | 'descending' | 'valuesOnly'> {
  readonly calibrated: boolean;
  /** Datapoints in one step at most. */
  readonly rowsAtOnce?: number | undefined;
  /** Datapoints at most; undefined: the whole range. */
  readonly rowsMax?: number | undefined;
}

/** How much the series of one request hold in memory together. */
export class StepBudget {
  readonly #series: number;
  #heldBytes = 0;

  constructor(options: { readonly series: number }) {
    this.#series = options.series;
  }

  /** Says what a series holds now instead of `before`. */
  replace(before: number, now: number): void {
    this.#heldBytes += now - before;
  }

  /** Bytes for the next step of a series that holds so many: its share, or what the others leave. */
  bytesFor(held: number): number {
    return Math.max(limits.readBytes / this.#series, Math.min(limits.readBytes - this.#heldBytes + held, stepBytes));
  }
}

/** Bytes of a step at most, so that other work comes between. */
const stepBytes = limits.readBytes / 4;

/** Gives the datapoints in steps; the one before is let go when the next is asked for. */
export async function* readSeries(
  store: DatapointStore,
  sensor: Sensor,
  query: SeriesQuery,
  budget: StepBudget,
): AsyncGenerator<Columns> {
  const { fromMs, toMs, descending, calibrated, valuesOnly } = query;
  const calibration = calibrated ? sensor.calibration : undefined;
  let left = query.rowsMax ?? Number.POSITIVE_INFINITY;
  let bytes = 0;
  let after: Position | undefined;
  try {
    while (left > 0) {
      const limit = Math.min(query.rowsAtOnce ?? limits.readStepRows, left);
      const bytesMax = budget.bytesFor(bytes);
      const range = { sensor: sensor.key, fromMs, toMs, descending, valuesOnly };
      const { columns, next } = await store.read({ ...range, limit, bytesMax, after });
      left -= columns.count;
      const held = bytesOfColumns(columns);
      budget.replace(bytes, held);
      bytes = held;
      if (columns.count > 0) yield calibration === undefined ? columns : corrected(columns, calibration);
      noteSpent(held);
      if (next === undefined) return;
      after = next;
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

function corrected(columns: Columns, calibration: Calibration): Columns {
  // NaN stands for what is no number, and stays.
  const values = columns.values.map((value) => (Number.isNaN(value) ? value : calibrate(value, calibration)));
  return { ...columns, values };
}
