// Reading devices, as several screens need it: one device, and the course of the last day of several.
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { limits } from '../limits.ts';
import { api, call } from './client.ts';
import { keys } from './query-keys.ts';
import { serverNow } from './server-time.ts';

const dayMs = 86_400_000;

export function deviceQuery(device: string) {
  return queryOptions({
    queryKey: keys.deviceRecord(device),
    queryFn: () => call(api.GET('/api/v2/devices/{device}', { params: { path: { device } } })),
  });
}

/** What was not heard since is silent, unless its habit is slower; rounded, so that the same question is asked for a while. */
export function daySinceHeard(): string {
  return new Date(Math.floor((serverNow() - dayMs) / 600_000) * 600_000).toISOString();
}

/** The last day of a sensor: a mean every half an hour. */
export interface SensorDay {
  readonly means: readonly (number | null)[];
}

const stepMs = dayMs / limits.sparklinePoints;

/**
 * The last day of devices, by `dayKey(device, sensor)`, in one request; as many as are asked for at once. Those that
 * another question of a moment ago has answered are not asked for again.
 */
export function dayQuery(devices: readonly string[], queries: QueryClient) {
  const ids = devices.slice(0, limits.dayDevicesMax);
  return queryOptions({
    queryKey: keys.day(ids),
    staleTime: limits.dayStaleMs,
    enabled: ids.length > 0,
    queryFn: async ({ signal }) => {
      const known = knownDays(ids, queries);
      const missing = ids.filter((id) => !known.has(id));
      const read = missing.length === 0 ? new Map<string, SensorDay>() : await readDay(missing, signal);
      return new Map([...[...known.values()].flat(), ...read]);
    },
  });
}

/** Of each device that an answer is at hand for, its days. */
function knownDays(ids: readonly string[], queries: QueryClient): Map<string, [string, SensorDay][]> {
  const known = new Map<string, [string, SensorDay][]>();
  const answered = queries.getQueryCache().findAll({ queryKey: keys.day([]) });
  for (const { queryKey, state } of answered) {
    const days = state.data as ReadonlyMap<string, SensorDay> | undefined;
    if (days === undefined || Date.now() - state.dataUpdatedAt > limits.dayStaleMs) continue;
    const of = new Set(queryKey.slice(1) as string[]);
    for (const id of ids) {
      if (of.has(id))
        known.set(
          id,
          [...days].filter(([key]) => key.startsWith(`${id}/`)),
        );
    }
  }
  return known;
}

export function dayKey(device: string, sensor: string): string {
  return `${device}/${sensor}`;
}

async function readDay(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, SensorDay>> {
  const endMs = Math.ceil(serverNow() / stepMs) * stepMs;
  const fromMs = endMs - dayMs;
  const rows = (await call(
    api.GET('/api/v2/sensors_data', {
      signal,
      params: {
        query: {
          device_id: ids.map(escapeComma).join(','),
          dateFrom: new Date(fromMs).toISOString(),
          dateTo: new Date(endMs).toISOString(),
          bucket: `${stepMs / 60_000}m`,
          aggregate: 'avg',
        } as never,
      },
    }),
  )) as unknown as readonly DayRow[];
  const bySensor = Map.groupBy(rows, (row) => dayKey(row.device_id, row.sensor_id));
  return new Map([...bySensor].map(([key, of]) => [key, toDay(of, fromMs)]));
}

interface DayRow {
  readonly device_id: string;
  readonly sensor_id: string;
  readonly timestamp: string;
  readonly avg?: number;
}

function toDay(rows: readonly DayRow[], fromMs: number): SensorDay {
  const means: (number | null)[] = Array.from({ length: limits.sparklinePoints }, () => null);
  for (const row of rows) {
    const step = Math.floor((Date.parse(row.timestamp) - fromMs) / stepMs);
    if (step in means) means[step] = row.avg ?? null;
  }
  return { means };
}

/** A comma within an id of a list is written as the server asks for it. */
export function escapeComma(id: string): string {
  return id.replaceAll('%2C', '%252C').replaceAll(',', '%2C');
}

/** When a datapoint was measured: not later than it was received, whatever its date says. */
export function measuredAt(point: { readonly timestamp?: string; readonly date_received: string }): number {
  return Math.min(timeOfPoint(point), Date.parse(point.date_received));
}

/** When a datapoint counts: where it has no time of its own, when it was received. */
export function timeOfPoint(point: { readonly timestamp?: string; readonly date_received: string }): number {
  return Date.parse(point.timestamp ?? point.date_received);
}
