// What one can do with devices (spec 4.1, contract 3 and 4). Methods take the actor first; each asks the one
// permission function before it does anything.
import type { Clock } from '../../base/clock.ts';
import { Refusal } from '../../base/refusal.ts';
import { inSteps } from '../../base/stepwise.ts';
import { limits } from '../../config/limits.ts';
import { assertDraft } from '../actuators/actuator.ts';
import type { Audience, Permissions } from '../permissions/permission.ts';
import { noScopes, type ScopeSet, scope } from '../permissions/scopes.ts';
import { assertMayBecome, assertMayOwn, visibilityOfNew } from '../permissions/visibility.ts';
import type { Actor, UserKey } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { Device, DeviceChange, DeviceDraft, DeviceId, Visibility } from './device.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { DeviceOrder, DeviceSearch, DeviceStore, Mark, Share } from './device-store.ts';
import { type Filter, parseFilter } from './filter.ts';

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
}

export class Devices {
  readonly #store: DeviceStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #users: Users;
  readonly #clock: Clock;
  readonly #defaultVisibility: Visibility;

  constructor(parts: {
    readonly store: DeviceStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly users: Users;
    readonly clock: Clock;
    readonly defaultVisibility: Visibility;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#users = parts.users;
    this.#clock = parts.clock;
    this.#defaultVisibility = parts.defaultVisibility;
  }

  /** @throws Refusal `exists` when the id is taken. */
  async create(actor: Actor, draft: DeviceDraft): Promise<void> {
    this.#permissions.requireCreate(actor, { kind: 'device', id: draft.id });
    assertPartsMax(draft.sensors.length + draft.actuators.length);
    for (const [index, actuator] of draft.actuators.entries()) assertDraft(actuator, `/actuators/${index}`);
    const visibility = visibilityOfNew(actor, draft.visibility, this.#defaultVisibility);
    try {
      await this.#store.create({ ...draft, visibility }, actor.key, this.#clock.now());
    } catch (error) {
      if (error instanceof Refusal && error.code === 'exists') {
        throw new Refusal(
          'exists',
          `There is a device ${draft.id} already. Choose another id, or change the existing one by PUT.`,
        );
      }
      throw error;
    } finally {
      this.#directory.forget(draft.id);
    }
  }

  /** The device as the actor may see it, with the scopes held. */
  async get(actor: Actor, id: DeviceId): Promise<{ device: Device; scopes: ScopeSet }> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, scope.view);
    return { device, scopes: this.#permissions.scopesOf(actor, device) };
  }

  scopesOf(actor: Actor, device: Device): ScopeSet {
    return this.#permissions.scopesOf(actor, device);
  }

  /** A page of the devices the actor may view. */
  async list(
    actor: Actor,
    query: PageQuery & { readonly q?: string | undefined; readonly shared?: boolean | undefined },
  ): Promise<DevicePage> {
    this.#permissions.requireGuestAllowed(actor);
    const search = { ...query.search, sharedWith: query.shared === true ? actor.key : undefined };
    return this.#page(this.#permissions.audienceOf(actor, scope.view), parseFilter(query.q), { ...query, search });
  }

  /** The devices of a gateway that the actor may view, in order of creation. */
  listOfGateway(actor: Actor, gateway: string): AsyncGenerator<readonly Device[]> {
    const audience = this.#permissions.audienceOf(actor, scope.view);
    return inSteps((step) => this.#store.listOfGateway(gateway, { audience, ...step }), {
      ...{ offset: 0, stepRows: limits.recordStepRows },
    });
  }

  /** Those of the ids that there are and the actor may view, in the order of the ids. */
  async listVisible(actor: Actor, ids: readonly DeviceId[]): Promise<Device[]> {
    const found = new Map((await this.#store.listByIds(ids)).map((device) => [device.id, device]));
    const mayView = (device: Device) => (this.#permissions.scopesOf(actor, device) & scope.view) !== 0;
    return ids.flatMap((id) => found.get(id) ?? []).filter(mayView);
  }

  /** The first devices of an owner, and how many there are; for what is asked about the owner, not in a caller's name. */
  async ownedBy(owner: UserKey, limit: number): Promise<DevicePage> {
    return this.#page({ all: false, public: false, user: owner, shared: noScopes }, [], { limit, offset: 0 });
  }

  /** @throws Refusal `forbidden` when guest would make a record private. */
  async update(actor: Actor, id: DeviceId, change: DeviceChange): Promise<void> {
    const device = await this.#require(actor, id, scope.update);
    assertMayBecome(change.visibility, { actor, owner: device.owner });
    await this.#change(device, (mark) => this.#store.update(mark, change));
  }

  /** Hands the device over; the present owner and admins may. */
  async setOwner(actor: Actor, id: DeviceId, username: string): Promise<void> {
    this.#permissions.requireNoKey(actor, 'owners');
    const device = await this.#directory.get(id);
    this.#permissions.requireOwner(actor, device);
    const owner = await this.#users.getByName(username);
    assertMayOwn(owner.username, device);
    await this.#change(device, (mark) => this.#store.setOwner(mark, owner.key));
  }

  async remove(actor: Actor, id: DeviceId): Promise<void> {
    const device = await this.#require(actor, id, scope.delete);
    const sensors = [...device.sensors.values()].map((sensor) => sensor.key);
    await this.#directory.leave({ device: id }, () => this.#store.remove(device.key, sensors));
  }

  async listShares(actor: Actor, id: DeviceId): Promise<Share[]> {
    this.#permissions.requireNoKey(actor, 'shares');
    const device = await this.#directory.get(id);
    this.#permissions.requireOwner(actor, device);
    return this.#store.listShares(device.key);
  }

  /** Gives the user exactly these scopes on the device; none takes the share away. */
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
      await this.#directory.refresh(id);
    }
  }

  async #page(
    audience: Audience,
    filter: Filter,
    { limit, offset, search = {}, order }: PageQuery,
  ): Promise<DevicePage> {
    const total = await this.#store.count({ audience, filter, search });
    const page = { offset, order, ...(limit === undefined ? {} : { limit }) };
    return { devices: total <= offset ? [] : await this.#store.list({ audience, filter, search, ...page }), total };
  }

  async #require(actor: Actor, id: DeviceId, needed: ScopeSet): Promise<Device> {
    const device = await this.#directory.get(id);
    this.#permissions.require(actor, device, needed);
    return device;
  }

  async #change(device: Device, write: (mark: Mark) => Promise<void>): Promise<void> {
    try {
      await write({ device: device.key, atMs: this.#clock.now() });
    } finally {
      await this.#directory.refresh(device.id);
    }
  }
}

/** @throws Refusal `too-large` when a device would have too many sensors and actuators. */
export function assertPartsMax(count: number): void {
  if (count <= limits.devicePartsMax) return;
  throw new Refusal('too-large', `A device may have ${limits.devicePartsMax} sensors and actuators, not ${count}.`);
}
