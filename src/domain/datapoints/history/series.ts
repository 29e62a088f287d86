// Reads the datapoints of one sensor in steps that are bounded in rows and bytes, however long the range and however
// large the values. Several series that are read side by side share one budget.
import { reportReleasedBytes } from '../../../base/memory/garbage-collection.ts';
import { nextLoopTurn } from '../../../base/time/next-loop-turn.ts';
import { limits } from '../../../config/limits.ts';
import type { Asker } from '../../callers/asker.ts';
import { type Calibration, calibrateColumn } from '../../devices/calibration.ts';
import type { Sensor } from '../../devices/sensor.ts';
import type { RangeQuery, Series, SeriesCursor } from '../../ports/series.ts';
import { bytesOfColumns, type Columns } from '../columns.ts';

export interface SeriesQuery extends Pick<RangeQuery, 'fromMs' | 'toMs' | 'descending' | 'valuesOnly'> {
  readonly calibrated: boolean;
  /** Maximum number of datapoints; undefined: the whole range. */
  readonly rowsMax?: number | undefined;
}

/** The bytes that the series of one request hold together, and who asks for them. */
export class StepBudget {
  readonly asker: Asker;
  /** Number of series that share the budget. */
  readonly series: number;
  #heldBytes = 0;

  constructor(options: { readonly asker: Asker; readonly series: number }) {
    this.asker = options.asker;
    this.series = options.series;
  }

  /** Updates the bytes that a series holds, from `before` to `now`. */
  replace(before: number, now: number): void {
    this.#heldBytes += now - before;
  }

  /** Bytes for the next step of a series that holds `held`: an equal part of the budget, or more if others leave it. */
  bytesFor(held: number): number {
    return Math.max(limits.readBytes / this.series, Math.min(limits.readBytes - this.#heldBytes + held, stepBytes()));
  }
}

/** Maximum bytes of a step beyond the equal part, so that other work comes between steps. */
const stepBytes = () => limits.readBytes / 4;

/** Where a step begins, and its maximum of bytes. */
export interface StepStart {
  readonly after: SeriesCursor | undefined;
  readonly bytesMax: number;
}

/** Reads step after step. The memory of a step counts until the next step is there. */
export async function* stepsOf<Step extends { readonly next: SeriesCursor | undefined }>(
  ask: (start: StepStart) => Promise<Step>,
  { bytesOf, budget }: { readonly bytesOf: (step: Step) => number; readonly budget: StepBudget },
): AsyncGenerator<Step> {
  let bytes = 0;
  let after: SeriesCursor | undefined;
  try {
    for (;;) {
      const step = await ask({ after, bytesMax: budget.bytesFor(bytes) });
      const held = bytesOf(step);
      budget.replace(bytes, held);
      bytes = held;
      yield step;
      if (step.next === undefined) return;
      after = step.next;
      // Other callers have their turn between two steps.
      await nextLoopTurn();
    }
  } finally {
    budget.replace(bytes, 0);
  }
}

/** Reads the datapoints of a range in steps, calibrated where the query says so. */
export async function* readSeries(
  series: Series,
  sensor: Sensor,
  query: SeriesQuery,
  budget: StepBudget,
): AsyncGenerator<Columns> {
  const { fromMs, toMs, descending, calibrated, valuesOnly } = query;
  const calibration = calibrated ? sensor.calibration : undefined;
  const range = { sensor: sensor.key, fromMs, toMs, descending, valuesOnly };
  let left = query.rowsMax ?? Number.POSITIVE_INFINITY;
  if (left <= 0) return;
  const ask = (start: StepStart) =>
    series.range({ ...range, ...start, limit: Math.min(limits.objectStepRows, left) }, budget.asker);
  for await (const { columns } of stepsOf(ask, { bytesOf: ({ columns }) => bytesOfColumns(columns), budget })) {
    left -= columns.count;
    if (columns.count > 0) yield calibration === undefined ? columns : corrected(columns, calibration);
    reportReleasedBytes(bytesOfColumns(columns));
    if (left <= 0) return;
  }
}

function corrected(columns: Columns, calibration: Calibration): Columns {
  const values = new Float64Array(columns.count);
  calibrateColumn({ columns, from: 0, to: columns.count }, calibration, values);
  return { ...columns, values };
}
