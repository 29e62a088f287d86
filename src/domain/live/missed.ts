// What a reader of a live stream missed while it was away, from the store. Each sensor is read back from its newest
// datapoint until a hundred in a row are known; what was measured long before it was pushed may lie further back, and
// is for a read of values to find.
import { limits } from '../../config/limits.ts';
import { type Datapoint, orderOf } from '../datapoints/datapoint.ts';
import type { DatapointStore, Position } from '../datapoints/datapoint-store.ts';
import { turnOfTheLoop } from '../datapoints/series.ts';
import type { Device } from '../devices/device.ts';
import { calibrate } from '../sensors/calibration.ts';
import type { Sensor, SensorId } from '../sensors/sensor.ts';
import type { LiveEvent } from './live-event.ts';

const stepRows = 100;

/** The datapoints that came after `afterSeq`, in order of arrival; a gap first where there are too many. */
export async function missedSince(
  store: DatapointStore,
  device: Device,
  { afterSeq, calibrated }: { readonly afterSeq: number; readonly calibrated: boolean },
): Promise<LiveEvent[]> {
  const sensors = [...device.sensors.values()];
  const latest = await store.latest(sensors.map(({ key }) => key));
  const missed: { readonly sensor: SensorId; readonly point: Datapoint }[] = [];
  for (const sensor of sensors) {
    if ((latest.get(sensor.key)?.seq ?? -1) <= afterSeq) continue;
    for (const point of await missedOf(store, sensor, afterSeq)) {
      const value = calibrated ? calibrate(point.value, sensor.calibration) : point.value;
      missed.push({ sensor: sensor.id, point: { ...point, value } });
    }
    keepNewest(missed);
    await turnOfTheLoop();
  }
  missed.sort((a, b) => a.point.seq - b.point.seq);
  const isTooMuch = missed.length > limits.liveMissedMax;
  const events = missed.slice(-limits.liveMissedMax).map((one) => ({ kind: 'datapoint', ...one }) as const);
  return isTooMuch ? [{ kind: 'gap' }, ...events] : events;
}

/** Keeps one more than is sent, so that it is known that there were more. */
function keepNewest(missed: { readonly point: Datapoint }[]): void {
  if (missed.length <= limits.liveMissedMax + 1) return;
  missed.sort((a, b) => a.point.seq - b.point.seq);
  missed.splice(0, missed.length - limits.liveMissedMax - 1);
}

async function missedOf(store: DatapointStore, { key }: Sensor, afterSeq: number): Promise<Datapoint[]> {
  const missed: Datapoint[] = [];
  let after: Position | undefined;
  while (missed.length <= limits.liveMissedMax) {
    const points = await store.read({ sensor: key, descending: true, limit: stepRows, after });
    const fresh = points.filter(({ seq }) => seq > afterSeq);
    missed.push(...fresh);
    const last = points.at(-1);
    if (fresh.length === 0 || last === undefined || points.length < stepRows) break;
    after = { order: orderOf(last), seq: last.seq };
  }
  return missed;
}
