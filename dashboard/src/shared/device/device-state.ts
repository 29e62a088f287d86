// How a device or a sensor is: by when a datapoint of it was last received and how often that is usual, as the service says both in
// its filters, orders and alarms. What was measured long ago and sent now has been heard now.

import type { Device, Sensor } from '../../api/client.ts';
import { dayKey } from '../../api/devices.ts';
import { type Freshness, freshest, freshnessOf } from './freshness.ts';

interface When {
  readonly nowMs: number;
  /** The sensors that the service calls silent, by `dayKey`. */
  readonly silent: ReadonlySet<string>;
}

/** A device is as fresh as its freshest sensor. */
export function deviceState({ id, sensors }: Device, when: When): Freshness {
  return freshest(sensors.map((sensor) => sensorState(id, sensor, when)));
}

export function sensorState(device: string, sensor: Sensor, { nowMs, silent }: When): Freshness {
  const { id, last_value: last, usual_interval: usualS } = sensor;
  if (silent.has(dayKey(device, id))) return 'silent';
  const lastMs = last === undefined ? undefined : Date.parse(last.date_received);
  return freshnessOf(lastMs, { nowMs, intervalMs: usualS === undefined ? undefined : usualS * 1000 });
}

/** When a datapoint of any of the sensors was last received. */
export function lastHeard(sensors: readonly Sensor[]): string | undefined {
  const times = sensors.flatMap(({ last_value: last }) => (last === undefined ? [] : [Date.parse(last.date_received)]));
  return times.length === 0 ? undefined : new Date(Math.max(...times)).toISOString();
}

/** Seconds between two receptions, usually, of the sensor that is heard least often: a device is late when all of them are. */
export function slowestInterval(sensors: readonly Sensor[]): number | undefined {
  const usual = sensors.flatMap(({ usual_interval: usualS }) => usualS ?? []);
  return usual.length === 0 ? undefined : Math.max(...usual);
}
