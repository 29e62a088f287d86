// The course of a sensor over a span, as a chart needs it: every datapoint where they are few, else the mean of even
// steps with the lowest and highest of each. What counts the span (last, min, mean, max, count) is exact either way.
import { queryOptions } from '@tanstack/react-query';
import { limits } from '../limits.ts';
import { api, call, type Datapoint } from './client.ts';
import { timeOfPoint } from './devices.ts';
import { keys } from './query-keys.ts';
import { serverNow } from './server-time.ts';

export interface HistoryPoint {
  readonly atMs: number;
  /** null is no number, or nothing. */
  readonly value: number | null;
  readonly min?: number | null;
  readonly max?: number | null;
  /** What it is where it is no number, any JSON. */
  readonly other?: unknown;
}

export interface HistoryCount {
  readonly count: number;
  readonly min?: number | undefined;
  readonly mean?: number | undefined;
  readonly max?: number | undefined;
  readonly last?: unknown;
  readonly lastMs?: number | undefined;
}

export interface SensorHistory {
  readonly device: string;
  readonly sensor: string;
  readonly points: readonly HistoryPoint[];
  /** Those that are no numbers, as they are; where not every datapoint was read, those among the newest. */
  readonly others: readonly Datapoint[];
  readonly counted: HistoryCount;
  /** How long a step is; undefined where every datapoint is there. */
  readonly stepMs: number | undefined;
}

export interface HistoryQuestion {
  readonly device: string;
  readonly sensor: string;
  /** Left out: from the first datapoint. */
  readonly fromMs?: number | undefined;
  /** Left out: to the last. */
  readonly toMs?: number | undefined;
  readonly isRaw?: boolean;
}

export function historyQuery(question: HistoryQuestion) {
  return queryOptions({
    queryKey: keys.values(question.device, question.sensor, { chart: question }),
    queryFn: () => readHistory(question),
  });
}

async function readHistory(question: HistoryQuestion): Promise<SensorHistory> {
  const { device, sensor } = question;
  const fromMs = question.fromMs ?? (await findFirstMs(question));
  if (fromMs === undefined) {
    return { device, sensor, points: [], others: [], counted: { count: 0 }, stepMs: undefined };
  }
  const toMs = Math.max(question.toMs ?? serverNow(), fromMs + 1);
  const step = stepFor(toMs - fromMs);
  const rows = (await readValues(question, {
    dateFrom: new Date(fromMs).toISOString(),
    bucket: step.text,
    aggregate: 'min,max,avg,sum,count,last',
  })) as readonly AggregateRow[];
  const counted = countRows(rows);
  if (counted.count > limits.chartPointsMax) {
    const points = rows.map((row) => ({
      atMs: Date.parse(row.timestamp) + step.ms / 2,
      value: row.avg ?? null,
      min: row.min ?? null,
      max: row.max ?? null,
    }));
    const others = rows.some(hasOthers) ? await readNewestOthers(question, fromMs) : [];
    return { device, sensor, points, others, counted, stepMs: step.ms };
  }
  const all = (await readValues(question, {
    dateFrom: new Date(fromMs).toISOString(),
    limit: limits.chartPointsMax,
  })) as readonly Datapoint[];
  const points = all.map((point) => ({
    atMs: timeOfPoint(point),
    ...(typeof point.value === 'number' ? { value: point.value } : { value: null, other: point.value }),
  }));
  const last = all.at(-1);
  return {
    ...{ device, sensor, points, stepMs: undefined },
    others: all.filter(({ value }) => typeof value !== 'number'),
    counted: { ...counted, last: last?.value, lastMs: last === undefined ? undefined : timeOfPoint(last) },
  };
}

/** Whether some values of a step are no numbers: `count` is of all values, sum and mean tell how many are numbers. */
function hasOthers(row: AggregateRow): boolean {
  return row.avg === undefined || numbersOf(row) !== row.count;
}

function numbersOf({ avg = 0, sum = 0, count }: AggregateRow): number {
  return avg === 0 ? count : Math.round(sum / avg);
}

async function readNewestOthers(question: HistoryQuestion, fromMs: number): Promise<readonly Datapoint[]> {
  const asked = {
    dateFrom: new Date(fromMs).toISOString(),
    lastN: limits.chartPointsMax,
    limit: limits.chartPointsMax,
  };
  const newest = (await readValues(question, asked)) as readonly Datapoint[];
  return newest.filter(({ value }) => typeof value !== 'number').toReversed();
}

async function findFirstMs(question: HistoryQuestion): Promise<number | undefined> {
  const [first] = (await readValues(question, { limit: 1 })) as readonly Datapoint[];
  return first === undefined ? undefined : timeOfPoint(first);
}

function readValues({ device, sensor, toMs, isRaw = false }: HistoryQuestion, asked: object): Promise<unknown> {
  const query = {
    ...asked,
    ...(toMs === undefined ? {} : { dateTo: new Date(toMs).toISOString() }),
    ...(isRaw ? { calibrated: false } : {}),
  };
  const params = { path: { device, sensor }, query: query as never };
  return call(api.GET('/api/v2/devices/{device}/sensors/{sensor}/values', { params }));
}

interface AggregateRow {
  readonly timestamp: string;
  readonly min?: number;
  readonly max?: number;
  readonly avg?: number;
  readonly sum?: number;
  readonly count: number;
  readonly last?: unknown;
}

function countRows(rows: readonly AggregateRow[]): HistoryCount {
  const count = rows.reduce((sum, row) => sum + row.count, 0);
  const numbers = rows.filter(({ avg }) => avg !== undefined);
  const last = rows.at(-1);
  const around = { count, last: last?.last, lastMs: last === undefined ? undefined : Date.parse(last.timestamp) };
  if (numbers.length === 0) return around;
  const weights = numbers.map(numbersOf);
  const weight = weights.reduce((sum, one) => sum + one, 0);
  return {
    ...around,
    min: numbers.reduce((low, { min = low }) => Math.min(low, min), Number.POSITIVE_INFINITY),
    max: numbers.reduce((high, { max = high }) => Math.max(high, max), Number.NEGATIVE_INFINITY),
    mean: numbers.reduce((sum, { avg = 0 }, index) => sum + avg * (weights[index] ?? 0), 0) / Math.max(1, weight),
  };
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  ...[1, 2, 5, 10, 15, 30].map((n) => ({ text: `${n}s`, ms: n * second })),
  ...[1, 2, 5, 10, 15, 30].map((n) => ({ text: `${n}m`, ms: n * minute })),
  ...[1, 2, 3, 6, 12].map((n) => ({ text: `${n}h`, ms: n * hour })),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => ({ text: `${n}d`, ms: n * day })),
];
const longest = { text: '1000d', ms: 1_000 * day };

function stepFor(spanMs: number): { readonly text: string; readonly ms: number } {
  return steps.find(({ ms }) => spanMs / ms <= limits.chartStepsMax) ?? longest;
}

/** How many datapoints a device or a sensor has, altogether or within a span, for what goes with it. */
export async function countDatapoints(
  device: string,
  sensor?: string,
  span?: { readonly fromMs: number; readonly toMs: number },
): Promise<number> {
  const query = {
    device_id: device.replaceAll(',', '%2C'),
    ...(sensor === undefined ? {} : { sensor_id: sensor.replaceAll(',', '%2C') }),
    ...(span === undefined
      ? {}
      : { dateFrom: new Date(span.fromMs).toISOString(), dateTo: new Date(span.toMs).toISOString() }),
    bucket: '1000y',
    aggregate: 'count',
  };
  const rows = (await call(api.GET('/api/v2/sensors_data', { params: { query: query as never } }))) as unknown;
  return (rows as readonly { readonly count?: number }[]).reduce((sum, { count = 0 }) => sum + count, 0);
}
