// Caches whole devices for ingest and permission checks; bounded, filled from the store (I4). Also knows what is
// being removed, from the moment the removal is queued, so that no datapoint is accepted for it afterwards and lost.

import { entryBytes } from '../../base/memory/heap-bytes.ts';
import { LoadingCache } from '../../base/memory/loading-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import { nextLoopTurn } from '../../base/time/next-loop-turn.ts';
import { limits } from '../../config/limits.ts';
import type { Announcer } from '../ports/coordination.ts';
import { remembered } from '../remembered.ts';
import type { Device, DeviceId } from './device.ts';
import { deviceHeapBytes } from './device-heap-bytes.ts';
import { assertDeviceSize, type DeviceSize, sizeOfDevice } from './device-size.ts';
import type { DeviceStore } from './device-store.ts';
import type { SensorId } from './sensor.ts';

const noParts = { sensors: new Map(), actuators: new Map() };

/** A device, or one of its sensors. */
interface DevicePart {
  readonly device: DeviceId;
  readonly sensor?: SensorId | undefined;
}

export class DeviceDirectory {
  readonly #devices: LoadingCache<DeviceId, Device>;
  /**
   * Devices and sensors whose removal by this process is in progress: `device` or `device/sensor`. Bounded by the
   * queue of statements.
   */
  readonly #leaving = new Set<string>();
  /** Devices and sensors that other processes are removing. Bounded by their queues. */
  readonly #leavingElsewhere = new Set<string>();
  readonly #coordination: Announcer;
  readonly #pushesSettled: () => Promise<void>;
  /** Resolves when the latest reload of a large device may begin. */
  #lastTurn: Promise<void> = Promise.resolve();
  /** Growth of devices by changes in progress, in bytes. Bounded by the queue of statements. */
  readonly #growing = new Map<DeviceId, DeviceSize>();

  constructor(options: {
    readonly store: DeviceStore;
    readonly bytesMax: number;
    /** Resolves when all datapoints accepted so far are committed or refused. Never rejects. */
    readonly pushesSettled: () => Promise<void>;
    readonly coordination: Announcer;
  }) {
    this.#pushesSettled = options.pushesSettled;
    this.#coordination = options.coordination;
    this.#devices = new LoadingCache({
      load: (id) => options.store.find(id),
      weightMax: options.bytesMax,
      pool: remembered,
      weigh: (device) => entryBytes + deviceHeapBytes(device),
    });
  }

  /** The device if it is in memory; for ingest and for permission checks at delivery. */
  peek(id: DeviceId): Device | undefined {
    return this.#devices.peek(id);
  }

  /** @throws Refusal `not-found` */
  async get(id: DeviceId): Promise<Device> {
    const device = await this.find(id);
    if (device === undefined) throw new Refusal('not-found', `There is no device ${id}.`);
    return device;
  }

  /** The device; undefined where it does not exist or is being removed. */
  async find(id: DeviceId): Promise<Device | undefined> {
    return this.#isLeaving(id) ? undefined : this.#devices.find(id);
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

  /** Reloads the device after a change by another process. */
  reload(id: DeviceId): Promise<void> {
    return this.#devices.refresh(id);
  }

  /** Drops the device, because the store has changed. */
  forget(id: DeviceId): void {
    this.#devices.forget(id);
  }

  /** Drops all devices, because any may have changed. */
  forgetAll(): void {
    this.#leavingElsewhere.clear();
    this.#devices.forgetAll();
  }

  /** Runs the removal of a device or sensor. No datapoint is accepted for it meanwhile. */
  async leave(what: DevicePart, removal: () => Promise<void>): Promise<void> {
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
    }
  }

  /**
   * Follows a removal by another process. At its beginning, resolves when everything accepted here so far is
   * committed or refused.
   */
  async followLeaving(what: DevicePart, isLeaving: boolean): Promise<void> {
    if (isLeaving) {
      this.#leavingElsewhere.add(nameOf(what));
      await this.#pushesSettled();
    } else {
      this.#leavingElsewhere.delete(nameOf(what));
      await this.#reloadRest(what);
    }
  }

  /** After a removal: drops the device that is gone, or reloads the one that has lost a sensor. */
  async #reloadRest({ device, sensor }: DevicePart): Promise<void> {
    if (sensor === undefined) this.forget(device);
    else await this.reload(device);
  }
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
