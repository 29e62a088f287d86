// The course of a sensor over a span, as a chart needs it: every datapoint where they are few, else the mean of even
// steps with the lowest and highest of each; or the sum of each step. What counts the span (last, min, mean, max, sum,
// count) is exact either way.
import { queryOptions } from '@tanstack/react-query';
import { limits } from '../limits.ts';
import { api, call, type Datapoint } from './client.ts';
import { timeOfPoint } from './devices.ts';
import { endOfStep, type HistoryStep, ownTimeZone, startOfStep, stepForMeans, stepForSums } from './history-steps.ts';
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
  readonly sum?: number | undefined;
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
  /** How far apart the datapoints of the sensor usually are; undefined where that is not known. */
  readonly usualMs: number | undefined;
  /** Whether the points are sums of their steps. */
  readonly isSum: boolean;
}

export interface HistoryQuestion {
  readonly device: string;
  readonly sensor: string;
  /** Left out: from the first datapoint. */
  readonly fromMs?: number | undefined;
  /** Left out: to the last. */
  readonly toMs?: number | undefined;
  readonly isRaw?: boolean;
  /** Sums of hours, days or months, for what is added up, such as rain. */
  readonly isSum?: boolean;
}

export function historyQuery(question: HistoryQuestion) {
  return queryOptions({
    queryKey: keys.values(question.device, question.sensor, { chart: question }),
    queryFn: () => readHistory(question),
  });
}

async function readHistory(question: HistoryQuestion): Promise<SensorHistory> {
  const { device, sensor, isSum = false } = question;
  const none = { device, sensor, points: [], others: [], isSum };
  const firstMs = question.fromMs ?? (await findFirstMs(question));
  if (firstMs === undefined) return { ...none, counted: { count: 0 }, stepMs: undefined, usualMs: undefined };
  const lastMs = Math.max(question.toMs ?? serverNow(), firstMs + 1);
  const step = isSum ? stepForSums(lastMs - firstMs) : stepForMeans(lastMs - firstMs);
  // Sums are of whole steps, or the first and the last one would be of a part of a day.
  const span = isSum
    ? { fromMs: startOfStep(firstMs, step), toMs: endOfStep(lastMs, step) }
    : { fromMs: firstMs, toMs: question.toMs };
  const rows = (await readValues(question, span, {
    bucket: step.text,
    timezone: ownTimeZone(),
    aggregate: 'min,max,avg,sum,count,last',
  })) as readonly AggregateRow[];
  const counted = countRows(rows);
  if (isSum) {
    const points = rows.map((row) => ({ atMs: middleOf(row, step), value: row.sum ?? null }));
    const last = await findLast(question, span);
    return { ...none, points, counted: { ...counted, ...last }, stepMs: step.ms, usualMs: undefined };
  }
  if (isTooMany(counted.count, rows, lastMs - firstMs)) {
    const points = rows.map((row) => ({
      // The first and the last step reach beyond the span: what lies outside of it is neither drawn nor has the axis room for it.
      atMs: Math.min(Math.max(middleOf(row, step), firstMs), lastMs),
      value: row.avg ?? null,
      min: row.min ?? null,
      max: row.max ?? null,
    }));
    const others = rows.some(hasOthers) ? await readNewestOthers(question, span) : [];
    return { ...none, points, others, counted, stepMs: step.ms, usualMs: usualOfSteps(rows, step) };
  }
  const all = (await readValues(question, span, { limit: limits.chartPointsMax })) as readonly Datapoint[];
  const points = all.map((point) => ({
    atMs: timeOfPoint(point),
    ...(typeof point.value === 'number' ? { value: point.value } : { value: null, other: point.value }),
  }));
  const last = all.at(-1);
  return {
    ...{ device, sensor, points, isSum, stepMs: undefined },
    usualMs: await findUsual(question, points),
    others: all.filter(({ value }) => typeof value !== 'number'),
    counted: { ...counted, last: last?.value, lastMs: last === undefined ? undefined : timeOfPoint(last) },
  };
}

interface QuestionSpan {
  readonly fromMs: number;
  readonly toMs: number | undefined;
}

/** More than can be drawn one by one; of a long span, more than some a day, so that a year shows its days. */
function isTooMany(count: number, rows: readonly AggregateRow[], spanMs: number): boolean {
  return count > limits.chartPointsMax || (spanMs >= limits.dayMeansMs && count > rows.length * limits.dayPointsMax);
}

function middleOf({ timestamp }: AggregateRow, { ms }: HistoryStep): number {
  return Date.parse(timestamp) + ms / 2;
}

/** Most steps have so many datapoints; where they have one or none, it is told from how far apart the steps are. */
function usualOfSteps(rows: readonly AggregateRow[], { ms }: HistoryStep): number {
  const count = medianOf(rows.map((row) => row.count)) ?? 1;
  if (count > 1) return ms / count;
  return Math.max(ms, medianOf(distancesOf(rows.map(({ timestamp }) => Date.parse(timestamp)))) ?? ms);
}

/** Few datapoints say little of what is usual: then the last ones before the end of the span are asked. */
async function findUsual(
  question: HistoryQuestion,
  points: readonly { readonly atMs: number }[],
): Promise<number | undefined> {
  let times = points.map(({ atMs }) => atMs);
  if (times.length < limits.usualPoints && times.length > 1) {
    const asked = { lastN: limits.usualPoints, limit: limits.usualPoints };
    const before = (await readValues(question, { toMs: question.toMs }, asked)) as readonly Datapoint[];
    times = before.map(timeOfPoint).toSorted((a, b) => a - b);
  }
  return medianOf(distancesOf(times));
}

function distancesOf(times: readonly number[]): readonly number[] {
  return times.slice(1).map((atMs, index) => atMs - (times[index] ?? atMs));
}

function medianOf(numbers: readonly number[]): number | undefined {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

async function findLast(
  question: HistoryQuestion,
  span: QuestionSpan,
): Promise<{ readonly last?: unknown; readonly lastMs?: number }> {
  const [last] = (await readValues(question, span, { lastN: 1, limit: 1 })) as readonly Datapoint[];
  return last === undefined ? {} : { last: last.value, lastMs: timeOfPoint(last) };
}

/** Whether some values of a step are no numbers: `count` is of all values, sum and mean tell how many are numbers. */
function hasOthers(row: AggregateRow): boolean {
  return row.avg === undefined || numbersOf(row) !== row.count;
}

function numbersOf({ avg = 0, sum = 0, count }: AggregateRow): number {
  return avg === 0 ? count : Math.round(sum / avg);
}

async function readNewestOthers(question: HistoryQuestion, span: QuestionSpan): Promise<readonly Datapoint[]> {
  const asked = { lastN: limits.chartPointsMax, limit: limits.chartPointsMax };
  const newest = (await readValues(question, span, asked)) as readonly Datapoint[];
  return newest.filter(({ value }) => typeof value !== 'number').toReversed();
}

async function findFirstMs(question: HistoryQuestion): Promise<number | undefined> {
  const [first] = (await readValues(question, { toMs: question.toMs }, { limit: 1 })) as readonly Datapoint[];
  return first === undefined ? undefined : timeOfPoint(first);
}

function readValues(
  { device, sensor, isRaw = false }: HistoryQuestion,
  { fromMs, toMs }: Partial<QuestionSpan>,
  asked: object,
): Promise<unknown> {
  const query = {
    ...asked,
    ...(fromMs === undefined ? {} : { dateFrom: new Date(fromMs).toISOString() }),
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
    sum: numbers.reduce((sum, row) => sum + (row.sum ?? 0), 0),
    mean: numbers.reduce((sum, { avg = 0 }, index) => sum + avg * (weights[index] ?? 0), 0) / Math.max(1, weight),
  };
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
