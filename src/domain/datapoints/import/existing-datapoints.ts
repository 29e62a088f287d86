// Finds lines of an import whose datapoint exists already: the sensor has the same value at the same time. Called by
// imports.ts for each batch; reads the store in bounded steps.
import type { Caller } from '../../callers/caller.ts';
import type { Sensor } from '../../devices/sensor.ts';
import type { Series } from '../../ports/series.ts';
import { valueAt } from '../columns.ts';
import type { StoredValue } from '../datapoint.ts';
import { readSeries, StepBudget } from '../history/series.ts';
import type { ImportLine } from './import-line.ts';

/** Values at one time. */
type ValuesByTime = Map<number, Set<StoredValue>>;

/** Datapoints that may be read for each line. If the span has more, each time is looked up by itself. */
const readPerLine = 8;

export class ExistingDatapoints {
  readonly #series: Series;

  constructor(series: Series) {
    this.#series = series;
  }

  /**
   * The lines whose datapoint is stored, or occurs earlier among these lines. A line without a time is never among
   * them.
   */
  async findAmong(
    lines: readonly ImportLine[],
    caller: Caller,
    sensorOf: (line: ImportLine) => Sensor | undefined,
  ): Promise<ReadonlySet<ImportLine>> {
    const known = new Set<ImportLine>();
    const budget = new StepBudget({ asker: { caller }, series: 1 });
    for (const [sensor, group] of Map.groupBy(lines, sensorOf)) {
      if (sensor === undefined) continue;
      const times = new Set(group.map(timeOf).filter((time) => time !== undefined));
      if (times.size === 0) continue;
      const found = (await this.#readSpan(sensor, times, budget)) ?? (await this.#readEach(sensor, times, budget));
      for (const line of group) {
        const time = timeOf(line);
        const values = time === undefined ? undefined : found.get(time);
        if (values?.has(line.reading.value)) known.add(line);
        else values?.add(line.reading.value);
      }
    }
    return known;
  }

  /** The values at these times, read by one pass over their span; undefined where the span has too many datapoints. */
  async #readSpan(sensor: Sensor, times: ReadonlySet<number>, budget: StepBudget): Promise<ValuesByTime | undefined> {
    const sorted = [...times].sort((a, b) => a - b);
    const found: ValuesByTime = new Map(sorted.map((time) => [time, new Set()]));
    const span = { fromMs: sorted[0] as number, toMs: sorted.at(-1) as number };
    const countMax = times.size * readPerLine + 1_000;
    if ((await this.#series.count({ sensor: sensor.key, ...span }, countMax)) > countMax) return undefined;
    for await (const columns of this.#read(sensor, span, budget)) {
      for (let index = 0; index < columns.count; index++) {
        found.get(columns.at[index] as number)?.add(valueAt(columns, index));
      }
    }
    return found;
  }

  /** The values at these times, each looked up by itself. */
  async #readEach(sensor: Sensor, times: ReadonlySet<number>, budget: StepBudget): Promise<ValuesByTime> {
    const found: ValuesByTime = new Map();
    for (const time of times) {
      const values = new Set<StoredValue>();
      for await (const columns of this.#read(sensor, { fromMs: time, toMs: time }, budget)) {
        for (let index = 0; index < columns.count; index++) values.add(valueAt(columns, index));
      }
      found.set(time, values);
    }
    return found;
  }

  #read(sensor: Sensor, span: { readonly fromMs: number; readonly toMs: number }, budget: StepBudget) {
    const query = { ...span, descending: false, calibrated: false, valuesOnly: true };
    return readSeries(this.#series, sensor, query, budget);
  }
}

function timeOf({ reading, receivedMs }: ImportLine): number | undefined {
  return Number.isNaN(reading.timestampMs) ? receivedMs : reading.timestampMs;
}
