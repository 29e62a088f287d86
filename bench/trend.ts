// Whether a series of measurements rises: the least-squares line through it, with a confidence interval of its slope. Used
// by sections/soak.ts.

/** A straight line through measurements at equal distances. */
export interface Trend {
  readonly mean: number;
  /** Change from one measurement to the next. */
  readonly slope: number;
  /** Half the width of the 95 % confidence interval of the slope. */
  readonly slopeError: number;
  /** Standard deviation of the measurements about the line. */
  readonly scatter: number;
  readonly count: number;
}

/**
 * Fits the line. Measurements that follow one another are alike (a slow minute comes with another one), so they say less than
 * as many independent ones: the standard error is widened by √((1 + r) / (1 − r)), where r is the correlation of a residual
 * with the next one, where that is positive.
 * @throws Error when there are fewer than four measurements.
 */
export function fitTrend(series: readonly number[]): Trend {
  const count = series.length;
  if (count < 4) throw new Error(`A trend needs four measurements or more, not ${count}.`);
  const middle = (count - 1) / 2;
  const mean = sum(series) / count;
  const spread = sum(series.map((_, i) => (i - middle) ** 2));
  const slope = sum(series.map((value, i) => (i - middle) * (value - mean))) / spread;
  const residuals = series.map((value, i) => value - mean - slope * (i - middle));
  const squares = sum(residuals.map((residual) => residual ** 2));
  const scatter = Math.sqrt(squares / (count - 2));
  const alike =
    squares === 0 ? 0 : sum(residuals.slice(1).map((residual, i) => residual * (residuals[i] ?? 0))) / squares;
  const r = Math.min(0.95, Math.max(0, alike));
  const error = (scatter / Math.sqrt(spread)) * Math.sqrt((1 + r) / (1 - r));
  return { mean, slope, slopeError: studentT95(count - 2) * error, scatter, count };
}

/** A rise is seen where the interval of the slope lies above zero, and the whole rise is larger than the scatter. */
export function isRising({ slope, slopeError, scatter, count }: Trend): boolean {
  return slope > slopeError && slope * (count - 1) > scatter;
}

/** The two-sided 95 % quantile of Student's t, by the expansion of Cornish and Fisher: right to 1 % from two degrees on. */
function studentT95(degrees: number): number {
  const z = 1.959964;
  const terms = [
    z,
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92_160,
  ];
  return sum(terms.map((term, power) => term / degrees ** power));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
