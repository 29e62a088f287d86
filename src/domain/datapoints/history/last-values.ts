// The last datapoints of sensors, for records of devices: the one that was pushed last, which is what the specification calls the
// last value (spec.md 3.2), and the one that was measured last, where that is another: a gateway that sends what it could not send
// before, or an import of history, pushes older ones behind newer ones.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import { loopTurns } from '../../callers/loop-turns.ts';
import { calibrate } from '../../devices/calibration.ts';
import type { Device } from '../../devices/device.ts';
import type { Sensor, SensorKey } from '../../devices/sensor.ts';
import type { Series } from '../../ports/series.ts';
import type { Actor } from '../../users/user.ts';
import { datapointAt } from '../columns.ts';
import { type ArrivedDatapoint, type Datapoint, orderOf } from '../datapoint.ts';

/** Last datapoints by sensor, calibrated. */
export interface LastDatapoints {
  /** The one that was pushed last, of each sensor that ever had one. */
  readonly pushed: ReadonlyMap<SensorKey, ArrivedDatapoint>;
  /** The one that was measured last and not in the future, of sensors where it was measured later than the one pushed last. */
  readonly measured: ReadonlyMap<SensorKey, Datapoint>;
  /** Milliseconds between two receptions, usually, of sensors that have a habit. */
  readonly usualMs: ReadonlyMap<SensorKey, number>;
}

/** How often sensors are usually heard. */
interface Habits {
  isKnown(sensor: SensorKey): boolean;
  usualMs(sensor: SensorKey): number | undefined;
}

/** Of a device that has just been made. */
export const noDatapoints: LastDatapoints = { pushed: new Map(), measured: new Map(), usualMs: new Map() };

export class LastValues {
  readonly #series: Pick<Series, 'latest' | 'latestTimes' | 'range'>;
  readonly #clock: { now(): number };
  readonly #habits: Habits;

  /** @param parts.clock the wall clock, by which a datapoint lies in the future. */
  constructor(parts: {
    readonly series: Pick<Series, 'latest' | 'latestTimes' | 'range'>;
    readonly clock: { now(): number };
    readonly habits: Habits;
  }) {
    this.#series = parts.series;
    this.#clock = parts.clock;
    this.#habits = parts.habits;
  }

  of(actor: Actor, devices: readonly Device[]): Promise<LastDatapoints> {
    return this.ofSensors(
      actor,
      devices.flatMap((device) => [...device.sensors.values()]),
    );
  }

  /**
   * Reads them in pieces, so that other callers have their turns in between. `measured` has no more than `readsMax` were looked
   * for: whoever looks at a list pays for what others have pushed in a strange order.
   */
  async ofSensors(
    actor: Actor,
    sensors: readonly Sensor[],
    { readsMax = limits.newestReadsMax }: { readonly readsMax?: number } = {},
  ): Promise<LastDatapoints> {
    let readsLeft = readsMax;
    const pushed = new Map<SensorKey, ArrivedDatapoint>();
    const measured = new Map<SensorKey, Datapoint>();
    for (let from = 0; from < sensors.length; from += limits.latestStepSensors) {
      if (from > 0) await loopTurns.turn(actor.caller);
      const step = sensors.slice(from, from + limits.latestStepSensors).map(({ key }) => key);
      const latest = await this.#series.latest(step);
      for (const [key, point] of latest) pushed.set(key, point);
      if (readsLeft === 0) continue;
      const later = await this.#measuredLater(actor, latest, readsLeft);
      readsLeft -= later.reads;
      for (const [key, point] of later.found) measured.set(key, point);
    }
    for (const { key, calibration } of sensors) {
      if (calibration === undefined) continue;
      const [last, later] = [pushed.get(key), measured.get(key)];
      if (last !== undefined) pushed.set(key, { ...last, value: calibrate(last.value, calibration) });
      if (later !== undefined) measured.set(key, { ...later, value: calibrate(later.value, calibration) });
    }
    return { pushed, measured, usualMs: this.#usualOf(pushed.keys()) };
  }

  #usualOf(sensors: Iterable<SensorKey>): Map<SensorKey, number> {
    const usualMs = new Map<SensorKey, number>();
    for (const sensor of sensors) {
      const ms = this.#habits.isKnown(sensor) ? this.#habits.usualMs(sensor) : undefined;
      if (ms !== undefined) usualMs.set(sensor, ms);
    }
    return usualMs;
  }

  /** One question for all of them; a read of the series only where a later one may be there. */
  async #measuredLater(
    actor: Actor,
    latest: ReadonlyMap<SensorKey, ArrivedDatapoint>,
    readsMax: number,
  ): Promise<{ readonly found: ReadonlyMap<SensorKey, Datapoint>; readonly reads: number }> {
    const found = new Map<SensorKey, Datapoint>();
    const toMs = this.#clock.now() + limits.futureMsMin;
    const times = await this.#series.latestTimes([...latest.keys()]);
    let reads = 0;
    for (const [sensor, point] of latest) {
      if (reads === readsMax) break;
      const knownMs = orderOf(point);
      if ((times.get(sensor) ?? knownMs) <= knownMs || knownMs >= toMs) continue;
      reads += 1;
      const later = await this.#lastWithin(actor, { sensor, fromMs: knownMs + 1, toMs });
      if (later !== undefined) found.set(sensor, later);
    }
    return { found, reads };
  }

  async #lastWithin(
    actor: Actor,
    range: { readonly sensor: SensorKey; readonly fromMs: number; readonly toMs: number },
  ): Promise<Datapoint | undefined> {
    try {
      const { columns } = await this.#series.range({ ...range, descending: true, limit: 1 }, actor);
      return columns.count === 0 ? undefined : datapointAt(columns, 0);
    } catch (error) {
      // What cannot be read is told where it is asked for; the record of the device goes on.
      if (error instanceof Refusal && error.code === 'damaged') return undefined;
      throw error;
    }
  }
}
