// Alarms, newest first: what is wrong, since when, where, who is on it; and for who may, what one can do about it.
import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Alarm } from '../../api/alarms.ts';
import { useStrings } from '../../strings/strings.ts';
import classes from './alarm-list.module.css';
import { AlarmRow } from './alarm-row.tsx';

export interface AlarmListProps {
  readonly alarms: readonly Alarm[];
  /** How many there are, of which these are the newest. */
  readonly total: number;
  /** An entry before them. */
  readonly before?: ReactNode;
}

export function AlarmList({ alarms, total, before }: AlarmListProps) {
  const { now } = useStrings();
  return (
    <>
      <ul className={classes.list} aria-label={now.alarms}>
        {before}
        {alarms.map((alarm) => (
          <AlarmRow key={alarm.id} alarm={alarm} />
        ))}
      </ul>
      {total > alarms.length && (
        <Text c="dimmed" fz="sm" mt="md">
          {now.beyond(alarms.length)}
        </Text>
      )}
    </>
  );
}
