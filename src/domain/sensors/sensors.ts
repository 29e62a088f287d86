// What one can do with the sensors of a device (contract 4). Changing them needs `devices:update`.
import type { Clock } from '../../base/clock.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { DeviceStore, Mark } from '../devices/device-store.ts';
import { assertPartsMax } from '../devices/devices.ts';
import type { Permissions } from '../permissions/permission.ts';
import { type ScopeSet, scope } from '../permissions/scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Sensor, SensorChange, SensorDraft, SensorId } from './sensor.ts';

export class Sensors {
  readonly #store: DeviceStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #clock: Clock;

  constructor(parts: {
    readonly store: DeviceStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly clock: Clock;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#clock = parts.clock;
  }

  /** The device with one sensor, as the actor may see it. */
  async get(
    actor: Actor,
    id: DeviceId,
    sensorId: SensorId,
  ): Promise<{ device: Device; sensor: Sensor; scopes: ScopeSet }> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.view);
    return { device, sensor: sensorOf(device, sensorId), scopes: this.#permissions.scopesOf(actor, device) };
  }

  /** Adds a sensor, or replaces the description of the one with that id and keeps its datapoints. */
  async put(actor: Actor, id: DeviceId, draft: SensorDraft): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    if (!device.sensors.has(draft.id)) assertPartsMax(device.sensors.size + device.actuators.size + 1);
    await this.#change(device, (mark) => this.#store.putSensor(mark, draft));
  }

  async update(actor: Actor, id: DeviceId, sensorId: SensorId, change: SensorChange): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    const sensor = sensorOf(device, sensorId);
    await this.#change(device, (mark) => this.#store.updateSensor(mark, sensor.key, change));
  }

  /** Removes the sensor; its datapoints are out of reach at once and go in the background. */
  async remove(actor: Actor, id: DeviceId, sensorId: SensorId): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    const sensor = sensorOf(device, sensorId);
    const mark = { device: device.key, atMs: this.#clock.now() };
    await this.#directory.leave({ device: id, sensor: sensorId }, () => this.#store.removeSensor(mark, sensor.key));
  }

  async #requireUpdate(actor: Actor, id: DeviceId): Promise<Device> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.update);
    return device;
  }

  async #change(device: Device, write: (mark: Mark) => Promise<void>): Promise<void> {
    try {
      await write({ device: device.key, atMs: this.#clock.now() });
    } finally {
      await this.#directory.refresh(device.id);
    }
  }
}

/** @throws Refusal `not-found` */
function sensorOf(device: Device, id: SensorId): Sensor {
  const sensor = device.sensors.get(id);
  if (sensor === undefined) throw new Refusal('not-found', `Device ${device.id} has no sensor ${id}.`);
  return sensor;
}
