// The first of the chosen values as a table, as they were sent, each with what can be done with it.
import { ActionIcon, Group, Text } from '@mantine/core';
import type { Datapoint, Sensor } from '../../../api/client.ts';
import type { PointChoice } from '../../../api/datapoint-edits.ts';
import { timeOfPoint } from '../../../api/devices.ts';
import { absoluteTime } from '../../../shared/device/age.tsx';
import { formatValue } from '../../../shared/device/value.tsx';
import { Icon } from '../../../shared/page/icon.tsx';
import { usePageLocale } from '../../../strings/strings.ts';
import classes from './edit.module.css';

export interface ValuesTableProps {
  readonly sensor: Sensor;
  readonly points: readonly Datapoint[];
  /** How many there are, of which `points` are the first. */
  readonly count: number;
  readonly onAct: (kind: 'remove' | 'correct', choice: PointChoice) => void;
}

export function ValuesTable({ sensor, points, count, onAct }: ValuesTableProps) {
  const { tag, strings } = usePageLocale();
  const { datapoints: words } = strings;
  return (
    <>
      {count > points.length && (
        <Text fz="sm" c="dimmed" mb={4}>
          {words.first(points.length)}
        </Text>
      )}
      {sensor.calib?.linear?.enabled === true && (
        <Text fz="sm" c="dimmed" mb={4}>
          {words.raw}
        </Text>
      )}
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">{words.time}</th>
              <th scope="col">{words.value}</th>
              <th scope="col">
                <span className={classes.hidden}>{words.acts}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {points.map((point, index) => {
              const value = `${formatValue(point.value, tag)} ${sensor.unit ?? ''}`.trim();
              const time = absoluteTime(timeOfPoint(point), tag, strings);
              const choice = choiceOf(point, points);
              return (
                // Datapoints have no id; two may be alike in everything.
                // biome-ignore lint/suspicious/noArrayIndexKey: the table is drawn whole.
                <tr key={index}>
                  <td title={time}>{shortTime(timeOfPoint(point), tag)}</td>
                  <td className={classes.value} title={value}>
                    {value}
                  </td>
                  <td>
                    <Group gap={4} justify="flex-end" wrap="nowrap">
                      <ActionIcon
                        size={36}
                        variant="subtle"
                        aria-label={words.correctOne(value, time)}
                        title={words.correct}
                        onClick={() => onAct('correct', choice)}
                      >
                        <Icon name="edit" size={16} />
                      </ActionIcon>
                      <ActionIcon
                        size={36}
                        variant="subtle"
                        color="red"
                        aria-label={words.removeOne(value, time)}
                        title={words.remove}
                        onClick={() => onAct('remove', choice)}
                      >
                        <Icon name="trash" size={16} />
                      </ActionIcon>
                    </Group>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}

function choiceOf(point: Datapoint, points: readonly Datapoint[]): PointChoice {
  const sharing = points.filter((other) => timeOfPoint(other) === timeOfPoint(point));
  const alike = sharing.filter(({ value }) => JSON.stringify(value) === JSON.stringify(point.value)).length;
  return { point, alike, isAlone: sharing.length === 1 };
}

/** Local, to the second; with milliseconds where there are some. */
function shortTime(ms: number, tag: string): string {
  const digits = ms % 1000 === 0 ? {} : ({ fractionalSecondDigits: 3 } as const);
  return new Date(ms).toLocaleString(tag, {
    ...{ year: 'numeric', month: 'short', day: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', ...digits },
  });
}
