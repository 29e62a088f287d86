// Reading and changing the sensors of a device (contract 4). Changes need `devices:update`.

import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import { type DeviceSize, growthOf, sizeOfSensor } from '../devices/device-size.ts';
import type { DeviceStore, ModificationStamp } from '../devices/device-store.ts';
import { assertPartsMax } from '../devices/devices.ts';
import { titleOf } from '../devices/former-ids/former-id.ts';
import type { Sensor, SensorChange, SensorDraft, SensorId, SensorKey } from '../devices/sensor.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { GuestShares } from '../quotas/guest-shares.ts';
import { type ScopeSet, scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';

export class Sensors {
  readonly #store: DeviceStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #shares: GuestShares;
  readonly #clock: Clock;
  readonly #ages: Clock;
  readonly #log: Log;
  readonly #beforeMoved: () => Promise<void>;
  readonly #onMoved: (sensor: SensorKey) => Promise<void>;

  constructor(parts: {
    readonly store: DeviceStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly shares: GuestShares;
    readonly clock: Clock;
    /** The clock by which former ids end. */
    readonly ages: Clock;
    readonly log: Log;
    /** Called before a sensor is moved: whoever reads its datapoints later finds them on the other device. */
    readonly beforeMoved: () => Promise<void>;
    /** Called when a sensor was moved: whoever remembers its last value may have missed what came on the other device. */
    readonly onMoved: (sensor: SensorKey) => Promise<void>;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#shares = parts.shares;
    this.#clock = parts.clock;
    this.#ages = parts.ages;
    this.#log = parts.log;
    this.#beforeMoved = parts.beforeMoved;
    this.#onMoved = parts.onMoved;
  }

  /** One sensor and its device, if the actor may view the device, with the scopes that the actor has. */
  async get(
    actor: Actor,
    id: DeviceId,
    sensorId: SensorId,
  ): Promise<{ device: Device; sensor: Sensor; scopes: ScopeSet }> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.view);
    return { device, sensor: sensorOf(device, sensorId), scopes: this.#permissions.scopesOf(actor, device) };
  }

  /** Adds a sensor, or replaces the description of the existing one with that id; its datapoints stay. */
  async put(actor: Actor, id: DeviceId, given: SensorDraft): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    // What describes its sensors at each start, by the ids that it knows, makes none anew.
    const draft = { ...given, id: device.sensors.get(given.id)?.id ?? given.id };
    if (!device.sensors.has(draft.id)) assertPartsMax(device.sensors.size + device.actuators.size + 1);
    const growth = growthOf(sizeOfSensor(device.sensors.get(draft.id)), sizeOfSensor(draft));
    const amounts = { sensors: device.sensors.has(draft.id) ? 0 : 1, description_bytes: growth.descriptions };
    await this.#shares.take(actor, amounts, () =>
      this.#change(device, growth, (stamp) => this.#store.putSensor(stamp, draft, this.#ages.now())),
    );
  }

  async update(actor: Actor, id: DeviceId, sensorId: SensorId, change: SensorChange): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    const sensor = sensorOf(device, sensorId);
    const growth = growthOf(sizeOfSensor(sensor), sizeOfSensor({ ...sensor, ...change } as Partial<SensorDraft>));
    await this.#shares.take(actor, { description_bytes: growth.descriptions }, () =>
      this.#change(device, growth, (stamp) => this.#store.updateSensor(stamp, sensor.key, change)),
    );
  }

  /** Removes the sensor. Its datapoints become unreachable at once and are deleted in the background. */
  async remove(actor: Actor, id: DeviceId, sensorId: SensorId): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    const sensor = sensorOf(device, sensorId);
    const mark = { device: device.key, atMs: this.#clock.now() };
    await this.#directory.leave({ device: device.id, sensor: sensor.id }, () =>
      this.#store.removeSensor(mark, sensor.key),
    );
    this.#shares.release(actor, { sensors: 1, description_bytes: sizeOfSensor(sensor).descriptions });
  }

  /**
   * Moves the sensor, with its datapoints, to another device of the same owner; an admin also to one of another owner. Rules
   * that name the devices stay as they are. Others read its history on the target, so that moving it is sharing it: `update`
   * on both is not enough.
   * @throws Refusal `not-found`, `forbidden`; `exists` where the target has a sensor of that id; `quota`, `too-large`
   */
  async move(actor: Actor, id: DeviceId, sensorId: SensorId, targetId: DeviceId): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    const sensor = sensorOf(device, sensorId);
    const target = await this.#requireUpdate(actor, targetId);
    for (const [each, asked] of [
      [device, id],
      [target, targetId],
    ] as const) {
      if (this.#permissions.mayShare(actor, each)) continue;
      // By the id that was asked for: the present one may not be for who may change the device.
      throw new Refusal('forbidden', `Only the owner of ${asked} and admins, without an API key, move sensors.`);
    }
    if (target.key === device.key) return;
    if (target.ownerKey !== device.ownerKey && !actor.admin) {
      throw new Refusal('forbidden', `Devices ${id} and ${targetId} belong to different users.`);
    }
    if (target.sensors.has(sensor.id)) throw takenBy(targetId, sensor.id);
    assertPartsMax(target.sensors.size + target.actuators.size + 1);
    await this.#beforeMoved();
    const stamp = { device: device.key, atMs: this.#clock.now() };
    try {
      const isMoved = await this.#directory.change(target, sizeOfSensor(sensor), () =>
        this.#store.moveSensor(stamp, sensor.key, target.key, this.#ages.now()),
      );
      if (!isMoved) throw new Refusal('not-found', `Device ${id} has no sensor ${sensorId}.`);
    } catch (error) {
      throw error instanceof Refusal && error.code === 'exists' ? takenBy(targetId, sensorId) : error;
    } finally {
      await this.#directory.refresh(device.id);
    }
    await this.#onMoved(sensor.key);
    this.#log.audit(
      { by: actor.username, device: id, sensor: sensorId, target: targetId },
      'audit: a sensor was moved',
    );
  }

  async #requireUpdate(actor: Actor, id: DeviceId): Promise<Device> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.update);
    return device;
  }

  #change(device: Device, growth: DeviceSize, write: (stamp: ModificationStamp) => Promise<void>): Promise<void> {
    return this.#directory.change(device, growth, () => write({ device: device.key, atMs: this.#clock.now() }));
  }
}

function takenBy(target: DeviceId, sensor: SensorId): Refusal {
  return new Refusal('exists', `Device ${target} has a sensor ${sensor} already.`);
}

/** @throws Refusal `not-found` */
function sensorOf(device: Device, id: SensorId): Sensor {
  const sensor = device.sensors.get(id);
  if (sensor === undefined) throw new Refusal('not-found', `${titleOf(device)} has no sensor ${id}.`);
  return sensor;
}
