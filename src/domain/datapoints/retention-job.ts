// Removes datapoints older than their sensor keeps them, in hourly rounds of bounded steps with pauses. Each round asks
// the store what there is to do, so a stop or a crash loses nothing; the most overdue sensors come first. Never touches
// the last value of a sensor, nor datapoints that are not sealed. Its lease spares work and no more: what it removes is too
// old for whoever removes it, and it writes nothing to the registry, so its steps carry no epoch.

import type { Log } from '../../base/log.ts';
import { isTransient, Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { Schedule } from '../../base/time/schedule.ts';
import type { SensorKey } from '../devices/sensor.ts';
import type { Coordination, Lease } from '../ports/coordination.ts';
import type { Series } from '../ports/series.ts';

/** A sensor and the days for which its datapoints are kept; 0: for ever; undefined: the service's default. */
export interface SensorRetention {
  readonly sensor: SensorKey;
  readonly days: number | undefined;
}

/** What retention needs of the registry. */
export interface RetentionStore {
  /** Sensors with keys after `after`, in order, one step. */
  listSensors(step: { readonly after: SensorKey; readonly limit: number }): Promise<SensorRetention[]>;
}

export interface RetentionBounds {
  readonly retentionRoundMs: number;
  readonly retentionRetryMs: number;
  readonly retentionSensorsStep: number;
  readonly retentionStepsInTurn: number;
}

interface Overdue {
  readonly sensor: SensorKey;
  readonly beforeMs: number;
}

const dayMs = 24 * 3_600_000;

export class RetentionJob {
  readonly #series: Pick<Series, 'removeBefore' | 'oldest'>;
  readonly #retentionStore: RetentionStore;
  readonly #coordination: Coordination;
  readonly #defaultDays: number | undefined;
  readonly #bounds: RetentionBounds;
  readonly #clock: Clock;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #dueMs: number;
  #isClosed = false;
  #removed = 0;

  constructor(parts: {
    readonly series: Pick<Series, 'removeBefore' | 'oldest'>;
    readonly retentionStore: RetentionStore;
    readonly coordination: Coordination;
    /** For sensors and devices without a setting; undefined: for ever. */
    readonly defaultDays: number | undefined;
    readonly bounds: RetentionBounds;
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.#series = parts.series;
    this.#retentionStore = parts.retentionStore;
    this.#coordination = parts.coordination;
    this.#defaultDays = parts.defaultDays;
    this.#bounds = parts.bounds;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#dueMs = parts.clock.now() + parts.bounds.retentionRetryMs;
  }

  start(): void {
    this.#timer = setTimeout(() => this.#wake(), this.#bounds.retentionRetryMs);
    this.#timer.unref();
  }

  /** Ends after the step in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Datapoints removed since the start. */
  get removedDatapoints(): number {
    return this.#removed;
  }

  /** Resolves when no round is due or in progress. */
  async idle(): Promise<void> {
    while (!this.#isClosed && (this.#running !== undefined || this.#clock.now() >= this.#dueMs)) {
      this.#running ??= this.#round();
      await this.#running;
    }
  }

  #wake(): void {
    if (this.#isClosed) return;
    if (this.#clock.now() >= this.#dueMs) this.#running ??= this.#round();
    this.start();
  }

  async #round(): Promise<void> {
    // Plans the next round first; a failed one is repeated sooner.
    this.#dueMs = this.#clock.now() + this.#bounds.retentionRoundMs;
    const before = this.#removed;
    let lease: Lease | undefined;
    try {
      // Where another process holds it, that one does this round.
      lease = await this.#coordination.acquire('retention');
      if (lease !== undefined) await this.#removeAll(await this.#findOverdue(), lease);
    } catch (error) {
      this.#dueMs = this.#clock.now() + this.#bounds.retentionRetryMs;
      if (!(error instanceof Refusal && isTransient(error)))
        this.#log.error({ err: error }, 'removing expired datapoints failed; it is tried again');
    }
    await lease?.release();
    this.#running = undefined;
    const removed = this.#removed - before;
    if (removed > 0) this.#log.info({ datapoints: removed }, 'expired datapoints were removed');
  }

  /** Sensors with datapoints that are too old, the most overdue first. */
  async #findOverdue(): Promise<Schedule<Overdue>> {
    const overdue = new Schedule<Overdue>();
    const nowMs = this.#clock.now();
    for (let after: SensorKey = 0; !this.#isClosed; ) {
      const sensors = await this.#retentionStore.listSensors({ after, limit: this.#bounds.retentionSensorsStep });
      const kept = sensors.flatMap(({ sensor, days = this.#defaultDays ?? 0 }) =>
        days === 0 ? [] : [{ sensor, beforeMs: nowMs - days * dayMs }],
      );
      await this.#enter(kept, overdue);
      const last = sensors.at(-1);
      if (last === undefined || sensors.length < this.#bounds.retentionSensorsStep) break;
      after = last.sensor;
    }
    return overdue;
  }

  async #enter(kept: readonly Overdue[], overdue: Schedule<Overdue>): Promise<void> {
    const oldest = await this.#series.oldest(kept.map(({ sensor }) => sensor));
    for (const entry of kept) {
      const oldestMs = oldest.get(entry.sensor);
      // The schedule's first entry is the most overdue.
      if (oldestMs !== undefined && oldestMs < entry.beforeMs) overdue.add(oldestMs - entry.beforeMs, entry);
    }
  }

  /** Sensors take turns, so that one with very much to remove does not hold up the others. */
  async #removeAll(overdue: Schedule<Overdue>, lease: Lease): Promise<void> {
    const mayGoOn = () => !this.#isClosed && lease.isHeld;
    for (let entry = overdue.take(0); entry !== undefined && mayGoOn(); entry = overdue.take(0)) {
      try {
        if (await this.#removeSome(entry, mayGoOn)) await this.#enter([entry], overdue);
      } catch (error) {
        if (error instanceof Refusal && isTransient(error)) throw error;
        // A sensor with damaged datapoints does not stop the others.
        this.#log.error({ err: error, sensor: entry.sensor }, 'expired datapoints of a sensor could not be removed');
      }
    }
  }

  /** One turn of a sensor; true when more may be left. */
  async #removeSome({ sensor, beforeMs }: Overdue, mayGoOn: () => boolean): Promise<boolean> {
    for (let step = 0; step < this.#bounds.retentionStepsInTurn && mayGoOn(); step++) {
      const startMs = performance.now();
      const removed = await this.#series.removeBefore(sensor, beforeMs);
      if (removed === 0) return false;
      this.#removed += removed;
      // Pauses as long as the step took.
      await pause(performance.now() - startMs);
    }
    return true;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
