// Deleting and correcting stored datapoints of a sensor. Whoever shows them reads anew afterwards: `afterEdit`.
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { limits } from '../limits.ts';
import { api, call, type Datapoint } from './client.ts';
import { timeOfPoint } from './devices.ts';
import { countDatapoints } from './history.ts';
import { keys } from './query-keys.ts';

export interface SensorPlace {
  readonly device: string;
  readonly sensor: string;
}

/** Both ends belong to it; milliseconds since 1970 UTC. */
export interface EditedSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One datapoint, as a list of its span has it. */
export interface PointChoice {
  readonly point: Datapoint;
  /** How many of the list have its time and value. */
  readonly alike: number;
  /** Whether no other of the list has its time. */
  readonly isAlone: boolean;
}

/** Stored values as they were sent, the earliest first, and how many there are. */
export function editableQuery(place: SensorPlace, span: EditedSpan) {
  return queryOptions({
    queryKey: keys.values(place.device, place.sensor, { edit: span }),
    staleTime: 0,
    queryFn: async () => {
      const [count, points] = await Promise.all([
        countDatapoints(place.device, place.sensor, span),
        readRaw(place, span),
      ]);
      return { count, points };
    },
  });
}

async function readRaw({ device, sensor }: SensorPlace, span: EditedSpan): Promise<readonly Datapoint[]> {
  const query = { ...boundsOf(span), limit: limits.editedRowsMax, calibrated: false };
  const params = { path: { device, sensor }, query: query as never };
  const rows = await call(api.GET('/api/v2/devices/{device}/sensors/{sensor}/values', { params }));
  return rows as unknown as readonly Datapoint[];
}

function boundsOf({ fromMs, toMs }: EditedSpan) {
  return { dateFrom: new Date(fromMs).toISOString(), dateTo: new Date(toMs).toISOString() };
}

/** Deletes what lies in a span. @returns how many were deleted. @throws ApiProblem */
export async function removeSpan({ device, sensor }: SensorPlace, span: EditedSpan, reason: string): Promise<number> {
  const params = { path: { device, sensor }, query: { ...boundsOf(span), reason } };
  return (await call(api.DELETE('/api/v2/devices/{device}/sensors/{sensor}/values', { params }))).removed;
}

/**
 * Deletes the datapoints of one moment; where others share it, those of this value alone.
 * @returns how many were deleted. @throws ApiProblem
 */
export async function removePoint(
  { device, sensor }: SensorPlace,
  { point, isAlone }: PointChoice,
  reason: string,
): Promise<number> {
  const value = isAlone ? {} : { value: JSON.stringify(point.value) };
  const query = { timestamp: new Date(timeOfPoint(point)).toISOString(), ...value, reason };
  const params = { path: { device, sensor }, query };
  return (await call(api.DELETE('/api/v2/devices/{device}/sensors/{sensor}/values', { params }))).removed;
}

/** Gives a datapoint another value. @throws ApiProblem */
export async function correctPoint(
  { device, sensor }: SensorPlace,
  point: Datapoint,
  { value, reason }: { readonly value: unknown; readonly reason: string },
): Promise<void> {
  const timestamp = new Date(timeOfPoint(point)).toISOString();
  const params = { path: { device, sensor, timestamp }, query: { received: point.date_received, reason } };
  const body = { value } as never;
  await call(api.PUT('/api/v2/devices/{device}/sensors/{sensor}/values/{timestamp}', { params, body }));
}

/** Charts, last values and sparklines follow at once. */
export async function afterEdit(queries: QueryClient, { device }: SensorPlace): Promise<void> {
  await Promise.all(
    [keys.device(device), keys.devices, ['day'], ['courses']].map((queryKey) =>
      queries.invalidateQueries({ queryKey }),
    ),
  );
}
