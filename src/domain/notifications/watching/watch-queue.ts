// Pushes that wait for the watcher, in order of arrival. Bounded (I4): when it is full, the watcher empties it and
// reads from the log instead.
import type { Readings } from '../../datapoints/ingest/reading.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { SensorKey } from '../../devices/sensor.ts';

/** A push as rules see it. */
export interface SeenPush {
  readonly device: { readonly id: DeviceId };
  readonly sensor: { readonly key: SensorKey };
  readonly readings: Readings;
  /** Milliseconds since 1970 UTC. */
  readonly receivedMs: number;
  readonly firstSeq: number;
  /** True where no rule is evaluated for the push (`Prefer: notify=none`, CSV, imports). */
  readonly skipsRules: boolean;
}

export class WatchQueue {
  readonly #datapointsMax: number;
  readonly #bytesMax: number;
  #pushes: SeenPush[] = [];
  #datapoints = 0;
  #bytes = 0;

  constructor({ datapointsMax, bytesMax }: { readonly datapointsMax: number; readonly bytesMax: number }) {
    this.#datapointsMax = datapointsMax;
    this.#bytesMax = bytesMax;
  }

  /** Number of waiting datapoints. */
  get datapoints(): number {
    return this.#datapoints;
  }

  get isEmpty(): boolean {
    return this.#pushes.length === 0;
  }

  /** Returns false where the queue is full; an empty queue takes one push of any size. */
  add(push: SeenPush): boolean {
    const { length } = push.readings;
    const bytes = bytesOf(push);
    const isTooMuch = this.#datapoints + length > this.#datapointsMax || this.#bytes + bytes > this.#bytesMax;
    if (isTooMuch && this.#pushes.length > 0) return false;
    this.#datapoints += length;
    this.#bytes += bytes;
    this.#pushes.push(push);
    return true;
  }

  /** Removes and returns the oldest pushes, until they have at least so many datapoints. */
  take(datapoints: number): SeenPush[] {
    let count = 0;
    let taken = 0;
    while (count < this.#pushes.length && taken < datapoints) {
      const push = this.#pushes[count++] as SeenPush;
      taken += push.readings.length;
      this.#bytes -= bytesOf(push);
    }
    this.#datapoints -= taken;
    if (count < this.#pushes.length) return this.#pushes.splice(0, count);
    const all = this.#pushes;
    this.#pushes = [];
    return all;
  }

  clear(): void {
    this.#pushes = [];
    this.#datapoints = 0;
    this.#bytes = 0;
  }
}

/** Estimated bytes in memory. */
function bytesOf({ readings }: SeenPush): number {
  let bytes = 200;
  for (const { value } of readings) bytes += typeof value === 'number' ? 50 : 50 + value.length * 2;
  return bytes;
}

/** The seq of the pushes' last datapoint; 0 without any. */
export function lastSeqOf(pushes: readonly SeenPush[]): number {
  const last = pushes.at(-1);
  return last === undefined ? 0 : last.firstSeq + last.readings.length - 1;
}
