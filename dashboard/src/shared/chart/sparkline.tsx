// The course of some hours in the space of a word: an SVG path, no library. Gaps (null) stay gaps where they
// are longer than usual.
import classes from './sparkline.module.css';

export interface SparklineProps {
  /** Evenly spaced in time; null where there was nothing. */
  readonly values: readonly (number | null)[];
  /** What it says, for screen readers; left out, it is decoration beside a value. */
  readonly label?: string;
  readonly width?: number;
  readonly height?: number;
}

export function Sparkline({ values, label, width = 96, height = 24 }: SparklineProps) {
  const path = pathOf(values, width, height);
  return (
    <svg
      className={classes.line}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-hidden={label === undefined}
      aria-label={label}
    >
      {path !== '' && <path d={path} />}
    </svg>
  );
}

const margin = 2;

function pathOf(values: readonly (number | null)[], width: number, height: number): string {
  const numbers = values.filter((value) => value !== null);
  if (numbers.length === 0) return '';
  const low = Math.min(...numbers);
  const span = Math.max(...numbers) - low;
  const x = (index: number) => margin + (index / Math.max(1, values.length - 1)) * (width - 2 * margin);
  const y = (value: number) =>
    span === 0 ? height / 2 : height - margin - ((value - low) / span) * (height - 2 * margin);
  const apartMax = usualDistance(values) * gapDistances;
  let path = '';
  let before: number | undefined;
  for (const [index, value] of values.entries()) {
    if (value === null) continue;
    const isDown = before !== undefined && index - before <= apartMax;
    const point = `${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    // A point alone between gaps is a dot: a line of no length with round ends.
    path += isDown ? `L${point}` : `M${point}h0`;
    before = index;
  }
  return path;
}

/** Of what is heard every hour, every second half hour has a value: that is no gap. More than this many times it is. */
const gapDistances = 2.5;

/** Steps from one value to the next, in the middle of all. */
function usualDistance(values: readonly (number | null)[]): number {
  const heard = values.flatMap((value, index) => (value === null ? [] : [index]));
  const distances = heard.slice(1).map((index, at) => index - (heard[at] ?? 0));
  return distances.toSorted((a, b) => a - b)[Math.floor(distances.length / 2)] ?? 1;
}
