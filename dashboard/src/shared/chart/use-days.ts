// The last day of the devices in view, for sparklines, and for states by the usual interval of each sensor: one request for
// all of which it is not known yet, once scrolling rests. What was not heard within a day has no course and no interval to
// ask for.
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { dayQuery, type SensorDay } from '../../api/devices.ts';
import { serverNow } from '../../api/server-time.ts';
import { limits } from '../../limits.ts';

export interface HeardDevice {
  readonly id: string;
  /** When one of its sensors was last heard. */
  readonly heard?: string | undefined;
}

type Days = ReadonlyMap<string, SensorDay>;

/** By `dayKey(device, sensor)`; what is known of before stays until the next answer. */
export function useDays(devices: readonly HeardDevice[]): Days {
  const ids = useMemo(() => devices.filter(isWithinDay).map(({ id }) => id), [devices]);
  const said = JSON.stringify(ids);
  const [settled] = useDebouncedValue(said, limits.scrollPauseMs);
  const queries = useQueryClient();
  const query = dayQuery(JSON.parse(settled) as string[], queries);
  return useQuery({ ...query, placeholderData: keepPreviousData }).data ?? none;
}

const none: Days = new Map();

/** The longest of its sensors: a device is late when all of them are. */
export function intervalOf(device: string, days: Days): number | undefined {
  const prefix = `${device}/`;
  const intervals = [...days].flatMap(([key, { intervalMs }]) =>
    key.startsWith(prefix) && intervalMs !== undefined ? [intervalMs] : [],
  );
  return intervals.length === 0 ? undefined : Math.max(...intervals);
}

function isWithinDay({ heard }: HeardDevice): boolean {
  return heard !== undefined && serverNow() - Date.parse(heard) < limits.silentMs;
}
