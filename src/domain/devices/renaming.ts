// Gives devices another id (decision 41). The one before leads to the device for a year, at every door; until then nobody
// else gets it. For the owner and admins, as what gives rights to others is: whoever knows a device by its id is concerned.

import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Permissions } from '../permissions/permission.ts';
import { scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Device, DeviceId } from './device.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { FormerId } from './former-id.ts';
import type { FormerIdStore } from './former-id-store.ts';

/** What names devices by their ids in memory, and has to follow. Implemented above this noun. */
interface IdFollowers {
  /** Runs `rename` so that rules miss no datapoint by it; afterwards those that named the device have its new id. */
  whileRenaming<T>(from: DeviceId, rename: () => Promise<T>): Promise<T>;
  /** API keys may name other ids than before. */
  keysChanged(): Promise<void>;
}

/** What an answer says that was asked for by a former id. */
export interface Successor {
  /** The present id; absent for an actor who may not view the device. */
  readonly id?: DeviceId;
  /** Since when and until when the id that was asked for is a former one, in milliseconds since 1970 UTC. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

export class Renaming {
  readonly #store: FormerIdStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #clock: Clock;
  readonly #ages: Clock;
  readonly #log: Log;
  readonly #followers: IdFollowers;

  constructor(parts: {
    readonly store: FormerIdStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly clock: Clock;
    /** The clock by which former ids end. */
    readonly ages: Clock;
    readonly log: Log;
    readonly followers: IdFollowers;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#clock = parts.clock;
    this.#ages = parts.ages;
    this.#log = parts.log;
    this.#followers = parts.followers;
  }

  /**
   * Gives the device another id; back to one of its former ids, too.
   * @throws Refusal `not-found`, `forbidden`; `exists` where the id is taken; `conflict` where as many former ids answer as may.
   */
  async rename(actor: Actor, id: DeviceId, to: DeviceId): Promise<void> {
    const device = await this.#require(actor, id);
    if (device.id === to) return;
    this.#assertFewFormer(device, to);
    const { id: from } = device;
    const atMs = this.#clock.now();
    const renaming = { from, to, untilMs: atMs + limits.formerIdDays * dayMs, formerMax: limits.formerIdsMax };
    const store = () => this.#store.renameDevice({ device: device.key, atMs }, renaming);
    const rename = () => this.#directory.rename(device, to, store);
    let isRenamed: boolean;
    try {
      isRenamed = await this.#followers.whileRenaming(from, rename);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'exists') throw error;
      throw new Refusal('exists', `There is a device ${to} already, or one that had this id and still answers by it.`);
    } finally {
      await this.#followers.keysChanged();
    }
    if (!isRenamed) throw new Refusal('conflict', `Another request has given device ${from} another id meanwhile.`);
    this.#log.audit({ by: actor.username, device: to, former: from }, 'audit: a device has another id');
  }

  /** The ids by which the device still answers, the latest first; for the owner and admins. */
  async listFormer(actor: Actor, id: DeviceId): Promise<readonly FormerId[]> {
    const { formerIds = [] } = await this.#require(actor, id);
    return formerIds.filter(({ untilMs }) => untilMs > this.#ages.now());
  }

  /**
   * Where a device that was asked for by this id is found now; undefined where it has this id, or none answers by it. Only
   * looks at what is in memory: the request has just loaded it.
   */
  successorOf(actor: Actor, id: DeviceId): Successor | undefined {
    const device = this.#directory.peek(id);
    const former = device?.id === id ? undefined : device?.formerIds?.find((each) => each.id === id);
    if (device === undefined || former === undefined) return undefined;
    const mayView = (this.#permissions.scopesOf(actor, device) & scope.view) !== 0;
    const { untilMs } = former;
    return { ...(mayView ? { id: device.id } : {}), sinceMs: untilMs - limits.formerIdDays * dayMs, untilMs };
  }

  /** Ends a former id at once: it answers no longer, and anybody may take it. @throws Refusal `not-found`, `forbidden` */
  async forget(actor: Actor, id: DeviceId, former: DeviceId): Promise<void> {
    const device = await this.#require(actor, id);
    const isEnded = await this.#store.forgetDevice(device.key, former);
    await this.#directory.refresh(former);
    await this.#directory.refresh(device.id);
    if (!isEnded) throw new Refusal('not-found', `Device ${device.id} has no former id ${former}.`);
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

const dayMs = 24 * 3_600_000;
