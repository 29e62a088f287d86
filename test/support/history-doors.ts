// All ways to read the history of one sensor from an engine, each as one value that can be compared: what is at one of them must be at all.
import { Caller } from '../../src/domain/callers/caller.ts';
import { datapointsOf } from '../../src/domain/datapoints/columns.ts';
import type { Datapoint } from '../../src/domain/datapoints/datapoint.ts';
import { type Aggregate, closeBucket, type OpenBucket } from '../../src/domain/datapoints/history/aggregate.ts';
import type { OpenDownsampling, Series, SeriesCursor } from '../../src/domain/ports/series.ts';

const asker = { caller: new Caller('reader') };
/** Steps with a limit beyond 500 are made in the reader thread. */
const inThread = 600;

type Door = (series: Series, sensor: number) => Promise<unknown>;

async function steps<Step extends { readonly next: SeriesCursor | undefined }>(
  ask: (after: SeriesCursor | undefined) => Promise<Step>,
  take: (step: Step) => void,
): Promise<void> {
  let after: SeriesCursor | undefined;
  do {
    const step = await ask(after);
    take(step);
    after = step.next;
  } while (after !== undefined);
}

function rangeBy(limit: number, { descending = false }: { readonly descending?: boolean } = {}): Door {
  return async (series, sensor) => {
    const found: Datapoint[] = [];
    await steps(
      (after) => series.range({ sensor, descending, limit, after }, asker),
      ({ columns }) => void found.push(...datapointsOf(columns)),
    );
    return descending ? found.reverse() : found;
  };
}

function textBy(limit: number): Door {
  return async (series, sensor) => {
    let text = '';
    const query = { sensor, descending: false, limit, encoding: 'ndjson', skip: 0, rowsMax: 1_000_000 } as const;
    await steps(
      (after) => series.text({ ...query, after }, asker),
      (step) => {
        text += Buffer.from(step.text).subarray(1, -1).toString();
        series.release(step.text);
      },
    );
    return text.split('\n').filter((line) => line !== '');
  };
}

/** The datapoints of a sensor, by time. */
export const readHistory = rangeBy(10_000) as (series: Series, sensor: number) => Promise<Datapoint[]>;

/** By name. */
export const historyDoors = {
  'short steps': rangeBy(400),
  'long steps': rangeBy(inThread),
  'steps back': rangeBy(450, { descending: true }),
  'long steps back': rangeBy(inThread, { descending: true }),
  'the last one': async (series: Series, sensor: number) =>
    datapointsOf((await series.range({ sensor, descending: true, limit: 1 }, asker)).columns),
  'a part of it': async (series: Series, sensor: number) =>
    datapointsOf((await series.range({ sensor, descending: false, limit: 100, fromMs: 50, toMs: 99 }, asker)).columns),
  text: textBy(400),
  'long text': textBy(inThread),
  buckets: async (series: Series, sensor: number) => {
    const rows: Aggregate[] = [];
    let open: OpenBucket | undefined;
    const buckets = { size: { unit: 's', count: 1 }, timezone: 'UTC' } as const;
    await steps(
      (after) => series.aggregate({ sensor, descending: false, limit: inThread, buckets, after, open }, asker),
      (step) => {
        rows.push(...step.rows);
        open = step.open;
      },
    );
    return open === undefined ? rows : [...rows, closeBucket(open)];
  },
  chart: async (series: Series, sensor: number) => {
    const found: Datapoint[] = [];
    let open: OpenDownsampling | undefined;
    await steps(
      (after) => series.downsample({ sensor, descending: false, limit: inThread, points: 40, after, open }, asker),
      (step) => {
        found.push(...datapointsOf(step.columns));
        open = step.open;
      },
    );
    return found;
  },
  count: (series: Series, sensor: number) => series.count({ sensor }, 1_000_000),
} satisfies Record<string, Door>;
