// The course of several sensors over a span, downsampled by the server so that a chart looks the same. Read by screens
// that draw sensors of several devices together; one request for each set of devices.
import { queryOptions } from '@tanstack/react-query';
import { limits } from '../limits.ts';
import { api, call } from './client.ts';
import { escapeComma, timeOfPoint } from './devices.ts';
import { keys } from './query-keys.ts';

export interface Course {
  readonly device: string;
  readonly sensor: string;
  readonly points: readonly { readonly atMs: number; readonly value: number | null }[];
}

interface Row {
  readonly device_id: string;
  readonly sensor_id: string;
  readonly value: unknown;
  readonly timestamp?: string;
  readonly date_received: string;
}

export interface CourseQuestion {
  readonly devices: readonly string[];
  readonly sensors: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
}

/** The courses of those sensors, by device and sensor; those without a datapoint in the span are not among them. */
export function courseQuery({ devices, sensors, fromMs, toMs }: CourseQuestion) {
  return queryOptions({
    queryKey: keys.courses({ devices, sensors, fromMs, toMs }),
    enabled: devices.length > 0 && sensors.length > 0,
    staleTime: 60_000,
    queryFn: async (): Promise<readonly Course[]> => {
      const query = {
        device_id: devices.map(escapeComma).join(','),
        sensor_id: sensors.map(escapeComma).join(','),
        dateFrom: new Date(fromMs).toISOString(),
        dateTo: new Date(toMs).toISOString(),
        points: limits.coursePoints,
      };
      const params = { query: query as never };
      const rows = (await call(api.GET('/api/v2/sensors_data', { params }))) as unknown as readonly Row[];
      const bySensor = Map.groupBy(rows, (row) => JSON.stringify([row.device_id, row.sensor_id]));
      return [...bySensor.values()].map(toCourse);
    },
  });
}

function toCourse(rows: readonly Row[]): Course {
  const [{ device_id: device, sensor_id: sensor }] = rows as [Row];
  const points = rows.map((row) => ({
    atMs: timeOfPoint(row),
    value: typeof row.value === 'number' ? row.value : null,
  }));
  return { device, sensor, points: points.toSorted((a, b) => a.atMs - b.atMs) };
}
