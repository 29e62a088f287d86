// What the dashboard is looked at with: 100 000 devices with a sensor each, all heard, one of them every minute for a year
// up to now. By the server's own doors.
import { untilSealed } from '../data-folder.ts';
import type { Fleet } from '../fleet.ts';
import { minuteMs, minutesMax, spansOf, Year } from '../load/year.ts';

export const devices = 100_000;
/** The device whose sensor has the year. */
export const yearDevice = devices / 2;
export const sensor = 'temperature';
/** Of the year; the last day counts up to now. */
export const yearDatapoints = minutesMax;

const dayMs = 86_400_000;
/** Datapoints of one request. */
const valuesAtOnce = 10_000;

export async function fillDashboard(fleet: Fleet): Promise<void> {
  await fleet.make(devices, (n) => ({
    id: `device-${n}`,
    name: `Device ${n}`,
    domain: `domain-${n % 20}`,
    gateway_id: `gateway-${n % 1000}`,
    visibility: n % 2 === 0 ? 'public' : 'private',
    location: { latitude: (n % 180) - 90, longitude: (n % 360) - 180 },
    sensors: [{ id: sensor, unit: '°C' }],
  }));
  console.error('dashboard: devices made');
  const headers = { authorization: `Bearer ${await fleet.key()}`, 'content-type': 'application/json' };
  for (let first = 1; first <= devices; first += valuesAtOnce) {
    const body = JSON.stringify(Array.from({ length: valuesAtOnce }, (_, n) => readingOf(first + n)));
    await fleet.send('POST', 'datapoints', { headers, body });
  }
  // A preset of a year reaches back some hours more, so that it is the same for a while.
  const startMs = (Math.floor(Date.now() / dayMs) - 366) * dayMs;
  const year = new Year(startMs);
  for (const span of spansOf(Math.floor((Date.now() - startMs) / minuteMs))) {
    const path = `devices/device-${yearDevice}/sensors/${sensor}/values`;
    await fleet.send('POST', path, { headers, body: year.body(0, span) as never });
  }
  console.error('dashboard: datapoints pushed');
  await untilSealed(fleet.server);
}

function readingOf(device: number): object {
  const timestamp = new Date(Date.now() - (device % 1_440) * minuteMs).toISOString();
  return { device_id: `device-${device}`, sensor_id: sensor, timestamp, value: (device % 400) / 10 };
}
