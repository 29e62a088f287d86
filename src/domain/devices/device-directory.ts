// The devices held in memory, whole, for ingest and access checks; bounded, filled from the store (I4).
// What is being removed is known here from the moment its removal is queued, so that no datapoint can be accepted
// behind it and be lost.
import { LruCache } from '../../base/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { SensorId } from '../sensors/sensor.ts';
import type { Device, DeviceId } from './device.ts';
import type { DeviceStore } from './device-store.ts';

export class DeviceDirectory {
  readonly #store: DeviceStore;
  readonly #devices: LruCache<DeviceId, Device>;
  readonly #loading = new Map<DeviceId, Promise<Device | undefined>>();
  readonly #refreshing = new Map<DeviceId, Promise<Device | undefined>>();
  /** Devices and sensors whose removal is queued: `device` or `device/sensor`. Bounded by the queue of statements. */
  readonly #leaving = new Set<string>();
  readonly #pushesCommitted: () => Promise<void>;
  #changes = 0;

  constructor(options: {
    readonly store: DeviceStore;
    readonly partsMax: number;
    /** Resolves when all datapoints accepted so far are committed. */
    readonly pushesCommitted: () => Promise<void>;
  }) {
    this.#store = options.store;
    this.#pushesCommitted = options.pushesCommitted;
    this.#devices = new LruCache({
      weightMax: options.partsMax,
      weigh: (device) => 1 + device.sensors.size + device.actuators.size + device.shares.size,
    });
  }

  /** The device if it is in memory; the fast way of ingest and of access checks at delivery. */
  peek(id: DeviceId): Device | undefined {
    return this.#devices.get(id);
  }

  /** @throws Refusal `not-found` */
  async get(id: DeviceId): Promise<Device> {
    const device = await this.find(id);
    if (device === undefined) throw new Refusal('not-found', `There is no device ${id}.`);
    return device;
  }

  async find(id: DeviceId): Promise<Device | undefined> {
    if (this.#leaving.has(id)) return undefined;
    const known = this.#devices.get(id);
    if (known !== undefined) return known;
    let loading = this.#loading.get(id);
    if (loading === undefined) {
      loading = this.#load(id).finally(() => this.#loading.delete(id));
      this.#loading.set(id, loading);
    }
    return loading;
  }

  isLeaving(device: DeviceId, sensor: SensorId): boolean {
    if (this.#leaving.size === 0) return false;
    return this.#leaving.has(device) || this.#leaving.has(`${device}/${sensor}`);
  }

  /**
   * Takes in a change of the store, before it is acknowledged. Until then the device stands as it was: were it
   * forgotten meanwhile, messages on their way could not be checked and would be lost.
   */
  async refresh(id: DeviceId): Promise<void> {
    if (this.#devices.get(id) === undefined) {
      this.forget(id);
      return;
    }
    this.#changes += 1;
    // A read under way begins anew after a change, so that one is enough for all who wait.
    let refreshing = this.#refreshing.get(id);
    if (refreshing === undefined) {
      refreshing = this.#load(id).finally(() => this.#refreshing.delete(id));
      this.#refreshing.set(id, refreshing);
    }
    try {
      await refreshing;
    } catch {
      // The change stands. Who asks next reads again, and is told if that fails.
      this.forget(id);
    }
  }

  /** Forgets the device, because the store has changed. */
  forget(id: DeviceId): void {
    this.#changes += 1;
    this.#devices.delete(id);
    this.#loading.delete(id);
  }

  /** Forgets everything, because anything may have changed (a user was renamed or removed). */
  forgetAll(): void {
    this.#changes += 1;
    this.#devices.clear();
    this.#loading.clear();
  }

  /** Runs a removal; until it has ended, nothing is accepted for what it removes. */
  async leave(
    what: { readonly device: DeviceId; readonly sensor?: SensorId },
    removal: () => Promise<void>,
  ): Promise<void> {
    const name = what.sensor === undefined ? what.device : `${what.device}/${what.sensor}`;
    this.#leaving.add(name);
    try {
      // What was accepted before goes in before, so that the removal takes it along.
      await this.#pushesCommitted();
      await removal();
    } finally {
      this.#leaving.delete(name);
      if (what.sensor === undefined) this.forget(what.device);
      else await this.refresh(what.device);
    }
  }

  async #load(id: DeviceId): Promise<Device | undefined> {
    for (;;) {
      const changes = this.#changes;
      const device = await this.#store.find(id);
      // A change that was committed while we read may have been missed: then read again.
      if (changes !== this.#changes) continue;
      if (device === undefined) this.#devices.delete(id);
      else this.#devices.set(id, device);
      return device;
    }
  }
}
