// How a device is and when it was last heard, by the last values of its sensors; with their day, by their usual interval.

import type { Device, Sensor } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { dayKey, heardAt, type SensorDay } from '../../api/devices.ts';
import { type Freshness, freshest, freshnessOf } from './freshness.ts';

type Days = ReadonlyMap<string, SensorDay>;

/** @param silent the sensors that the service calls silent, by `dayKey`. */
export function deviceState(
  { id, sensors }: Device,
  nowMs: number,
  { days, silent }: { readonly days: Days; readonly silent: ReadonlySet<string> },
): Freshness {
  const states = sensors.map((each) => {
    const { id: sensor } = each;
    if (silent.has(dayKey(id, sensor))) return 'silent';
    const last = currentOf(each);
    const lastMs = last === undefined ? undefined : heardAt(last);
    return freshnessOf(lastMs, { nowMs, intervalMs: days.get(dayKey(id, sensor))?.intervalMs });
  });
  return freshest(states);
}

/** When the newest value of any sensor was measured, or received where it is dated later than that. */
export function lastHeard(sensors: readonly Sensor[]): string | undefined {
  const times = sensors.map(currentOf).flatMap((last) => (last === undefined ? [] : [heardAt(last)]));
  return times.length === 0 ? undefined : new Date(Math.max(...times)).toISOString();
}
