// Gives devices another id (decision 42). The former id leads to the device for a year, in HTTP and MQTT; until then no other
// device can get it. Only the owner and admins may do this, because it concerns everybody who knows the device by its id.

import type { Log } from '../../../base/log.ts';
import { Refusal } from '../../../base/refusal.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { Permissions } from '../../permissions/permission.ts';
import { scope } from '../../scopes.ts';
import type { Actor } from '../../users/user.ts';
import type { Device, DeviceId } from '../device.ts';
import type { DeviceDirectory } from '../device-directory.ts';
import type { SensorId } from '../sensor.ts';
import { type FormerId, formerIdMs } from './former-id.ts';
import type { FormerIdStore } from './former-id-store.ts';
import { IdChange, type IdFollowers } from './id-change.ts';
import type { RenameRate } from './rename-rate.ts';
import { formerIdsOfSensor } from './sensors-with-former.ts';

/** What an answer says that was asked for by a former id. */
export interface Successor {
  /** The present ids; absent for an actor who may not view the device. */
  readonly id?: DeviceId;
  readonly sensor?: SensorId;
  /** Since when and until when the id that was asked for is a former one, in milliseconds since 1970 UTC. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

export class Renaming {
  readonly #store: FormerIdStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #ages: Clock;
  readonly #log: Log;
  readonly #change: IdChange;
  readonly #keysChanged: () => Promise<void>;
  readonly #rate: RenameRate;
  /** Who gives devices other ids at the moment, by the key of the caller. */
  readonly #underWay = new Set<string>();

  constructor(parts: {
    readonly store: FormerIdStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly clock: Clock;
    /** The clock by which former ids end. */
    readonly ages: Clock;
    readonly log: Log;
    readonly followers: IdFollowers;
    readonly rate: RenameRate;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#ages = parts.ages;
    this.#log = parts.log;
    this.#change = new IdChange(parts);
    this.#keysChanged = () => parts.followers.keysChanged();
    this.#rate = parts.rate;
  }

  /**
   * Gives the device another id; back to one of its former ids, too. Whatever is refused is refused before anything that others
   * use is touched.
   * @throws Refusal `not-found`, `forbidden`; `exists` where the id is taken; `conflict` where the device has `formerIdsMax` former ids,
   * or more than `renameFollowersMax` records name it; `too-many` beyond the number of renames a day; `busy`; `quota`.
   */
  async rename(actor: Actor, id: DeviceId, to: DeviceId): Promise<void> {
    const device = await this.#require(actor, id);
    if (device.id === to) return;
    this.#assertFewFormer(device, to);
    this.#directory.assertRenamable(device.id);
    await this.#assertFree(device, to);
    // Before a place is taken and records are searched: a request that is refused anyway must not keep these from others.
    await this.#rate.look(actor, device.key);
    const { key } = actor.caller;
    // One for each caller: nobody takes all places.
    if (this.#underWay.has(key) || this.#underWay.size >= limits.renamesUnderWayMax)
      throw new Refusal('busy', 'Too many devices get other ids at once. Try again.', {
        retryAfterS: limits.busyRetryAfterS,
      });
    this.#underWay.add(key);
    try {
      await this.#prepareAndChange(actor, device, to);
    } finally {
      this.#underWay.delete(key);
    }
    this.#log.audit({ by: actor.username, device: to, former: device.id }, 'audit: a device has another id');
  }

  async #prepareAndChange(actor: Actor, device: Device, to: DeviceId): Promise<void> {
    const { isGone } = actor;
    const names = { device: device.key, from: device.id, to, owner: device.ownerKey };
    const prepared = await this.#store.prepareRename(names, { caller: actor.caller.key, isGone });
    if (prepared === undefined) throw tooManyFollow();
    await this.#rate.take(actor, device.key);
    const taken = await this.#store.findDevice(to);
    try {
      await this.#change.make(device, {
        store: (times) => this.#directory.rename(device, to, () => prepared.store(times)),
        taken: () => takenId(to),
      });
    } finally {
      await this.#keysChanged();
    }
    // An id by which another device answers no longer.
    if (taken !== undefined && taken.device !== device.key) await this.#directory.formerTaken(to, taken);
  }

  /** @throws Refusal `exists` */
  async #assertFree(device: Device, to: DeviceId): Promise<void> {
    const holder = await this.#directory.find(to);
    // By a former id it finds the device itself, which may go back to it.
    if (holder !== undefined && holder.key !== device.key) throw takenId(to);
  }

  /** The ids by which the device still answers, the latest first; for the owner and admins. */
  async listFormer(actor: Actor, id: DeviceId): Promise<readonly FormerId[]> {
    const { formerIds = [] } = await this.#require(actor, id);
    return formerIds.filter(({ untilMs }) => untilMs > this.#ages.now());
  }

  /**
   * Where a device, and its sensor, that were asked for by these ids are found now; undefined where they have these ids, or none
   * answers by them. Only looks at what is in memory: the request has just loaded it.
   */
  successorOf(actor: Actor, id: DeviceId, sensorId?: SensorId): Successor | undefined {
    const device = this.#directory.peek(id);
    if (device === undefined) return undefined;
    const sensor = sensorId === undefined ? undefined : device.sensors.get(sensorId);
    const former = [
      device.id === id ? undefined : device.formerIds?.find((each) => each.id === id),
      sensor && formerIdsOfSensor(device, sensor.key).find((each) => each.id === sensorId),
    ].filter((each) => each !== undefined);
    if (former.length === 0) return undefined;
    const mayView = (this.#permissions.scopesOf(actor, device) & scope.view) !== 0;
    const untilMs = Math.min(...former.map((each) => each.untilMs));
    const ids = mayView ? { id: device.id, ...(sensor === undefined ? {} : { sensor: sensor.id }) } : {};
    return { ...ids, sinceMs: untilMs - formerIdMs, untilMs };
  }

  /** Ends a former id at once: it answers no longer, and anybody may take it. @throws Refusal `not-found`, `forbidden` */
  async forget(actor: Actor, id: DeviceId, former: DeviceId): Promise<void> {
    const device = await this.#require(actor, id);
    if (device.formerIds?.some((each) => each.id === former) !== true) throw noFormer(device, former);
    const isEnded = await this.#directory.endFormer(device, former, () => this.#store.forgetDevice(device.key, former));
    if (!isEnded) throw noFormer(device, former);
    this.#log.audit({ by: actor.username, device: device.id, former }, 'audit: a former id of a device was ended');
  }

  #assertFewFormer({ id, formerIds = [] }: Device, to: DeviceId): void {
    const answering = formerIds.filter((former) => former.id !== to && former.untilMs > this.#ages.now());
    if (answering.length < limits.formerIdsMax) return;
    throw new Refusal(
      'conflict',
      `Device ${id} answers by ${limits.formerIdsMax} former ids, and no more at once. End one of them, or wait until one ends.`,
    );
  }

  async #require(actor: Actor, id: DeviceId): Promise<Device> {
    const device = await this.#directory.get(id);
    this.#permissions.requireNoKey(actor, 'ids of devices');
    this.#permissions.requireOwner(actor, device);
    return device;
  }
}

function takenId(id: DeviceId): Refusal {
  return new Refusal('exists', `There is a device ${id} already, or one that had this id and still answers by it.`);
}

function noFormer(device: Device, former: DeviceId): Refusal {
  return new Refusal('not-found', `Device ${device.id} has no former id ${former}.`);
}

/** Says nothing of what others have: only records of the device’s owner are counted. */
function tooManyFollow(): Refusal {
  return new Refusal(
    'conflict',
    `More than ${limits.renameFollowersMax} projects, rules or API keys of the device’s owner name it, or these are too long (${limits.renameProjectIdsMax} devices in projects): too many to follow it to another id.`,
  );
}
