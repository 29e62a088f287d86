// Finds the stored datapoints of a device that lie in the future: those later than the wall clock of the service by more
// than clocks usually differ. They are found each time, so that they are right after a deletion and as time passes.
import type { ClockWatch } from '../../../base/time/clock-watch.ts';
import { limits } from '../../../config/limits.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { SensorId } from '../../devices/sensor.ts';
import type { Actor } from '../../users/user.ts';
import { orderOf } from '../datapoint.ts';
import type { BucketRequest } from './buckets.ts';
import type { History, Selection } from './history.ts';

/** The datapoints of one sensor that lie in the future. Times are milliseconds since 1970 UTC. */
export interface SensorFuture {
  readonly sensor: SensorId;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface DeviceFuture {
  /** What the wall clock of the service shows. */
  readonly nowMs: number;
  /** Datapoints later than this lie in the future. */
  readonly afterMs: number;
  /** The wall clock is in doubt (decision 30): nobody can say what lies in the future, and `sensors` is empty. */
  readonly isClockInDoubt: boolean;
  readonly sensors: readonly SensorFuture[];
}

const all = { descending: false, calibrated: false, limit: undefined, offset: 0 } as const;
const wholeTime: BucketRequest = { size: { unit: 'y', count: 1000 }, timezone: 'UTC' };

export class FutureDatapoints {
  readonly #history: History;
  readonly #clocks: Pick<ClockWatch, 'now' | 'look' | 'isInDoubt'>;

  constructor(parts: { readonly history: History; readonly clocks: Pick<ClockWatch, 'now' | 'look' | 'isInDoubt'> }) {
    this.#history = parts.history;
    this.#clocks = parts.clocks;
  }

  /**
   * What lies in the future, of all sensors of a device or of some; sensors without such datapoints are left out.
   * @throws Refusal `not-found`, `forbidden`, `malformed` where too many sensors are asked for.
   */
  async find(actor: Actor, device: DeviceId, sensors: readonly SensorId[] | undefined): Promise<DeviceFuture> {
    this.#clocks.look();
    const nowMs = this.#clocks.now();
    const afterMs = nowMs + limits.futureMsMin;
    const isClockInDoubt = this.#clocks.isInDoubt;
    const range = { ...all, fromMs: afterMs + 1 };
    const selection: Selection = { devices: [device], sensors };
    // Asks for permission, whatever the clock says.
    const counted = await this.#history.aggregate(actor, { ...range, selection, buckets: wholeTime });
    const found: SensorFuture[] = [];
    if (isClockInDoubt) await counted.return(undefined);
    else {
      for (const [sensor, count] of await sumBySensor(counted)) {
        const ends = { ...range, selection: { devices: [device], sensors: [sensor] }, limit: 1 };
        const firstMs = await this.#timeOf(actor, ends);
        const lastMs = await this.#timeOf(actor, { ...ends, descending: true });
        // A deletion may have come between.
        if (firstMs !== undefined && lastMs !== undefined) found.push({ sensor, count, firstMs, lastMs });
      }
    }
    return { nowMs, afterMs, isClockInDoubt, sensors: found };
  }

  async #timeOf(actor: Actor, query: Parameters<History['read']>[1]): Promise<number | undefined> {
    for await (const [located] of await this.#history.read(actor, query)) {
      if (located !== undefined) return orderOf(located.row);
    }
    return undefined;
  }
}

async function sumBySensor(steps: Awaited<ReturnType<History['aggregate']>>): Promise<ReadonlyMap<SensorId, number>> {
  const counts = new Map<SensorId, number>();
  for await (const rows of steps) {
    for (const { sensor, row } of rows) counts.set(sensor, (counts.get(sensor) ?? 0) + row.count);
  }
  return counts;
}
