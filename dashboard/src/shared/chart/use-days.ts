// The last day of many devices, some devices a request; for sparklines, and for states by the usual interval of each
// sensor. What was not heard within a day has no course and no interval to ask for.
import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Device } from '../../api/client.ts';
import { dayQuery, type SensorDay } from '../../api/devices.ts';
import { serverNow } from '../../api/server-time.ts';
import { limits } from '../../limits.ts';
import { lastHeard } from '../device/device-state.ts';

const size = limits.dayDevicesMax;

type Answers = readonly { readonly data: ReadonlyMap<string, SensorDay> | undefined }[];

/** By `dayKey(device, sensor)`; grows as answers come. */
export function useDays(devices: readonly Device[]): ReadonlyMap<string, SensorDay> {
  const groups = useMemo(() => {
    const heard = devices.filter(({ sensors }) => isWithinDay(lastHeard(sensors)));
    return Array.from({ length: Math.ceil(heard.length / size) }, (_, index) =>
      dayQuery(heard.slice(index * size, (index + 1) * size)),
    );
  }, [devices]);
  return useQueries({ queries: groups, combine: joinDays });
}

function joinDays(answers: Answers): ReadonlyMap<string, SensorDay> {
  return new Map(answers.flatMap(({ data }) => [...(data ?? [])]));
}

function isWithinDay(at: string | undefined): boolean {
  return at !== undefined && serverNow() - Date.parse(at) < limits.silentMs;
}
