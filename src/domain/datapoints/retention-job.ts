// Removes datapoints older than their sensor keeps them, in hourly rounds of bounded steps with pauses. Each round
// asks the store what there is to do, so a stop or a crash loses nothing. The most overdue sensors come first. Never
// removes the last value of a sensor, nor datapoints that are not sealed. Its lease only saves work: whichever
// process removes datapoints, they are too old, and nothing is written to the registry. So its steps carry no epoch.
// Rounds are planned by the monotonic clock, and wait while the wall clock cannot be trusted (decision 30): deleted
// datapoints cannot be brought back.

import type { Log } from '../../base/log.ts';
import { isTransient, Refusal } from '../../base/refusal.ts';
import type { AgeClocks } from '../../base/time/clock-watch.ts';
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
  /** One step of the sensors with keys above `after`, in order of keys. */
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
  readonly #clock: Pick<AgeClocks, 'elapsedMs' | 'forAge' | 'isSteady'>;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** By the monotonic clock. */
  #dueMs: number;
  #isClosed = false;
  #removed = 0;

  constructor(parts: {
    readonly series: Pick<Series, 'removeBefore' | 'oldest'>;
    readonly retentionStore: RetentionStore;
    readonly coordination: Coordination;
    /** Days for sensors and devices without a setting; undefined: for ever. */
    readonly defaultDays: number | undefined;
    readonly bounds: RetentionBounds;
    readonly clock: Pick<AgeClocks, 'elapsedMs' | 'forAge' | 'isSteady'>;
    readonly log: Log;
  }) {
    this.#series = parts.series;
    this.#retentionStore = parts.retentionStore;
    this.#coordination = parts.coordination;
    this.#defaultDays = parts.defaultDays;
    this.#bounds = parts.bounds;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#dueMs = parts.clock.elapsedMs() + parts.bounds.retentionRetryMs;
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
    while (!this.#isClosed && (this.#running !== undefined || this.#clock.elapsedMs() >= this.#dueMs)) {
      this.#running ??= this.#round();
      await this.#running;
    }
  }

  #wake(): void {
    if (this.#isClosed) return;
    if (this.#clock.elapsedMs() >= this.#dueMs) this.#running ??= this.#round();
    this.start();
  }

  async #round(): Promise<void> {
    // Plans the next round first; a failed one is repeated sooner.
    this.#dueMs = this.#clock.elapsedMs() + this.#bounds.retentionRoundMs;
    const before = this.#removed;
    let lease: Lease | undefined;
    try {
      // Without the lease nothing is done: the process that holds it does this round.
      if (this.#clock.isSteady()) lease = await this.#coordination.acquire('retention');
      else this.#dueMs = this.#clock.elapsedMs() + this.#bounds.retentionRetryMs;
      if (lease !== undefined) await this.#removeAll(await this.#findOverdue(), lease);
    } catch (error) {
      this.#dueMs = this.#clock.elapsedMs() + this.#bounds.retentionRetryMs;
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
    const nowMs = this.#clock.forAge.now();
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
      // The schedule returns the lowest number first, which is the most overdue sensor.
      if (oldestMs !== undefined && oldestMs < entry.beforeMs) overdue.add(oldestMs - entry.beforeMs, entry);
    }
  }

  /** Removes from all overdue sensors in turns, so that one with very much to remove does not hold up the others. */
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

  /** Removes from one sensor for one turn; returns true when more may be left. */
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
