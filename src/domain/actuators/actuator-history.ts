// The history of an actuator: who set what, when, by which door, whether it was delivered, and whether the device has
// confirmed it (contract 4).

import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import { type Actuator, type ActuatorId, actuatorOf } from '../devices/actuator.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Setting } from '../devices/setting.ts';
import type { Permissions } from '../permissions/permission.ts';
import { scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { ActuatorSettingStore } from './actuator-setting-store.ts';
import type { DeliveryMarks } from './delivery-marks.ts';

/** A span of a history; both ends count. */
export interface SettingSpan {
  /** Milliseconds since 1970 UTC. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export class ActuatorHistory {
  readonly #store: ActuatorSettingStore;
  readonly #marks: DeliveryMarks;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #clock: Clock;

  constructor(parts: {
    readonly settingStore: ActuatorSettingStore;
    readonly marks: DeliveryMarks;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly clock: Clock;
  }) {
    this.#store = parts.settingStore;
    this.#marks = parts.marks;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#clock = parts.clock;
  }

  /**
   * The settings within the span, newest first. Who set them, with which key or rule, is shown to the owner and admins;
   * others see it of their own settings alone.
   * @throws Refusal `not-found`, `forbidden`
   */
  async list(actor: Actor, id: DeviceId, actuatorId: ActuatorId, span: SettingSpan): Promise<Setting[]> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.dataView);
    const actuator = actuatorOf(device, actuatorId);
    await this.#marks.settled();
    const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = span;
    const all = await this.#store.list(actuator.key);
    const seesAll = this.#permissions.seesWhoSet(actor, device);
    return all
      .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
      .map((setting) => (seesAll || (setting.user?.key === actor.key && !actor.guest) ? setting : anonymous(setting)));
  }

  /** The value that was set last, as JSON text. @throws Refusal `not-found`, also where none was set; `forbidden` */
  async last(actor: Actor, id: DeviceId, actuatorId: ActuatorId): Promise<string> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.dataView);
    const { valueJson } = actuatorOf(device, actuatorId);
    if (valueJson !== undefined) return valueJson;
    throw new Refusal('not-found', `No value was set for actuator ${actuatorId} of device ${id}.`);
  }

  /**
   * Takes the device's answer to a setting. An object with a field `value` confirms the newest setting of that value;
   * any other answer, the newest setting that reached the device. Once a setting is confirmed, further answers to it
   * change nothing.
   * @param answer what the device sent; undefined: nothing.
   * @throws Refusal `not-found`, `forbidden`, `too-large`; `conflict` where there is no setting that it could confirm.
   */
  async acknowledge(actor: Actor, id: DeviceId, actuatorId: ActuatorId, answer: Json | undefined): Promise<void> {
    const { actuator } = await this.#requireAcknowledge(actor, id, actuatorId);
    const ackJson = answer === undefined ? undefined : JSON.stringify(answer);
    assertAckBytes(actuator, ackJson);
    // Otherwise a setting that was delivered a moment ago would not count as delivered.
    await this.#marks.settled();
    const confirmed = answeredOf(await this.#store.list(actuator.key), answer);
    if (confirmed === undefined) {
      throw new Refusal('conflict', `No setting of actuator ${actuatorId} of device ${id} is one that this confirms.`);
    }
    if (confirmed.confirmedMs !== undefined) return;
    await this.#store.confirm(confirmed.id, { atMs: this.#clock.now(), ackJson });
  }

  async #requireAcknowledge(
    actor: Actor,
    id: DeviceId,
    actuatorId: ActuatorId,
  ): Promise<{ readonly device: Device; readonly actuator: Actuator }> {
    const device = await this.#directory.get(id);
    this.#permissions.requireAcknowledge(actor, device);
    return { device, actuator: actuatorOf(device, actuatorId) };
  }
}

/** The setting that an answer confirms. @param settings newest first. */
function answeredOf(settings: readonly Setting[], answer: Json | undefined): Setting | undefined {
  if (typeof answer === 'object' && answer !== null && !Array.isArray(answer) && 'value' in answer) {
    const valueJson = JSON.stringify(answer['value']);
    return settings.find((setting) => setting.valueJson === valueJson);
  }
  const [newest] = settings;
  // `none`: it was handed to a client that was connected, though that may not have been noted.
  if (newest === undefined || newest.deliveredMs !== undefined || newest.downlink === 'none') return newest;
  // A device that fetches its values by REST is never delivered any.
  return settings.find(({ deliveredMs }) => deliveredMs !== undefined) ?? newest;
}

function anonymous({ user: _user, keyName: _key, rule: _rule, ...setting }: Setting): Setting {
  return setting;
}

/** @throws Refusal `too-large` */
function assertAckBytes(actuator: Actuator, ackJson: string | undefined): void {
  const bytes = ackJson === undefined ? 0 : Buffer.byteLength(ackJson);
  if (bytes <= limits.settingAckBytesMax) return;
  throw new Refusal(
    'too-large',
    `The answer to a setting of actuator ${actuator.id} has ${bytes} bytes as JSON; it takes ${limits.settingAckBytesMax}.`,
  );
}
