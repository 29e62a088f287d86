// Removing and correcting stored datapoints (contract 5); needs `devices:update`. Rules are not evaluated for it, and use
// at once what is left as last value.
import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { DeviceStore } from '../devices/device-store.ts';
import type { Sensor, SensorId, SensorKey } from '../devices/sensor.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Announcer } from '../ports/coordination.ts';
import type { Series } from '../ports/series.ts';
import { scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { StoredValue } from './datapoint.ts';

/** Which datapoints of a sensor: between two times, inclusive, in milliseconds since 1970 UTC. */
export interface RemovedRange {
  readonly fromMs: number;
  readonly toMs: number;
  /** Only those with this value, as it is stored: without calibration. */
  readonly value?: StoredValue | undefined;
  /** Why, as the one who does it says, for the audit log. */
  readonly reason?: string | undefined;
}

export interface Correction {
  /** The timestamp of the datapoint, or when it was received where it has none. */
  readonly atMs: number;
  /** When it was received, where several share the time. */
  readonly receivedMs?: number | undefined;
  /** The new value, as it is stored: without calibration. */
  readonly value: StoredValue;
  /** Why, as the one who does it says, for the audit log. */
  readonly reason?: string | undefined;
}

interface ChangedSensor {
  readonly device: Device;
  readonly sensor: Sensor;
}

export class Corrections {
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #series: Pick<Series, 'remove' | 'correct'>;
  readonly #store: Pick<DeviceStore, 'update'>;
  readonly #coordination: Announcer;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onChanged: (sensor: SensorKey) => void;

  constructor(parts: {
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly series: Pick<Series, 'remove' | 'correct'>;
    readonly store: Pick<DeviceStore, 'update'>;
    readonly coordination: Announcer;
    readonly clock: Clock;
    readonly log: Log;
    /** Called after datapoints of a sensor were removed or corrected, here or by another process. */
    readonly onChanged: (sensor: SensorKey) => void;
  }) {
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#series = parts.series;
    this.#store = parts.store;
    this.#coordination = parts.coordination;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#onChanged = parts.onChanged;
  }

  /**
   * Removes the datapoints of a range. Who cannot read values cannot choose by them either.
   * @returns how many were removed.
   * @throws Refusal `not-found`, `forbidden`, `damaged`, `busy`, `storage`
   */
  async remove(actor: Actor, id: DeviceId, sensorId: SensorId, range: RemovedRange): Promise<number> {
    const { device, sensor } = await this.#permit(actor, id, sensorId);
    if (range.value !== undefined) this.#permissions.require(actor, device, scope.dataView);
    const { fromMs, toMs, value, reason } = range;
    if (fromMs > toMs) return 0;
    const why = reason === undefined ? {} : { reason };
    const isByValue = value !== undefined;
    const what = { by: actor.username, device: id, sensor: sensorId, fromMs, toMs, isByValue, ...why };
    let isTaken = true;
    try {
      const removed = await this.#series.remove({ sensor: sensor.key, fromMs, toMs, value }, actor);
      if (removed > 0) this.#log.audit({ ...what, datapoints: removed }, 'audit: datapoints were removed');
      return removed;
    } catch (error) {
      // Too many wait: nothing was begun. After any other refusal a part may be gone.
      if (error instanceof Refusal && error.code === 'busy') isTaken = false;
      if (error instanceof Refusal && error.code === 'damaged')
        this.#log.audit({ ...what, detail: error.message }, 'audit: datapoints were removed, but for damaged ones');
      throw error;
    } finally {
      if (isTaken) await this.#changed(device, sensor.key);
    }
  }

  /**
   * Gives one datapoint another value.
   * @throws Refusal `not-found` where there is none of that time, `conflict` where there are several; `forbidden`,
   * `damaged`, `busy`, `storage`
   */
  async correct(actor: Actor, id: DeviceId, sensorId: SensorId, correction: Correction): Promise<void> {
    const { device, sensor } = await this.#permit(actor, id, sensorId);
    const { atMs, receivedMs, value, reason } = correction;
    const found = await this.#series.correct({ sensor: sensor.key, atMs, receivedMs, value }, actor);
    const time = new Date(atMs).toISOString();
    if (found === 0) throw new Refusal('not-found', `Sensor ${sensorId} has no such datapoint of ${time}.`);
    if (found > 1) {
      throw new Refusal(
        'conflict',
        `Several datapoints of sensor ${sensorId} share ${time}. Name one by received=, if their times of receiving differ; or remove them.`,
      );
    }
    const what = {
      by: actor.username,
      device: id,
      sensor: sensorId,
      atMs,
      ...(reason === undefined ? {} : { reason }),
    };
    this.#log.audit(what, 'audit: a datapoint was corrected');
    await this.#changed(device, sensor.key);
  }

  /** Follows a removal or correction by another process. */
  follow(sensor: SensorKey): void {
    this.#onChanged(sensor);
  }

  async #permit(actor: Actor, id: DeviceId, sensorId: SensorId): Promise<ChangedSensor> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.update);
    const sensor = device.sensors.get(sensorId);
    if (sensor === undefined) throw new Refusal('not-found', `Device ${id} has no sensor ${sensorId}.`);
    return { device, sensor };
  }

  /** What is derived from the datapoints follows before the change is acknowledged; so does `date_modified`. */
  async #changed(device: Device, sensor: SensorKey): Promise<void> {
    this.#onChanged(sensor);
    await this.#coordination.announce({ kind: 'datapoints-changed', sensor });
    const stamp = { device: device.key, atMs: this.#clock.now() };
    await this.#directory.change(device, { descriptions: 0, values: 0 }, () => this.#store.update(stamp, {}));
  }
}
