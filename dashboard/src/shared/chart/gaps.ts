// Where nothing was heard for much longer than usual, a line breaks: a point without a value is put between.
import { limits } from '../../limits.ts';
import type { ChartPoint } from './chart-series.ts';

/** Takes points that ascend by time. `stepMs` is how far apart they are at least. */
export function withGaps(points: readonly ChartPoint[], stepMs = 0): readonly ChartPoint[] {
  if (points.length < 3) return points;
  const usualMs = Math.max(stepMs, medianOf(points));
  const broken: ChartPoint[] = [];
  let beforeMs = points[0]?.atMs ?? 0;
  for (const point of points) {
    if (usualMs > 0 && point.atMs - beforeMs > usualMs * limits.gapSteps) {
      broken.push({ atMs: (point.atMs + beforeMs) / 2, value: null });
    }
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
