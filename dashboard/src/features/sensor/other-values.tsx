// Values that are no numbers, such as texts and positions: no line can draw them, so they are listed, newest first.
import { Text } from '@mantine/core';
import type { Datapoint } from '../../api/client.ts';
import { timeOfPoint } from '../../api/devices.ts';
import { limits } from '../../limits.ts';
import { Age } from '../../shared/device/age.tsx';
import { formatValue } from '../../shared/device/value.tsx';
import { usePageLocale } from '../../strings/strings.ts';
import classes from './other-values.module.css';

export interface OtherValuesProps {
  readonly points: readonly Datapoint[];
  readonly hasNumbers: boolean;
}

export function OtherValues({ points, hasNumbers }: OtherValuesProps) {
  const { tag, strings } = usePageLocale();
  const shown = points.slice(-limits.otherValuesMax).toReversed();
  return (
    <section className={classes.values}>
      {!hasNumbers && (
        <Text fz="sm" c="dimmed" mb={8}>
          {strings.sensor.noNumbers}
        </Text>
      )}
      <ul>
        {shown.map((point, index) => (
          // Datapoints have no id; two may be alike in everything.
          // biome-ignore lint/suspicious/noArrayIndexKey: the list is drawn whole.
          <li key={index}>
            <Age at={new Date(timeOfPoint(point)).toISOString()} quiet />
            <span>{formatValue(point.value, tag)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
