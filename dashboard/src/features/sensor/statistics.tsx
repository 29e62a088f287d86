// What the span says in figures: last, lowest, mean, highest, how many.
import type { HistoryCount } from '../../api/history.ts';
import { type Calib, decimalsOfAll } from '../../shared/device/precision.ts';
import { Value } from '../../shared/device/value.tsx';
import { usePageLocale } from '../../strings/strings.ts';
import classes from './statistics.module.css';

export interface StatisticsProps {
  readonly counted: HistoryCount | undefined;
  readonly unit: string | undefined;
  readonly calib: Calib | undefined;
  /** Whether the sum says something, such as of rain. */
  readonly isSum: boolean;
}

export function Statistics({ counted, unit, calib, isSum }: StatisticsProps) {
  const { tag, strings } = usePageLocale();
  const { sensor, shared } = strings;
  const { count, min, mean, max, last, sum } = counted ?? { count: undefined };
  const decimals = decimalsOfAll([min, max], calib);
  const rounded = (value: number | undefined, more: number) =>
    value === undefined ? undefined : Number(value.toFixed(Math.min(decimals + more, 20)));
  const figures = [
    { label: sensor.last, value: last },
    ...(isSum ? [{ label: sensor.sum, value: rounded(sum, 0) }] : []),
    { label: sensor.min, value: min },
    { label: sensor.mean, value: rounded(mean, 1) },
    { label: sensor.max, value: max },
  ];
  return (
    <dl className={classes.figures} aria-label={sensor.statistics}>
      {figures.map(({ label, value }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value === undefined ? shared.noFigure : <Value value={value} unit={unit} calib={calib} />}</dd>
        </div>
      ))}
      <div>
        <dt>{sensor.count}</dt>
        <dd>{count === undefined ? shared.noFigure : count.toLocaleString(tag)}</dd>
      </div>
    </dl>
  );
}
