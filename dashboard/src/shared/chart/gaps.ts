// Where nothing was heard for much longer than usual, a line breaks: a point without a value is put between.
import { limits } from '../../limits.ts';
import type { ChartPoint } from './chart-series.ts';

export interface Distances {
  /** How long a step is where each point stands for one. */
  readonly stepMs?: number | undefined;
  /** How far apart datapoints usually are, whatever is in view; undefined: told from the points. */
  readonly usualMs?: number | undefined;
}

/** Takes points that ascend by time. */
export function withGaps(
  points: readonly ChartPoint[],
  { stepMs = 0, usualMs }: Distances = {},
): readonly ChartPoint[] {
  if (points.length < 2) return points;
  const longestMs = Math.max(usualMs ?? Math.max(stepMs, medianOf(points)), 1) * limits.gapSteps;
  const broken: ChartPoint[] = [];
  let beforeMs = points[0]?.atMs ?? 0;
  for (const point of points) {
    const distanceMs = point.atMs - beforeMs;
    // Neighbouring steps have no gap between them, also where a day has 25 hours.
    const isGap = distanceMs - stepMs > longestMs && distanceMs > stepMs * 1.5;
    if (isGap) broken.push({ atMs: (point.atMs + beforeMs) / 2, value: null });
    broken.push(point);
    beforeMs = point.atMs;
  }
  return broken;
}

function medianOf(points: readonly ChartPoint[]): number {
  const distances = points.slice(1).map(({ atMs }, index) => atMs - (points[index]?.atMs ?? atMs));
  distances.sort((a, b) => a - b);
  return distances[Math.floor(distances.length / 2)] ?? 0;
}
