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
  let bytes = 0;
  let isTooMuch = false;
  for (const sensor of sensors) {
    if ((latest.get(sensor.key)?.seq ?? -1) <= last.seq) continue;
    await loopTurns.turn(caller);
    for (const point of await missedOf(series, sensor, { last, caller })) {
      const value = calibrated ? calibrate(point.value, sensor.calibration) : point.value;
      missed.push({ sensor: sensor.id, point: { ...point, value } });
      bytes += bytesOf(point);
    }
    if (missed.length <= limits.liveMissedMax && bytes <= limits.liveMissedBytesMax) continue;
    bytes = keepNewest(missed);
    isTooMuch = true;
  }
  missed.sort(compareArrival);
  const events = missed.map((one) => ({ kind: 'datapoint', ...one }) as const);
  return isTooMuch ? [{ kind: 'gap' }, ...events] : events;
}

/** Drops the oldest, so that no more is kept than is sent again; the newest stays, however long. @returns the bytes left. */
function keepNewest(missed: Missed[]): number {
  missed.sort(compareArrival);
  let bytes = 0;
  let from = missed.length;
  for (; from > 0 && missed.length - from < limits.liveMissedMax; from -= 1) {
    const more = bytesOf((missed[from - 1] as Missed).point);
    if (from < missed.length && bytes + more > limits.liveMissedBytesMax) break;
    bytes += more;
  }
  missed.splice(0, from);
  return bytes;
}

/** Estimated bytes in memory. */
function bytesOf({ value }: LivePoint): number {
  return typeof value === 'number' ? 50 : 50 + value.length * 2;
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
  let bytes = 0;
  while (missed.length <= limits.liveMissedMax && bytes <= limits.liveMissedBytesMax) {
    const { columns, next } = await series.range({ sensor: key, descending: true, limit: stepRows, after }, { caller });
    const fresh = livePointsOf(columns).filter((point) => isMissed(point, last));
    missed.push(...fresh);
    for (const point of fresh) bytes += bytesOf(point);
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
