// What gateways missed: the last value of each actuator that was set while its gateway was not connected (contract 6).
// A value is given once: it is taken out of those pending in a commit of its own before it is sent, so that a crash
// between the two loses it, and shows it as not delivered, rather than giving it twice. It is never given late: where
// the wall clock leaves the age of a value in doubt, the value is too old.

import type { ClockWatch } from '../../base/time/clock-watch.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../callers/caller.ts';
import type { Actuator } from '../devices/actuator.ts';
import type { Device } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Downlink, PendingSetting, SettingId } from '../devices/setting.ts';
import type { ActuatorSettingStore } from './actuator-setting-store.ts';
import type { DeliveryMarks } from './delivery-marks.ts';

/** What the protocol by which gateways are connected says about the gateway of a device. */
export interface GatewayConnections {
  /**
   * What the gateway is still to be given when the actuator is set now. `none`: its client is connected and gets the
   * value. `qos`: of the message that sets it.
   */
  downlinkOf(device: Device, actuator: Actuator, qos: 0 | 1 | 2): Downlink;
}

/** A value that was missed, with its device and actuator as they are now. */
export interface MissedValue {
  readonly setting: PendingSetting;
  readonly device: Device;
  readonly actuator: Actuator;
}

export class Downlinks {
  readonly #store: ActuatorSettingStore;
  readonly #marks: DeliveryMarks;
  readonly #directory: DeviceDirectory;
  readonly #clocks: Pick<ClockWatch, 'isInDoubt' | 'look' | 'forExpiry' | 'now'>;
  #connections: GatewayConnections | undefined;

  constructor(parts: {
    readonly settingStore: ActuatorSettingStore;
    readonly marks: DeliveryMarks;
    readonly directory: DeviceDirectory;
    readonly clocks: Pick<ClockWatch, 'isInDoubt' | 'look' | 'forExpiry' | 'now'>;
  }) {
    this.#store = parts.settingStore;
    this.#marks = parts.marks;
    this.#directory = parts.directory;
    this.#clocks = parts.clocks;
  }

  /** Sets who knows which gateways are connected; before that, none is. */
  setConnections(connections: GatewayConnections): void {
    this.#connections = connections;
  }

  /** What the gateway of the device is still to be given when the actuator is set now. */
  downlinkOf(device: Device, actuator: Actuator, qos: 0 | 1 | 2): Downlink {
    const downlink = this.#connections?.downlinkOf(device, actuator, qos) ?? 'pending';
    // The time at which it is set decides later whether it is too old.
    return downlink === 'pending' && this.#clocks.isInDoubt ? 'none' : downlink;
  }

  /**
   * The values that the gateway missed and may still be given, in the order in which they were set.
   * @param options `withQueued`: as ActuatorSettingStore.listPending.
   */
  async *missedBy(
    gateway: string,
    options: { readonly withQueued: boolean; readonly caller: Caller },
  ): AsyncGenerator<readonly MissedValue[]> {
    // A value that was given a moment ago may still stand as pending.
    await this.#marks.settled();
    const limit = limits.downlinkBatchMax;
    for (let after = 0; ; ) {
      const pending = await this.#store.listPending(gateway, { ...options, after, limit });
      yield await this.#current(pending);
      const last = pending.at(-1);
      if (last === undefined || pending.length < limit) return;
      after = last.key;
    }
  }

  /** Takes values out of those pending; returns those that are to be sent now. Committed when it resolves. */
  async claim(values: readonly MissedValue[]): Promise<MissedValue[]> {
    if (values.length === 0) return [];
    const claimed = await this.#store.claim(values.map(({ setting }) => setting.id));
    return values.filter((_, index) => claimed[index] === true);
  }

  /** Makes values that were claimed and certainly not sent pending again. */
  async giveBack(values: readonly MissedValue[]): Promise<void> {
    if (values.length > 0) await this.#store.giveBack(values.map(({ setting }) => setting.id));
  }

  /** Whether a setting was delivered, and that is not written yet. */
  isNoted(id: SettingId): boolean {
    return this.#marks.has(id);
  }

  /** Notes that a setting was handed to a connection of its device or gateway. */
  noteDelivered(id: SettingId): void {
    this.#marks.note(id, this.#clocks.now());
  }

  /**
   * Whether a message that was queued for the actuator may still be given to its gateway: not where the actuator's last
   * setting is too old, so that all are.
   */
  async mayReplay(actuator: Actuator): Promise<boolean> {
    const setAtMs = await this.#store.lastSetMs(actuator.key);
    return setAtMs === undefined || this.isYoung(actuator, setAtMs);
  }

  /** Notes that what was queued of these actuators was given to their gateway. */
  async noteReplayed(actuators: readonly number[]): Promise<void> {
    if (actuators.length === 0) return;
    // If the disk refuses, other code reports that, and the settings are shown as not delivered.
    await this.#store.markReplayed(actuators, this.#clocks.now()).catch(() => {});
  }

  /** Resolves when all deliveries are noted. */
  idle(): Promise<void> {
    return this.#marks.settled();
  }

  /** Whether a value that was set then may still be handed over: its age is certain, and not more than the actuator says. */
  isYoung(actuator: Actuator, setAtMs: number): boolean {
    this.#clocks.look();
    if (this.#clocks.isInDoubt) return false;
    // The later of the clocks that were trusted: a clock that was set back makes nothing younger.
    const ageMs = this.#clocks.forExpiry.now() - setAtMs;
    const validMs = 1000 * (actuator.validFor ?? limits.actuatorValidForS);
    return validMs > 0 && ageMs <= validMs && ageMs >= -limits.clockDifferenceMsMax;
  }

  async #current(pending: readonly PendingSetting[]): Promise<MissedValue[]> {
    const found: MissedValue[] = [];
    for (const setting of pending) {
      const device = await this.#directory.find(setting.device);
      const actuator = device?.actuators.get(setting.actuator);
      if (device?.key !== setting.deviceKey || actuator?.key !== setting.actuatorKey) continue;
      if (this.isYoung(actuator, setting.atMs)) found.push({ setting, device, actuator });
    }
    return found;
  }
}
