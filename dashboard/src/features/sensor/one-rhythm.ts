// Lines whose times differ by seconds, put on common times, so that a table of them has one row a time and not one for each
// datapoint with holes beside it. Called by download.ts.
import type { ChartPoint } from '../../shared/chart/chart-series.ts';

interface Line {
  readonly points: readonly ChartPoint[];
  readonly stepMs?: number | undefined;
}

const minuteMs = 60_000;
/** Steps that people read well: minutes, hours, days. */
const stepsMs = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440].map((minutes) => minutes * minuteMs);

/** As they are where most of their times are the same; else the means of steps in which each line usually has a value. */
export function inOneRhythm<T extends Line>(lines: readonly T[]): readonly T[] {
  const drawn = lines.filter(({ points }) => points.some(({ value }) => value !== null));
  if (drawn.length < 2 || haveSameTimes(drawn)) return lines;
  const usualMs = Math.max(...drawn.map(({ points }) => usualDistance(points)));
  const stepMs = stepsMs.find((ms) => ms >= usualMs * 0.99) ?? Math.ceil(usualMs / stepsMs.at(-1)!) * stepsMs.at(-1)!;
  return lines.map((line) => ({ ...line, stepMs, points: meansOf(line.points, stepMs) }));
}

function haveSameTimes(lines: readonly Line[]): boolean {
  const times = lines.map(({ points }) => new Set(valued(points).map(({ atMs }) => atMs)));
  const most = times.reduce((largest, one) => (one.size > largest.size ? one : largest));
  return times.every((one) => [...one].filter((atMs) => most.has(atMs)).length >= one.size / 2);
}

function valued(points: readonly ChartPoint[]): readonly ChartPoint[] {
  return points.filter(({ value }) => value !== null);
}

function usualDistance(points: readonly ChartPoint[]): number {
  const times = valued(points).map(({ atMs }) => atMs);
  const distances = times.slice(1).map((atMs, index) => atMs - (times[index] ?? atMs));
  return distances.toSorted((a, b) => a - b)[Math.floor(distances.length / 2)] ?? 0;
}

function meansOf(points: readonly ChartPoint[], stepMs: number): readonly ChartPoint[] {
  const steps = Map.groupBy(valued(points), ({ atMs }) => Math.floor(atMs / stepMs) * stepMs);
  return [...steps].map(([atMs, of]) => {
    const mean = of.reduce((sum, { value }) => sum + (value ?? 0), 0) / of.length;
    const edges = of.flatMap(({ min, max }) => (min == null || max == null ? [] : [{ min, max }]));
    return {
      atMs,
      value: Number(mean.toPrecision(10)),
      ...(edges.length === 0
        ? {}
        : { min: Math.min(...edges.map(({ min }) => min)), max: Math.max(...edges.map(({ max }) => max)) }),
    };
  });
}
