// How a device is and when it was last heard, by the last values of its sensors; with their day, by their usual interval.
import type { Device, Sensor } from '../../api/client.ts';
import { dayKey, heardAt, type SensorDay } from '../../api/devices.ts';
import { type Freshness, freshest, freshnessOf } from './freshness.ts';

type Days = ReadonlyMap<string, SensorDay>;

/** @param silent the sensors that the service calls silent, by `dayKey`. */
export function deviceState(
  { id, sensors }: Device,
  nowMs: number,
  { days, silent }: { readonly days: Days; readonly silent: ReadonlySet<string> },
): Freshness {
  const states = sensors.map(({ id: sensor, last_value: last }) => {
    if (silent.has(dayKey(id, sensor))) return 'silent';
    const lastMs = last === undefined ? undefined : heardAt(last);
    return freshnessOf(lastMs, { nowMs, intervalMs: days.get(dayKey(id, sensor))?.intervalMs });
  });
  return freshest(states);
}

/** When the last value of any sensor was measured, or received where it is dated later than that. */
export function lastHeard(sensors: readonly Sensor[]): string | undefined {
  const times = sensors.flatMap(({ last_value }) => (last_value === undefined ? [] : [heardAt(last_value)]));
  return times.length === 0 ? undefined : new Date(Math.max(...times)).toISOString();
}
