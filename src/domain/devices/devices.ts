// Reading and changing devices (spec 4.1, contract 3 and 4). Methods take the actor first; each asks the permission
// function before it does anything.

import { inBatches } from '../../base/in-batches.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../callers/caller.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { DeviceKey } from '../device-key.ts';
import type { Audience, Permissions } from '../permissions/permission.ts';
import { assertMayChangeVisibility, type Visibility, visibilityOfNew } from '../permissions/visibility.ts';
import type { GuestShares } from '../quotas/guest-shares.ts';
import { noScopes, type ScopeSet, scope } from '../scopes.ts';
import type { Actor, UserKey } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { Device, DeviceChange, DeviceDraft, DeviceId } from './device.ts';
import type { DeviceDirectory } from './device-directory.ts';
import { deviceHeapBytes } from './device-heap-bytes.ts';
import { assertDeviceSize, emptyDevice, growthOf, sizeOfDevice, sizeOfFields } from './device-size.ts';
import type { DeviceMatch, DeviceOrder, DeviceSearch, DeviceStore, ModificationStamp, Share } from './device-store.ts';
import { parseFilter } from './filter.ts';
import type { Near } from './near.ts';

export interface DevicePage {
  readonly devices: readonly Device[];
  /** Devices that match, on all pages. */
  readonly total: number;
}

interface PageQuery {
  readonly limit?: number | undefined;
  readonly offset: number;
  readonly search?: DeviceSearch;
  readonly order?: DeviceOrder | undefined;
  readonly near?: Near | undefined;
}

export class Devices {
  readonly #store: DeviceStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #shares: GuestShares;
  readonly #users: Users;
  readonly #clock: Clock;
  readonly #ages: Clock;
  readonly #defaultVisibility: Visibility;

  constructor(parts: {
    readonly store: DeviceStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly shares: GuestShares;
    readonly users: Users;
    readonly clock: Clock;
    /** The clock by which former ids end. */
    readonly ages: Clock;
    readonly defaultVisibility: Visibility;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#shares = parts.shares;
    this.#users = parts.users;
    this.#clock = parts.clock;
    this.#ages = parts.ages;
    this.#defaultVisibility = parts.defaultVisibility;
  }

  /** @throws Refusal `exists` when the id is taken. */
  async create(actor: Actor, draft: DeviceDraft): Promise<void> {
    this.#permissions.requireCreate(actor, { kind: 'device', id: draft.id });
    assertPartsMax(draft.sensors.length + draft.actuators.length);
    const size = sizeOfDevice(draft);
    assertDeviceSize(emptyDevice, size);
    const description_bytes = size.descriptions + size.values;
    const amounts = { devices: 1, sensors: draft.sensors.length, description_bytes };
    const visibility = visibilityOfNew(actor, draft.visibility, this.#defaultVisibility);
    try {
      const times = { atMs: this.#clock.now(), ageMs: this.#ages.now() };
      await this.#directory.create(draft.id, () =>
        this.#shares.take(actor, amounts, () => this.#store.create({ ...draft, visibility }, actor.key, times)),
      );
    } catch (error) {
      if (error instanceof Refusal && error.code === 'exists') {
        throw new Refusal(
          'exists',
          `There is a device ${draft.id} already. Choose another id, or change the existing one by PUT.`,
        );
      }
      throw error;
    }
  }

  /** The device if the actor may view it, with the scopes that the actor has. */
  async get(actor: Actor, id: DeviceId): Promise<{ device: Device; scopes: ScopeSet }> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.view);
    return { device, scopes: this.#permissions.scopesOf(actor, device) };
  }

  scopesOf(actor: Actor, device: Device): ScopeSet {
    return this.#permissions.scopesOf(actor, device);
  }

  /**
   * A page of the devices that the actor may view, in steps that are bounded in bytes, and the number of all that
   * match.
   */
  async list(
    actor: Actor,
    query: PageQuery & { readonly q?: string | undefined; readonly shared?: boolean | undefined },
  ): Promise<{ readonly steps: AsyncGenerator<readonly Device[]>; readonly total: number }> {
    this.#permissions.requireGuestAllowed(actor);
    const search = { ...query.search, sharedWith: query.shared === true ? actor.key : undefined };
    const audience = this.#permissions.audienceOf(actor, scope.view);
    const valuesFor = this.#permissions.audienceOf(actor, scope.dataView);
    const match = { audience, valuesFor, filter: parseFilter(query.q) };
    const { keys, total } = await this.#pageKeys(match, { ...query, search });
    return { steps: this.#inSteps(keys, actor.caller), total };
  }

  /** The domains of the devices that the actor may see, each once, 9 before 10. */
  async listDomains(actor: Actor): Promise<string[]> {
    this.#permissions.requireGuestAllowed(actor);
    const audience = this.#permissions.audienceOf(actor, scope.view);
    const own = audience.all
      ? []
      : await this.#store.listDomains({ ...audience, public: false }, limits.domainsListedMax);
    // Those of strangers' public devices fill up what is left.
    const seen = await this.#store.listDomains(audience, limits.domainsListedMax);
    const domains = [...new Set([...own, ...seen])].slice(0, limits.domainsListedMax);
    return domains.sort(new Intl.Collator('en', { numeric: true }).compare);
  }

  /**
   * Reads the devices in steps. A step has as many as fit by their parts, and by bytes as estimated from the step
   * before.
   */
  async *#inSteps(keys: readonly DeviceKey[], caller: Caller): AsyncGenerator<readonly Device[]> {
    let count: number = limits.deviceListDefault;
    for (let from = 0; from < keys.length; ) {
      await loopTurns.turn(caller);
      const parts = await this.#store.countParts(keys.slice(from, from + count), limits.deviceStepParts);
      count = countWithin(parts, limits.deviceStepParts);
      const devices = await this.#store.listByKeys(keys.slice(from, from + count));
      yield devices;
      from += count;
      const bytes = devices.reduce((sum, device) => sum + deviceHeapBytes(device), 0);
      const fitting = Math.floor((limits.deviceStepBytes * Math.max(1, devices.length)) / Math.max(1, bytes));
      count = Math.min(Math.max(1, fitting), limits.recordStepRows);
    }
  }

  /** The devices that the actor owns, in order of creation. For users, not for API keys. */
  listOwn(actor: Actor): AsyncGenerator<readonly Device[]> {
    return this.#listInOrder(actor.caller, { audience: this.#permissions.ownAudienceOf(actor) });
  }

  /** The devices of a gateway that the actor may view, in order of creation. */
  listOfGateway(actor: Actor, gateway: string): AsyncGenerator<readonly Device[]> {
    return this.#listInOrder(actor.caller, { audience: this.#permissions.audienceOf(actor, scope.view), gateway });
  }

  async *#listInOrder(
    caller: Caller,
    among: { readonly audience: Audience; readonly gateway?: string },
  ): AsyncGenerator<readonly Device[]> {
    for await (const keys of inBatches((step) => this.#store.listKeysAfter({ ...among, ...step }), {
      ...{ offset: 0, stepRows: limits.recordStepRows },
      turn: () => loopTurns.turn(caller),
    })) {
      const step = keys.map(({ key }) => key);
      yield* this.#inSteps(step, caller);
    }
  }

  /** The existing devices among the ids that the actor may view, in the order of the ids. */
  async *listVisible(actor: Actor, ids: readonly DeviceId[]): AsyncGenerator<readonly Device[]> {
    const mayView = (device: Device) => (this.#permissions.scopesOf(actor, device) & scope.view) !== 0;
    for (let from = 0; from < ids.length; from += limits.recordStepRows) {
      await loopTurns.turn(actor.caller);
      const keys = await this.#store.listKeysByIds(ids.slice(from, from + limits.recordStepRows), this.#ages.now());
      for await (const devices of this.#inSteps(keys, actor.caller)) yield devices.filter(mayView);
    }
  }

  /** The first devices of an owner and the number of all. Checks no permission. */
  async ownedBy(owner: UserKey, limit: number): Promise<DevicePage> {
    const audience = { all: false, public: false, user: owner, shared: noScopes } as const;
    const { keys, total } = await this.#pageKeys({ audience, filter: [] }, { limit, offset: 0 });
    return { devices: await this.#store.listByKeys(keys), total };
  }

  /** @throws Refusal `forbidden` when guest would make a record private. */
  async update(actor: Actor, id: DeviceId, change: DeviceChange): Promise<void> {
    const device = await this.#require(actor, id, scope.update);
    assertMayChangeVisibility(change.visibility, { actor, owner: device.owner });
    const growth = growthOf(sizeOfFields(device), sizeOfFields({ ...device, ...change } as Partial<Device>));
    const onlyUnshared = !this.#permissions.mayShare(actor, device);
    const write = async (stamp: ModificationStamp) => {
      if (await this.#store.update(stamp, change, { onlyUnshared })) return;
      throw new Refusal(
        'forbidden',
        `Gateway ${change.gatewayId} is shared with its devices. Only the owner of ${id} and admins, without an API key, bring it under that gateway.`,
      );
    };
    await this.#shares.take(actor, { description_bytes: growth.descriptions }, () =>
      this.#change(device, write, growth),
    );
  }

  async remove(actor: Actor, id: DeviceId): Promise<void> {
    const device = await this.#require(actor, id, scope.delete);
    await this.#directory.leave({ device: device.id }, () => this.#store.remove(device.key));
    const { descriptions, values } = sizeOfDevice(device);
    const description_bytes = descriptions + values;
    this.#shares.release(actor, { devices: 1, sensors: device.sensors.size, description_bytes });
  }

  async listShares(actor: Actor, id: DeviceId): Promise<Share[]> {
    this.#permissions.requireNoKey(actor, 'shares');
    const device = await this.#directory.get(id);
    this.#permissions.requireOwner(actor, device);
    return this.#store.listShares(device.key);
  }

  /** Gives the user exactly these scopes on the device. No scopes: removes the share. */
  async share(actor: Actor, id: DeviceId, username: string, scopes: ScopeSet): Promise<void> {
    this.#permissions.requireNoKey(actor, 'shares');
    const device = await this.#directory.get(id);
    this.#permissions.requireOwner(actor, device);
    const user = await this.#users.getByName(username);
    if (user.username === 'guest')
      throw new Refusal('malformed', 'A device is shared with a user who can sign in, not with guest.');
    try {
      if (scopes === noScopes) await this.#store.removeShare(device.key, user.key);
      else await this.#store.putShare(device.key, user.key, { scopes, givenBy: actor.key });
    } finally {
      await this.#directory.refresh(device.id);
    }
  }

  async #pageKeys(
    asked: Pick<DeviceMatch, 'audience' | 'filter' | 'valuesFor'>,
    { limit, offset, search = {}, order, near }: PageQuery,
  ): Promise<{ readonly keys: readonly DeviceKey[]; readonly total: number }> {
    const match: DeviceMatch = { ...asked, search, near };
    const total = await this.#store.count(match);
    const page = { offset, order, ...(limit === undefined ? {} : { limit }) };
    return { keys: total <= offset ? [] : await this.#store.listKeys({ ...match, ...page }), total };
  }

  async #require(actor: Actor, id: DeviceId, needed: ScopeSet): Promise<Device> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, needed);
    return device;
  }

  #change(device: Device, write: (stamp: ModificationStamp) => Promise<void>, growth = emptyDevice): Promise<void> {
    return this.#directory.change(device, growth, () => write({ device: device.key, atMs: this.#clock.now() }));
  }
}

/** How many of the first amounts fit into `max` in sum; at least one. */
function countWithin(amounts: readonly number[], max: number): number {
  let sum = 0;
  const beyond = amounts.findIndex((amount) => {
    sum += amount;
    return sum > max;
  });
  return Math.max(1, beyond < 0 ? amounts.length : beyond);
}

/** @throws Refusal `too-large` when a device would have too many sensors and actuators. */
export function assertPartsMax(count: number): void {
  if (count <= limits.devicePartsMax) return;
  throw new Refusal('too-large', `A device may have ${limits.devicePartsMax} sensors and actuators, not ${count}.`);
}
