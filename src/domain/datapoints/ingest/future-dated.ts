// Notes datapoints that are dated in the future when they are committed: the clock of their device is wrong, or its time
// zone was left out. They are stored like all others. Reads the feed; the metrics and the log tell.

import type { Log } from '../../../base/log.ts';
import type { ClockWatch } from '../../../base/time/clock-watch.ts';
import { limits } from '../../../config/limits.ts';
import type { Committed } from '../feed.ts';
import { PlainReadings } from './plain-readings.ts';
import type { Readings } from './reading.ts';
import { SingleReading } from './single-reading.ts';

export class FutureDated {
  readonly #clocks: Pick<ClockWatch, 'isInDoubt' | 'elapsedMs'>;
  readonly #log: Log;
  #datapoints = 0;
  #told = 0;
  #toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: { readonly clocks: Pick<ClockWatch, 'isInDoubt' | 'elapsedMs'>; readonly log: Log }) {
    this.#clocks = parts.clocks;
    this.#log = parts.log;
  }

  /** Datapoints committed since the start whose timestamp was more than `futureMsMin` later than their receipt. */
  get datapoints(): number {
    return this.#datapoints;
  }

  /**
   * Looks at what was committed. A wall clock in doubt accuses nobody (decision 30). What another process received is
   * noted there.
   */
  note(committed: Committed): void {
    if (committed.kind !== 'sensor' || committed.caller === undefined || this.#clocks.isInDoubt) return;
    const { readings, receivedMs } = committed;
    const count = countAfter(readings, receivedMs + limits.futureMsMin);
    if (count === 0) return;
    this.#datapoints += count;
    const elapsedMs = this.#clocks.elapsedMs();
    if (elapsedMs - this.#toldAtMs < limits.futureLogMs) return;
    const { device, sensor } = committed;
    const datapoints = this.#datapoints - this.#told;
    this.#log.info({ datapoints, device: device.id, sensor: sensor.id }, 'datapoints are dated in the future');
    this.#told = this.#datapoints;
    this.#toldAtMs = elapsedMs;
  }
}

/** Readings without a timestamp (NaN) are not after anything. */
function countAfter(readings: Readings, ms: number): number {
  let count = 0;
  if (readings instanceof SingleReading) return readings.timestampMs > ms ? 1 : 0;
  if (readings instanceof PlainReadings) {
    for (const timestampMs of readings.timestamps) if (timestampMs > ms) count += 1;
  } else {
    for (const { timestampMs } of readings) if (timestampMs > ms) count += 1;
  }
  return count;
}
