// Reading datapoints back (contract 5): ranges, the last N, pages, calibrated or raw. Streams in bounded steps.
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Permissions } from '../permissions/permission.ts';
import { scope } from '../permissions/scopes.ts';
import { calibrate } from '../sensors/calibration.ts';
import type { Sensor, SensorId, SensorKey } from '../sensors/sensor.ts';
import type { Actor } from '../users/user.ts';
import { type Datapoint, orderOf } from './datapoint.ts';
import type { DatapointStore, Position } from './datapoint-store.ts';

export interface HistoryQuery {
  readonly device: DeviceId;
  readonly sensor: SensorId;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  /** Only the last N by time within the bounds, newest first. */
  readonly lastN?: number | undefined;
  readonly descending: boolean;
  /** Undefined: the whole range. */
  readonly limit: number | undefined;
  readonly offset: number;
  readonly calibrated: boolean;
}

export class History {
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #store: DatapointStore;

  constructor(parts: {
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly store: DatapointStore;
  }) {
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#store = parts.store;
  }

  /**
   * Permits the read now and gives the datapoints in steps.
   * @throws Refusal `not-found`, `forbidden`.
   */
  async read(actor: Actor, query: HistoryQuery): Promise<AsyncGenerator<Datapoint[]>> {
    const device = await this.#directory.get(query.device);
    this.#permissions.require(actor, device, scope.dataView);
    const sensor = device.sensors.get(query.sensor);
    if (sensor === undefined) throw new Refusal('not-found', `Device ${query.device} has no sensor ${query.sensor}.`);
    return this.#steps(sensor, query);
  }

  /** The last pushed datapoint of each sensor of the devices, corrected by its calibration. */
  async latest(devices: readonly Device[]): Promise<Map<SensorKey, Datapoint>> {
    const sensors = devices.flatMap((device) => [...device.sensors.values()]);
    const latest = await this.#store.latest(sensors.map((sensor) => sensor.key));
    for (const { key, calibration } of sensors) {
      const point = calibration && latest.get(key);
      if (point) latest.set(key, { ...point, value: calibrate(point.value, calibration) });
    }
    return latest;
  }

  async *#steps(sensor: Sensor, query: HistoryQuery): AsyncGenerator<Datapoint[]> {
    const descending = query.lastN !== undefined || query.descending;
    const calibration = query.calibrated ? sensor.calibration : undefined;
    let skip = query.offset;
    let left = Math.min(query.limit ?? Number.POSITIVE_INFINITY, (query.lastN ?? Number.POSITIVE_INFINITY) - skip);
    let after: Position | undefined;
    while (left > 0) {
      const limit = Math.min(limits.readStepRows, skip + left);
      const rows = await this.#store.read({
        sensor: sensor.key,
        fromMs: query.fromMs,
        toMs: query.toMs,
        descending,
        limit,
        after,
      });
      const last = rows.at(-1);
      const shown = rows.slice(skip, skip + left);
      skip -= Math.min(skip, rows.length);
      left -= shown.length;
      if (shown.length > 0) {
        yield calibration ? shown.map((row) => ({ ...row, value: calibrate(row.value, calibration) })) : shown;
      }
      if (last === undefined || rows.length < limit) return;
      after = { order: orderOf(last), seq: last.seq };
      // Other callers come between two steps of a long read.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }
}
