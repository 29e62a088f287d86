// What the span says in figures: last, lowest, mean, highest, how many.
import type { HistoryCount } from '../../api/history.ts';
import { Value } from '../../shared/device/value.tsx';
import { useLocale } from '../../strings/strings.ts';
import classes from './statistics.module.css';

export interface StatisticsProps {
  readonly counted: HistoryCount | undefined;
  readonly unit: string | undefined;
}

export function Statistics({ counted, unit }: StatisticsProps) {
  const { tag, strings } = useLocale();
  const { sensor, shared } = strings;
  const { count, min, mean, max, last } = counted ?? { count: undefined };
  const figures = [
    { label: sensor.last, value: last },
    { label: sensor.min, value: min },
    { label: sensor.mean, value: mean === undefined ? undefined : Number(mean.toPrecision(4)) },
    { label: sensor.max, value: max },
  ];
  return (
    <dl className={classes.figures} aria-label={sensor.statistics}>
      {figures.map(({ label, value }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value === undefined ? shared.noFigure : <Value value={value} unit={unit} />}</dd>
        </div>
      ))}
      <div>
        <dt>{sensor.count}</dt>
        <dd>{count === undefined ? shared.noFigure : count.toLocaleString(tag)}</dd>
      </div>
    </dl>
  );
}
