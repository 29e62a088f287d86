// Gives sensors another id, with their history (decision 42). The former id leads to the sensor for a year, in HTTP and
// MQTT. Only the owner of the device and admins may do this, as with moving a sensor.
import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import { growthOf, sizeOfSensor } from '../devices/device-size.ts';
import { type FormerId, titleOf } from '../devices/former-ids/former-id.ts';
import type { FormerIdStore } from '../devices/former-ids/former-id-store.ts';
import { IdChange, type IdFollowers } from '../devices/former-ids/id-change.ts';
import type { RenameRate } from '../devices/former-ids/rename-rate.ts';
import { formerIdsOfSensor, SensorsWithFormer } from '../devices/former-ids/sensors-with-former.ts';
import type { Sensor, SensorId } from '../devices/sensor.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Actor } from '../users/user.ts';

export class SensorRenaming {
  readonly #store: FormerIdStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #ages: Clock;
  readonly #log: Log;
  readonly #change: IdChange;
  readonly #rate: RenameRate;

  constructor(parts: {
    readonly store: FormerIdStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly clock: Clock;
    /** The clock by which former ids end. */
    readonly ages: Clock;
    readonly log: Log;
    readonly followers: Pick<IdFollowers, 'whileRenaming' | 'retainedRemoved'>;
    readonly rate: RenameRate;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#ages = parts.ages;
    this.#log = parts.log;
    this.#change = new IdChange(parts);
    this.#rate = parts.rate;
  }

  /**
   * Gives the sensor another id; back to one of its former ids, too. Rules go on naming it as they do. Whatever is refused is
   * refused before anything that others use is touched.
   * @throws Refusal `not-found`, `forbidden`; `exists` where the id is taken; `conflict` where the sensor or its device has as many former ids as are
   * allowed; `too-many` beyond the number of renames a day; `busy`; `quota`, `too-large`
   */
  async rename(actor: Actor, id: DeviceId, sensorId: SensorId, to: SensorId): Promise<void> {
    const { device, sensor } = await this.#require(actor, id, sensorId);
    if (sensor.id === to) return;
    this.#assertFewFormer(device, sensor, to);
    this.#directory.assertRenamable(device.id);
    const holder = device.sensors.get(to);
    if (holder !== undefined && holder.key !== sensor.key) throw takenId(device, to);
    await this.#rate.take(actor, device.key);
    const growth = growthOf(sizeOfSensor(sensor), sizeOfSensor({ ...sensor, id: to }));
    const names = { device: device.key, sensor: sensor.key, from: sensor.id, to, owner: device.ownerKey };
    await this.#change.make(device, {
      store: (times) => this.#directory.renameSensor(device, growth, () => this.#store.renameSensor(names, times)),
      taken: () => takenId(device, to),
    });
    const audited = { by: actor.username, device: device.id, sensor: to, former: sensor.id };
    this.#log.audit(audited, 'audit: a sensor has another id');
  }

  /** The ids by which the sensor still answers, the latest first; for the owner of its device and admins. */
  async listFormer(actor: Actor, id: DeviceId, sensorId: SensorId): Promise<readonly FormerId[]> {
    const { device, sensor } = await this.#require(actor, id, sensorId);
    return this.#answering(device, sensor);
  }

  /** Ends a former id at once: the sensor answers by it no longer. @throws Refusal `not-found`, `forbidden` */
  async forget(
    actor: Actor,
    {
      device: id,
      sensor: sensorId,
      former,
    }: { readonly device: DeviceId; readonly sensor: SensorId; readonly former: SensorId },
  ): Promise<void> {
    const { device, sensor } = await this.#require(actor, id, sensorId);
    const isFormer = formerIdsOfSensor(device, sensor.key).some((each) => each.id === former);
    const isEnded =
      isFormer &&
      (await this.#directory.endFormer(device, device.id, () => this.#store.forgetSensor(device.key, former)));
    if (!isEnded) throw new Refusal('not-found', `Sensor ${sensor.id} has no former id ${former}.`);
    const audited = { by: actor.username, device: device.id, sensor: sensor.id, former };
    this.#log.audit(audited, 'audit: a former id of a sensor was ended');
  }

  #answering(device: Device, { key }: Sensor): FormerId[] {
    return formerIdsOfSensor(device, key).filter(({ untilMs }) => untilMs > this.#ages.now());
  }

  #assertFewFormer(device: Device, sensor: Sensor, to: SensorId): void {
    const { sensors } = device;
    const all = sensors instanceof SensorsWithFormer ? sensors.answeringSize : 0;
    const answering = this.#answering(device, sensor).filter((former) => former.id !== to);
    if (answering.length < limits.formerIdsMax && all < limits.formerSensorIdsMax) return;
    throw new Refusal(
      'conflict',
      `A sensor answers by ${limits.formerIdsMax} former ids, all of a device by ${limits.formerSensorIdsMax}, and no more at once. End one of them, or wait until one ends.`,
    );
  }

  async #require(
    actor: Actor,
    id: DeviceId,
    sensorId: SensorId,
  ): Promise<{ readonly device: Device; readonly sensor: Sensor }> {
    const device = await this.#directory.get(id);
    this.#permissions.requireNoKey(actor, 'ids of sensors');
    this.#permissions.requireOwner(actor, device);
    const sensor = device.sensors.get(sensorId);
    if (sensor === undefined) throw new Refusal('not-found', `${titleOf(device)} has no sensor ${sensorId}.`);
    return { device, sensor };
  }
}

function takenId(device: Device, id: SensorId): Refusal {
  return new Refusal(
    'exists',
    `Device ${device.id} has a sensor ${id} already, or one that had this id and still answers by it.`,
  );
}
