// Caches whole devices for ingest and permission checks; bounded, filled from the store (I4). Also knows what is
// being removed, from the moment the removal is queued, so that no datapoint is accepted for it afterwards and lost. The one
// place where ids that devices had before lead to them: `peek`, `find` and `get` take them like present ids.

import { entryBytes, textHeapBytes } from '../../base/memory/heap-bytes.ts';
import { LoadingCache } from '../../base/memory/loading-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { nextLoopTurn } from '../../base/time/next-loop-turn.ts';
import { limits } from '../../config/limits.ts';
import { LeavingElsewhere } from '../leaving-elsewhere.ts';
import type { Announcer } from '../ports/coordination.ts';
import { remembered } from '../remembered.ts';
import type { Device, DeviceId } from './device.ts';
import { deviceHeapBytes } from './device-heap-bytes.ts';
import { assertDeviceSize, type DeviceSize, sizeOfDevice } from './device-size.ts';
import type { DeviceStore } from './device-store.ts';
import type { FormerDeviceId } from './former-ids/former-id.ts';
import type { FormerIdStore } from './former-ids/former-id-store.ts';
import { SensorsWithFormer } from './former-ids/sensors-with-former.ts';
import type { SensorId } from './sensor.ts';

const noParts = { sensors: new Map(), actuators: new Map() };

/** A device, or one of its sensors. */
interface DevicePart {
  readonly device: DeviceId;
  readonly sensor?: SensorId | undefined;
}

/** Looks for a device whose id changes meanwhile, until it is taken for unknown. */
const lookUpsMax = 10;

export class DeviceDirectory {
  readonly #devices: LoadingCache<DeviceId, Device>;
  readonly #formerIds: LoadingCache<DeviceId, FormerDeviceId>;
  readonly #ages: Clock;
  /** Ids of devices that are being given another, and those that they get. Bounded by the queue of statements. */
  readonly #renaming = new Set<DeviceId>();
  /** How often a device was given another id, or began to be. */
  #renames = 0;
  /**
   * Devices and sensors whose removal by this process is in progress: `device` or `device/sensor`. Bounded by the
   * queue of statements.
   */
  readonly #leaving = new Set<string>();
  /** Devices and sensors that other processes are removing. */
  readonly #leavingElsewhere = new LeavingElsewhere<string>();
  readonly #coordination: Announcer;
  readonly #pushesSettled: () => Promise<void>;
  readonly #onFormerEnded: (device: DeviceId) => Promise<void>;
  /** Resolves when the latest reload of a large device may begin. */
  #lastTurn: Promise<void> = Promise.resolve();
  /** Growth of devices by changes in progress, in bytes. Bounded by the queue of statements. */
  readonly #growing = new Map<DeviceId, DeviceSize>();

  constructor(options: {
    readonly store: DeviceStore;
    readonly formerIds: Pick<FormerIdStore, 'findDevice'>;
    /** The clock by which former ids end. */
    readonly ages: Clock;
    readonly bytesMax: number;
    /** Resolves when all datapoints accepted so far are committed or refused. Never rejects. */
    readonly pushesSettled: () => Promise<void>;
    /** Called when former ids of the device with this present id lead to it no longer, or it was removed. */
    readonly onFormerEnded: (device: DeviceId) => Promise<void>;
    readonly coordination: Announcer;
  }) {
    this.#pushesSettled = options.pushesSettled;
    this.#onFormerEnded = options.onFormerEnded;
    this.#coordination = options.coordination;
    const answering = (device: Device | undefined) => {
      if (device?.sensors instanceof SensorsWithFormer) device.sensors.answerBy(options.ages);
      return device;
    };
    this.#devices = new LoadingCache({
      load: async (id) => answering(await options.store.find(id)),
      loadMany: async (devices) => {
        const read = await options.store.listByKeys(devices.map(({ key }) => key));
        return new Map(read.map((device) => [device.id, answering(device) ?? device]));
      },
      weightMax: options.bytesMax,
      pool: remembered,
      weigh: (device) => entryBytes + deviceHeapBytes(device),
    });
    this.#ages = options.ages;
    this.#formerIds = new LoadingCache({
      load: (id) => options.formerIds.findDevice(id),
      weightMax: limits.formerIdsCachedBytesMax,
      pool: remembered,
      weigh: ({ id }, formerId) => 2 * entryBytes + textHeapBytes(id) + textHeapBytes(formerId),
    });
  }

  /** The device if it is in memory; for ingest and for permission checks at delivery. */
  peek(id: DeviceId): Device | undefined {
    return this.#devices.peek(id) ?? this.#peekFormer(id);
  }

  #peekFormer(id: DeviceId): Device | undefined {
    const former = this.#formerIds.peek(id);
    if (former === undefined || former.untilMs <= this.#ages.now()) return undefined;
    const device = this.#devices.peek(former.id);
    // The device may have got yet another id, which somebody else has taken since it was removed.
    return device?.key === former.device ? device : undefined;
  }

  /** The device that had this id before. A present id comes first; where there is none, this costs a query. */
  async #findFormer(id: DeviceId): Promise<Device | undefined> {
    for (let isKnown = this.#formerIds.peek(id) !== undefined; ; isKnown = false) {
      const former = await this.#formerIds.find(id);
      if (former === undefined || former.untilMs <= this.#ages.now()) return undefined;
      const device = await this.#devices.find(former.id);
      if (device?.key === former.device) return device;
      // Where it leads was remembered from before its device got yet another id, or was removed.
      this.#formerIds.forget(id);
      if (!isKnown) return undefined;
    }
  }

  /** @throws Refusal `not-found` */
  async get(id: DeviceId): Promise<Device> {
    const device = await this.find(id);
    if (device === undefined) throw new Refusal('not-found', `There is no device ${id}.`);
    return device;
  }

  /** The device; undefined where it does not exist or is being removed. */
  async find(id: DeviceId): Promise<Device | undefined> {
    if (this.#isLeaving(id)) return undefined;
    for (let attempt = 1; ; attempt++) {
      const renames = this.#renames;
      const wasRenaming = this.#renaming.has(id);
      const device = this.peek(id) ?? (await this.#devices.find(id)) ?? (await this.#findFormer(id));
      if (device !== undefined) return this.#isLeaving(device.id) ? undefined : device;
      // Between the two looks the id may have become the present one, or a former one.
      const isSure = !wasRenaming && renames === this.#renames;
      if (isSure || attempt === lookUpsMax) return undefined;
    }
  }

  /**
   * Loads these devices, except unknown ones, so that `peek` finds them in this turn of the event loop.
   * @throws Refusal `busy` where they do not fit into the cache together.
   */
  async loadAll(ids: ReadonlySet<DeviceId>): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const found: DeviceId[] = [];
      let beganMs = performance.now();
      for (const id of ids) {
        if (this.peek(id) === undefined) {
          // Measured in time: a device with thousands of sensors takes as long as hundreds of others.
          if (performance.now() - beganMs > limits.pieceMsMax) {
            await nextLoopTurn();
            beganMs = performance.now();
          }
          if ((await this.find(id)) === undefined) continue;
        }
        found.push(id);
      }
      if (found.every((id) => this.peek(id) !== undefined)) return;
    }
    throw new Refusal('busy', 'Too many devices at once. Nothing of this request was stored; send it in parts.', {
      retryAfterS: limits.busyRetryAfterS,
    });
  }

  /** Whether the device or the sensor is being removed, so that no datapoint may be accepted for it. */
  isLeaving(device: DeviceId, sensor: SensorId): boolean {
    if (this.#leaving.size === 0 && this.#leavingElsewhere.size === 0) return false;
    return this.#isLeaving(device) || this.#isLeaving(`${device}/${sensor}`);
  }

  #isLeaving(name: string): boolean {
    return this.#leaving.has(name) || this.#leavingElsewhere.has(name);
  }

  /**
   * Writes a change of the device and updates the cache before the change is acknowledged. Changes in progress count
   * as if they were made, so that concurrent ones cannot exceed the bound together.
   * @throws Refusal `too-large` where the device would exceed its bound.
   */
  async change<T>(device: Device, growth: DeviceSize, write: () => Promise<T>): Promise<T> {
    const { id } = device;
    const isGrowing = growth.descriptions > 0 || growth.values > 0;
    // The device may have changed since the caller looked it up.
    const present = sizeOfDevice(this.peek(id) ?? device);
    const growing = this.#growing.get(id) ?? { descriptions: 0, values: 0 };
    assertDeviceSize(plus(present, growing), growth);
    if (isGrowing) this.#growing.set(id, plus(growing, growth));
    try {
      return await write();
    } finally {
      await this.refresh(id);
      if (isGrowing) this.#endGrowing(id, growth);
    }
  }

  #endGrowing(id: DeviceId, growth: DeviceSize): void {
    const left = minus(this.#growing.get(id) ?? growth, growth);
    if (left.descriptions === 0 && left.values === 0) this.#growing.delete(id);
    else this.#growing.set(id, left);
  }

  /** Reloads the device after a change of the store, here and in other processes. Until then the old record is used. */
  async refresh(id: DeviceId): Promise<void> {
    const { sensors, actuators } = this.peek(id) ?? noParts;
    // Changes of many devices are committed together. Each large device is reloaded in a turn of the event loop of
    // its own.
    if (sensors.size + actuators.size > limits.deviceStepParts) {
      this.#lastTurn = this.#lastTurn.then(nextLoopTurn);
      await this.#lastTurn;
    }
    await this.reload(id);
    await this.#coordination.announce({ kind: 'device-changed', device: id });
  }

  /**
   * Reloads the device after a change by another process. The change may have been begun under an id that the device has no
   * longer.
   */
  async reload(id: DeviceId): Promise<void> {
    this.#formerIds.forget(id);
    await this.#devices.refresh(id);
    if (this.#devices.peek(id) !== undefined) return;
    const former = await this.#formerIds.find(id);
    if (former !== undefined) await this.#devices.refresh(former.id);
  }

  /**
   * Gives the device another id: `write` stores it. Resolves when it is found under the new id and, under the one before,
   * as this one, here and in other processes.
   * @throws Refusal `not-found` while it is being removed; `busy` while a sensor of it is, or it is given another id already.
   */
  async rename<T>(device: Device, to: DeviceId, write: () => Promise<T>): Promise<T> {
    const { id } = device;
    this.assertRenamable(id);
    this.#assertNotChanging(to);
    // Both, until all that is in memory has followed: a removal meanwhile would be known by one of them alone, and what is
    // pushed by the other be lost.
    for (const each of [id, to]) this.#renaming.add(each);
    this.#renames += 1;
    try {
      return await write();
    } finally {
      // The new id first, so that messages on their way find the device in memory.
      await this.#devices.find(to).catch(() => {});
      try {
        for (const each of new Set([to, id, ...(device.formerIds ?? []).map((former) => former.id)]))
          await this.refresh(each);
      } finally {
        for (const each of [id, to]) this.#renaming.delete(each);
      }
    }
  }

  /** Writes another id of a sensor, as `change` does; the sensor is not removed meanwhile. @throws Refusal as `rename`. */
  async renameSensor<T>(device: Device, growth: DeviceSize, write: () => Promise<T>): Promise<T> {
    this.assertRenamable(device.id);
    this.#renaming.add(device.id);
    try {
      return await this.change(device, growth, write);
    } finally {
      this.#renaming.delete(device.id);
    }
  }

  /** @throws Refusal as `rename`. What is being removed is known by the present id, under which it is pushed to. */
  assertRenamable(id: DeviceId): void {
    if (this.#isLeaving(id)) throw new Refusal('not-found', `There is no device ${id}.`);
    this.#assertNotRenaming(id);
    const sensors = `${id}/`;
    for (const names of [this.#leaving, this.#leavingElsewhere.names()])
      for (const name of names) if (name.startsWith(sensors)) throw isChanging(id);
  }

  #assertNotChanging(id: DeviceId): void {
    this.#assertNotRenaming(id);
    if (this.#isLeaving(id)) throw isChanging(id);
  }

  #assertNotRenaming(id: DeviceId): void {
    if (this.#renaming.has(id)) throw isChanging(id);
  }

  /**
   * Creates a device. Its id may be an expired former id of another device.
   * @throws Refusal `exists` while another device still answers by the id.
   */
  async create(id: DeviceId, write: () => Promise<void>): Promise<void> {
    if ((await this.#findFormer(id)) !== undefined) throw new Refusal('exists', `A device still answers by ${id}.`);
    const former = await this.#formerIds.find(id);
    try {
      await write();
    } finally {
      this.forget(id);
    }
    // Not where the write was refused: anybody would make rules wait that watch the other device.
    if (former !== undefined) await this.formerTaken(id, former);
  }

  /** Call when a former id may have been taken by another device. Not while rules wait: they are looked for again. */
  async formerTaken(id: DeviceId, { id: before }: FormerDeviceId): Promise<void> {
    this.#formerIds.forget(id);
    await this.refresh(before);
    await this.#onFormerEnded(before);
  }

  /** Ends a former id of the device: `write` stores it. */
  async endFormer<T>(device: Device, former: DeviceId, write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } finally {
      await this.refresh(former);
      await this.refresh(device.id);
      await this.#onFormerEnded(device.id);
    }
  }

  /** Drops the device, because the store has changed. */
  forget(id: DeviceId): void {
    this.#formerIds.forget(id);
    this.#devices.forget(id);
  }

  /** Drops all devices, because any may have changed. */
  forgetAll(): void {
    this.#formerIds.forgetAll();
    this.#devices.forgetAll();
  }

  /**
   * Reads all devices in memory anew, because another process may have changed any; until then the old records are used.
   * @param present the servers that are there: removals by others have ended.
   */
  async refreshAll(present: readonly string[] | undefined): Promise<void> {
    const left = present === undefined ? [] : this.#leavingElsewhere.leftBy(present);
    // What was removed is gone before it would be taken for there.
    for (const name of left) await this.reload(name.split('/', 1)[0] as DeviceId);
    if (present !== undefined) this.#leavingElsewhere.keepOnly(present);
    await this.#formerIds.refreshAll();
    await this.#devices.refreshAll();
  }

  /**
   * Runs the removal of a device or sensor, under its present id. No datapoint is accepted for it meanwhile.
   * @throws Refusal `busy` while the device is being given another id.
   */
  async leave(what: DevicePart, removal: () => Promise<void>): Promise<void> {
    this.#assertNotRenaming(what.device);
    const hasFormer = what.sensor === undefined && this.#devices.peek(what.device)?.formerIds !== undefined;
    const name = nameOf(what);
    const tell = (isLeaving: boolean) => this.#coordination.announce({ kind: 'device-leaving', ...what, isLeaving });
    this.#leaving.add(name);
    try {
      // Commits earlier pushes first, so that the removal includes them.
      await Promise.all([this.#pushesSettled(), tell(true)]);
      await removal();
    } finally {
      this.#leaving.delete(name);
      await this.#reloadRest(what);
      await tell(false);
      if (hasFormer) await this.#onFormerEnded(what.device);
    }
  }

  /**
   * Follows a removal by another process. At its beginning, resolves when everything accepted here so far is
   * committed or refused.
   */
  async followLeaving(what: DevicePart, by: { readonly server: string; readonly isLeaving: boolean }): Promise<void> {
    this.#leavingElsewhere.follow(nameOf(what), by);
    if (by.isLeaving) await this.#pushesSettled();
    else await this.#reloadRest(what);
  }

  /** After a removal: drops the device that is gone, or reloads the one that has lost a sensor. */
  async #reloadRest({ device, sensor }: DevicePart): Promise<void> {
    if (sensor === undefined) this.forget(device);
    else await this.reload(device);
  }
}

function isChanging(id: DeviceId): Refusal {
  return new Refusal('busy', `Device ${id} is being changed by another request. Try again.`, {
    retryAfterS: limits.busyRetryAfterS,
  });
}

function nameOf({ device, sensor }: DevicePart): string {
  return sensor === undefined ? device : `${device}/${sensor}`;
}

function plus(one: DeviceSize, other: DeviceSize): DeviceSize {
  return { descriptions: one.descriptions + other.descriptions, values: one.values + other.values };
}

function minus(one: DeviceSize, other: DeviceSize): DeviceSize {
  return { descriptions: one.descriptions - other.descriptions, values: one.values - other.values };
}
