// The last day of the devices in view, for sparklines: one request for all of which it is not known yet, once scrolling rests.
// What was not heard within a day has no course to ask for.
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

function isWithinDay({ heard }: HeardDevice): boolean {
  return heard !== undefined && serverNow() - Date.parse(heard) < limits.silentMs;
}
