// Reading and changing the actuators of a device (contract 4). Setting a value needs a right of its own: a public
// device lets strangers push readings, but not open valves.

import type { Ids } from '../../base/ids.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { CommittedSetting, Feed, OriginalMessage } from '../datapoints/feed.ts';
import { serviceCaller } from '../datapoints/ingest/writer-queue.ts';
import {
  type Actuator,
  type ActuatorChange,
  type ActuatorDraft,
  type ActuatorId,
  actuatorOf,
  noActuator,
} from '../devices/actuator.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import { type DeviceSize, emptyDevice, growthOf, sizeOfActuator } from '../devices/device-size.ts';
import type { DeviceStore, ModificationStamp } from '../devices/device-store.ts';
import { assertPartsMax } from '../devices/devices.ts';
import type { NewSetting, SettingOrigin } from '../devices/setting.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Announcement } from '../ports/announcement.ts';
import type { Announcer, Fence } from '../ports/coordination.ts';
import type { GuestShares } from '../quotas/guest-shares.ts';
import { type ScopeSet, scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Downlinks } from './downlinks.ts';

type FollowedSetting = Extract<Announcement, { readonly kind: 'actuator-set' }>;

export class Actuators {
  readonly #store: DeviceStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #shares: GuestShares;
  readonly #feed: Feed;
  readonly #downlinks: Downlinks;
  readonly #ids: Ids;
  readonly #coordination: Announcer;
  readonly #clock: Clock;

  constructor(parts: {
    readonly store: DeviceStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly shares: GuestShares;
    readonly feed: Feed;
    readonly downlinks: Downlinks;
    readonly ids: Ids;
    readonly coordination: Announcer;
    readonly clock: Clock;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#shares = parts.shares;
    this.#feed = parts.feed;
    this.#downlinks = parts.downlinks;
    this.#ids = parts.ids;
    this.#coordination = parts.coordination;
    this.#clock = parts.clock;
  }

  async get(actor: Actor, id: DeviceId, actuatorId: ActuatorId): Promise<{ actuator: Actuator; scopes: ScopeSet }> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.view);
    return { actuator: actuatorOf(device, actuatorId), scopes: this.#permissions.scopesOf(actor, device) };
  }

  /**
   * Adds an actuator, or replaces the description of the existing one with that id. A value in the draft is set as by
   * `setValue`.
   */
  async put(actor: Actor, id: DeviceId, draft: ActuatorDraft): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    const actuator = device.actuators.get(draft.id);
    const { valueJson } = draft;
    if (actuator === undefined) assertPartsMax(device.sensors.size + device.actuators.size + 1);
    const kept = valueJson ?? actuator?.valueJson;
    const growth = growthOf(sizeOfActuator(actuator), sizeOfActuator({ ...draft, ...(kept && { valueJson: kept }) }));
    const write = async (stamp: ModificationStamp) => {
      const origin = originOf(actor);
      const setting = valueJson && this.#newSetting(actor, { device, actuator, valueJson, atMs: stamp.atMs, origin });
      await this.#store.putActuator(stamp, draft, setting || undefined);
      if (actuator === undefined || !setting || valueJson === undefined) return;
      const told = { kind: 'actuator', device, actuator, valueJson, setting: setting.id, original: undefined } as const;
      await this.#tell({ ...told, caller: actor.caller });
    };
    await this.#shares.take(actor, amountsOf(growth), () => this.#change(device, growth, write));
  }

  /** Changes the description of an actuator. @throws Refusal `not-found`, `forbidden`. */
  async update(actor: Actor, id: DeviceId, actuatorId: ActuatorId, change: ActuatorChange): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    const actuator = actuatorOf(device, actuatorId);
    const growth = growthOf(sizeOfActuator(actuator), sizeOfActuator({ ...actuator, ...change } as ActuatorDraft));
    const write = async (stamp: ModificationStamp) => {
      if (!(await this.#store.updateActuator(stamp, actuator.key, change))) throw noActuator(device, actuatorId);
    };
    await this.#shares.take(actor, amountsOf(growth), () => this.#change(device, growth, write));
  }

  async remove(actor: Actor, id: DeviceId, actuatorId: ActuatorId): Promise<void> {
    const device = await this.#requireUpdate(actor, id);
    const actuator = actuatorOf(device, actuatorId);
    await this.#change(device, emptyDevice, (stamp) => this.#store.removeActuator(stamp, actuator.key));
  }

  /**
   * Stores a value and, after the commit, hands it to the feed.
   * @param options `origin`: by which door it came, by default REST; `original`: the MQTT message that set the value;
   * `fence`: the lease under which a rule sets it.
   * @throws Refusal `not-found`, `forbidden`; `too-large`.
   */
  async setValue(
    actor: Actor,
    id: DeviceId,
    actuatorId: ActuatorId,
    value: Json,
    {
      origin = originOf(actor),
      original,
      fence,
    }: {
      readonly origin?: SettingOrigin;
      readonly original?: OriginalMessage | undefined;
      readonly fence?: Fence;
    } = {},
  ): Promise<void> {
    const valueJson = JSON.stringify(value);
    const { device, actuator } = await this.requireSet(actor, id, actuatorId);
    assertValueBytes(actuator, valueJson);
    const growth = growthOf(sizeOfActuator(actuator), sizeOfActuator({ ...actuator, valueJson }));
    await this.#change(device, growth, async (stamp) => {
      const { atMs } = stamp;
      const setting = this.#newSetting(actor, { device, actuator, valueJson, atMs, origin, qos: original?.qos });
      const isThere = await this.#store.updateActuator({ ...stamp, fence }, actuator.key, { valueJson }, setting);
      if (!isThere) throw noActuator(device, actuatorId);
      const { caller } = actor;
      await this.#tell({ kind: 'actuator', device, actuator, valueJson, caller, setting: setting.id, original });
    });
  }

  /** The entry of the history; `actuator` undefined: one that is added with its value, which is not published. */
  #newSetting(
    actor: Actor,
    set: {
      readonly device: Device;
      readonly actuator: Actuator | undefined;
      readonly valueJson: string;
      readonly atMs: number;
      readonly origin: SettingOrigin;
      readonly qos?: 0 | 1 | 2 | undefined;
    },
  ): NewSetting {
    const { device, actuator, valueJson, atMs, origin, qos = 0 } = set;
    const downlink = actuator === undefined ? 'none' : this.#downlinks.downlinkOf(device, actuator, qos);
    const id = Buffer.from(this.#ids.bytes(16)).toString('hex');
    const keyId = actor.keyScopes?.keyId;
    return { id, atMs, valueJson, user: actor.key, keyId, ...origin, downlink };
  }

  /** Publishes a committed setting to subscribers, here and in other processes. */
  #tell(setting: CommittedSetting): Promise<void> {
    // Synchronously after the commit, so that the feed keeps the order of the commits (I3).
    this.#feed.publish(setting);
    const { device, actuator, valueJson, original, setting: id } = setting;
    return this.#coordination.announce({
      ...{ kind: 'actuator-set', device: device.id, actuator: actuator.id, valueJson, setting: id, original },
    });
  }

  /** Publishes a setting by another process to this process's subscribers. */
  async followSetting({ device: id, actuator: actuatorId, setting, ...told }: FollowedSetting): Promise<void> {
    const { valueJson, original } = told;
    const device = await this.#directory.find(id);
    const actuator = device?.actuators.get(actuatorId);
    if (device === undefined || actuator === undefined) return;
    // The process that received the setting has counted its caller.
    this.#feed.publish({ kind: 'actuator', device, actuator, valueJson, caller: serviceCaller, setting, original });
  }

  /** Finds the actuator. @throws Refusal `not-found`; `forbidden` when the actor may not set it. */
  async requireSet(
    actor: Actor,
    id: DeviceId,
    actuatorId: ActuatorId,
  ): Promise<{ readonly device: Device; readonly actuator: Actuator }> {
    const device = await this.#directory.get(id);
    this.#permissions.requireSetActuators(actor, device);
    return { device, actuator: actuatorOf(device, actuatorId) };
  }

  async #requireUpdate(actor: Actor, id: DeviceId): Promise<Device> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.update);
    return device;
  }

  #change<T>(device: Device, growth: DeviceSize, write: (stamp: ModificationStamp) => Promise<T>): Promise<T> {
    return this.#directory.change(device, growth, () => write({ device: device.key, atMs: this.#clock.now() }));
  }
}

/** A token that the dashboard's session was given comes from the dashboard. */
function originOf(actor: Actor): SettingOrigin {
  return { door: actor.sessionId === undefined ? 'rest' : 'dashboard' };
}

const amountsOf = ({ descriptions, values }: DeviceSize) => ({ description_bytes: descriptions + values });

/** @throws Refusal `too-large` */
function assertValueBytes(actuator: Actuator, valueJson: string): void {
  const bytes = Buffer.byteLength(valueJson);
  if (bytes <= limits.valueBytesMax) return;
  throw new Refusal(
    'too-large',
    `The value for actuator ${actuator.id} has ${bytes} bytes as JSON; a value takes ${limits.valueBytesMax}.`,
  );
}
