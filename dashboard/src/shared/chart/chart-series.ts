// What a chart is given to draw. Times are milliseconds.

export interface ChartPoint {
  readonly atMs: number;
  /** null is a gap. */
  readonly value: number | null;
  /** Where the point stands for many: the lowest and highest of them. */
  readonly min?: number | null;
  readonly max?: number | null;
  /** What it is where it is no number, any JSON; no line can draw it. */
  readonly other?: unknown;
}

export interface ChartSeries {
  readonly id: string;
  readonly label: string;
  readonly unit?: string | undefined;
  /** Ascending by time. */
  readonly points: readonly ChartPoint[];
  /** Of the palette, 1 to 10; by default by place. */
  readonly colour?: number;
  readonly isDashed?: boolean;
  /** Bars from zero, such as sums of days. */
  readonly isBars?: boolean;
  /** Decimals that its values have at most. */
  readonly decimals?: number | undefined;
}

export interface ChartLine {
  readonly value: number;
  readonly label: string;
}

export function hasBand(points: readonly ChartPoint[]): boolean {
  return points.some(({ min }) => typeof min === 'number');
}
