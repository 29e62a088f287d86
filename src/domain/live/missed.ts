// The datapoints that a reader of a live stream missed while it was disconnected, read from the store. The order of
// arrival of sealed datapoints is no longer known, so a sealed one counts if it was received after the reader's last
// one. Each sensor is read backwards in steps of a hundred, until all of a step were received before. So datapoints
// with much older timestamps may be missed; a read of values finds them.
import { limits } from '../../config/limits.ts';
import type { Caller } from '../callers/caller.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import { type Columns, datapointsOf } from '../datapoints/columns.ts';
import { calibrate } from '../devices/calibration.ts';
import type { Device } from '../devices/device.ts';
import type { Sensor, SensorId } from '../devices/sensor.ts';
import type { Series, SeriesCursor } from '../ports/series.ts';
import type { LiveEvent, LivePoint, ResumePoint } from './live-event.ts';

const stepRows = 100;

interface Missed {
  readonly sensor: SensorId;
  readonly point: LivePoint;
}

/**
 * The datapoints that arrived after the reader's last one, in order of arrival. A gap comes first where there are too
 * many.
 */
export async function missedSince(
  series: Pick<Series, 'latest' | 'range'>,
  device: Device,
  { last, calibrated, caller }: { readonly last: ResumePoint; readonly calibrated: boolean; readonly caller: Caller },
): Promise<LiveEvent[]> {
  const sensors = [...device.sensors.values()];
  await loopTurns.turn(caller);
  const latest = await series.latest(sensors.map(({ key }) => key));
  const missed: Missed[] = [];
  for (const sensor of sensors) {
    if ((latest.get(sensor.key)?.seq ?? -1) <= last.seq) continue;
    await loopTurns.turn(caller);
    for (const point of await missedOf(series, sensor, { last, caller })) {
      const value = calibrated ? calibrate(point.value, sensor.calibration) : point.value;
      missed.push({ sensor: sensor.id, point: { ...point, value } });
    }
    keepNewest(missed);
  }
  missed.sort(compareArrival);
  const isTooMuch = missed.length > limits.liveMissedMax;
  const events = missed.slice(-limits.liveMissedMax).map((one) => ({ kind: 'datapoint', ...one }) as const);
  return isTooMuch ? [{ kind: 'gap' }, ...events] : events;
}

/** Keeps one more than is sent, to show that there were more. */
function keepNewest(missed: Missed[]): void {
  if (missed.length <= limits.liveMissedMax + 1) return;
  missed.sort(compareArrival);
  missed.splice(0, missed.length - limits.liveMissedMax - 1);
}

function compareArrival({ point: a }: Missed, { point: b }: Missed): number {
  if (a.seq !== undefined && b.seq !== undefined) return a.seq - b.seq;
  // Sealed datapoints arrived before those in the log.
  return Number(a.seq !== undefined) - Number(b.seq !== undefined) || a.receivedMs - b.receivedMs;
}

async function missedOf(
  series: Pick<Series, 'latest' | 'range'>,
  { key }: Sensor,
  { last, caller }: { readonly last: ResumePoint; readonly caller: Caller },
): Promise<LivePoint[]> {
  const missed: LivePoint[] = [];
  let after: SeriesCursor | undefined;
  while (missed.length <= limits.liveMissedMax) {
    const { columns, next } = await series.range({ sensor: key, descending: true, limit: stepRows, after }, { caller });
    const fresh = livePointsOf(columns).filter((point) => isMissed(point, last));
    missed.push(...fresh);
    if (fresh.length === 0 || next === undefined) break;
    after = next;
  }
  return missed;
}

function livePointsOf(columns: Columns): LivePoint[] {
  return datapointsOf(columns).map((point, index) => ({ ...point, seq: columns.seqs?.[index] || undefined }));
}

/**
 * Whether the reader missed the datapoint. A sealed one counts if it was received in a later millisecond than the
 * reader's last.
 */
function isMissed({ seq, receivedMs }: LivePoint, last: ResumePoint): boolean {
  return seq === undefined ? receivedMs > (last.receivedMs ?? Number.POSITIVE_INFINITY) : seq > last.seq;
}
