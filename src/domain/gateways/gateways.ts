// Reading and changing gateways (spec 2.4, contract 6). Methods take the actor first; each asks the permission
// function before it does anything. Gateways that MQTT asks for are cached, within a bound.

import { inBatches } from '../../base/in-batches.ts';
import { entryBytes, heapBytes } from '../../base/memory/heap-bytes.ts';
import { LoadingCache } from '../../base/memory/loading-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { Share } from '../devices/device-store.ts';
import { type Filter, parseFilter } from '../devices/filter.ts';
import type { RecordSharing } from '../devices/record-sharing.ts';
import type { Permissions } from '../permissions/permission.ts';
import {
  assertMayChangeVisibility,
  assertMayOwn,
  type Visibility,
  visibilityOfNew,
} from '../permissions/visibility.ts';
import type { Announcer } from '../ports/coordination.ts';
import type { GuestShares } from '../quotas/guest-shares.ts';
import { remembered } from '../remembered.ts';
import { type ScopeSet, scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { ClientIds } from './client-ids.ts';
import type { Gateway, GatewayChange, GatewayDraft, GatewayId, SeenGateway } from './gateway.ts';
import type { GatewayListQuery, GatewayStore } from './gateway-store.ts';
import type { Presence } from './presence.ts';
import type { RefusedCalls } from './refused-calls.ts';

export interface GatewayPage {
  /** Gateways that match, on all pages. */
  readonly total: number;
  readonly gateways: AsyncGenerator<SeenGateway>;
}

export class Gateways {
  readonly #store: GatewayStore;
  readonly #permissions: Permissions;
  readonly #shares: GuestShares;
  readonly #presence: Presence;
  readonly #refusedCalls: RefusedCalls;
  readonly #clientIds: ClientIds;
  readonly #users: Users;
  readonly #sharing: RecordSharing;
  readonly #coordination: Announcer;
  readonly #clock: Clock;
  readonly #ages: Clock;
  readonly #defaultVisibility: Visibility;
  readonly #known: LoadingCache<GatewayId, Gateway>;

  constructor(parts: {
    readonly gatewayStore: GatewayStore;
    readonly permissions: Permissions;
    readonly shares: GuestShares;
    readonly presence: Presence;
    readonly refusedCalls: RefusedCalls;
    readonly clientIds: ClientIds;
    readonly users: Users;
    readonly recordSharing: RecordSharing;
    readonly coordination: Announcer;
    readonly clock: Clock;
    /** The clock by which a handover counts no longer. */
    readonly ages: Clock;
    readonly defaultVisibility: Visibility;
  }) {
    this.#store = parts.gatewayStore;
    this.#permissions = parts.permissions;
    this.#shares = parts.shares;
    this.#presence = parts.presence;
    this.#refusedCalls = parts.refusedCalls;
    this.#clientIds = parts.clientIds;
    this.#users = parts.users;
    this.#sharing = parts.recordSharing;
    this.#coordination = parts.coordination;
    this.#clock = parts.clock;
    this.#ages = parts.ages;
    this.#defaultVisibility = parts.defaultVisibility;
    this.#known = new LoadingCache({
      load: (id) => this.#store.find(id),
      loadMany: async (_, ids) => new Map((await this.#store.listByIds(ids)).map((gateway) => [gateway.id, gateway])),
      weightMax: limits.gatewaysCachedBytesMax,
      pool: remembered,
      weigh: (gateway) => entryBytes + heapBytes(gateway),
    });
  }

  /** The gateway if it is in memory; for permission checks at delivery. */
  peek(id: GatewayId): Gateway | undefined {
    return this.#known.peek(id);
  }

  /** The gateway, from the cache or the store; undefined where it does not exist. Checks no permission. */
  find(id: GatewayId): Promise<Gateway | undefined> {
    return this.#known.find(id);
  }

  /** Drops the cache here and in other processes, because the removal of a user may have changed any gateway. */
  async anyChanged(): Promise<void> {
    this.forgetAll();
    await this.#coordination.announce({ kind: 'gateway-changed' });
  }

  /** Reloads a gateway that another process has changed. */
  reload(id: GatewayId): Promise<void> {
    return this.#known.refresh(id);
  }

  /** Reads all gateways in memory anew, because any may have changed; until then the old records are used. */
  refreshAll(): Promise<void> {
    return this.#known.refreshAll();
  }

  /** Drops the cache, because any gateway may have changed. */
  forgetAll(): void {
    this.#known.forgetAll();
  }

  /** @throws Refusal `exists` when the id is taken, or another user's MQTT client uses it. */
  async create(actor: Actor, draft: GatewayDraft): Promise<void> {
    this.#permissions.requireCreate(actor, { kind: 'gateway', id: draft.id });
    const visibility = visibilityOfNew(actor, draft.visibility, this.#defaultVisibility);
    try {
      await this.#clientIds.declare(draft.id, actor.key, async () => {
        await this.#shares.take(actor, { gateways: 1 }, () =>
          this.#store.create({ ...draft, visibility }, actor.key, this.#clock.now()),
        );
        this.#known.forget(draft.id);
      });
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'exists') throw error;
      if ((await this.find(draft.id)) === undefined) throw error;
      const detail = `There is a gateway ${draft.id} already. Choose another id, or change the existing one by PUT.`;
      throw new Refusal('exists', detail);
    } finally {
      this.#known.forget(draft.id);
    }
  }

  async get(actor: Actor, id: GatewayId): Promise<SeenGateway> {
    const [seen] = await this.#seen(actor, [await this.#require(actor, id, scope.gatewayView)]);
    return seen as SeenGateway;
  }

  /** A page of the gateways that the actor may view, in order of creation. */
  async list(
    actor: Actor,
    query: { readonly q?: string | undefined; readonly limit: number; readonly offset: number },
  ): Promise<GatewayPage> {
    this.#permissions.requireGuestAllowed(actor);
    const filter = parseFilter(query.q);
    await this.#makeReadyFor(filter);
    const found = { audience: this.#permissions.audienceOf(actor, scope.gatewayView), filter };
    const page = { ...found, ...query, actor };
    return { total: await this.#store.count(found), gateways: this.#page(page) };
  }

  /** The gateways that the actor owns, in order of creation. For users, not for API keys. */
  listOwn(actor: Actor): AsyncGenerator<SeenGateway> {
    const audience = this.#permissions.ownAudienceOf(actor);
    return this.#page({ actor, audience, filter: [], limit: Number.POSITIVE_INFINITY, offset: 0 });
  }

  /** The existing gateways among these ids that the actor may view, in the order of the ids. */
  async listVisible(actor: Actor, ids: readonly GatewayId[]): Promise<SeenGateway[]> {
    const found = new Map((await this.#store.listByIds(ids)).map((gateway) => [gateway.id, gateway]));
    const visible = ids.flatMap((id) => found.get(id) ?? []).filter((gateway) => this.#mayView(actor, gateway));
    return this.#seen(actor, visible);
  }

  /** @throws Refusal `forbidden` when guest would make a record private. */
  async update(actor: Actor, id: GatewayId, change: GatewayChange): Promise<void> {
    const gateway = await this.#require(actor, id, scope.gatewayUpdate);
    assertMayChangeVisibility(change.visibility, { actor, owner: gateway.owner });
    await this.#change(id, () => this.#store.update(gateway.key, change, this.#clock.now()));
  }

  /** Hands the gateway over; allowed to its owner and admins. @throws Refusal `quota`, `not-found`, `forbidden` */
  async setOwner(actor: Actor, id: GatewayId, username: string): Promise<void> {
    this.#permissions.requireNoKey(actor, 'owners');
    const gateway = await this.#get(id);
    this.#permissions.requireOwner(actor, gateway);
    const owner = await this.#users.getByName(username);
    assertMayOwn(owner.username, gateway);
    const nowMs = this.#clock.now();
    const forgetBeforeMs = this.#ages.now() - limits.handoverDays * dayMs;
    const options = { forgetBeforeMs, isCounted: !actor.admin };
    await this.#change(id, async () => {
      await this.#reloading(actor, gateway, () => this.#store.setOwner(gateway.key, owner.key, nowMs, options));
      // Shares that the new owner gave stay, and reach the devices of the new owner from now on.
      if (await this.#sharing.reachesDevices(gateway)) await this.#sharing.reloadDevices(actor, gateway);
    });
  }

  async remove(actor: Actor, id: GatewayId): Promise<void> {
    const gateway = await this.#require(actor, id, scope.gatewayDelete);
    await this.#change(id, () => this.#reloading(actor, gateway, () => this.#store.remove(gateway.key)));
    this.#presence.forget(gateway.key);
  }

  /** @throws Refusal `not-found`, `forbidden` */
  async listShares(actor: Actor, id: GatewayId): Promise<Share[]> {
    return this.#sharing.list(actor, await this.#get(id));
  }

  /**
   * Gives the user exactly these scopes on the gateway, and those on devices on its devices. No scopes: removes the
   * share. @throws Refusal `not-found`, `forbidden`, `quota`
   */
  async share(
    actor: Actor,
    id: GatewayId,
    share: { readonly username: string; readonly scopes: ScopeSet },
  ): Promise<void> {
    await this.#change(id, () => this.#sharing.share(actor, () => this.#get(id), share));
  }

  /** Notes a heartbeat of the gateway. @throws Refusal `not-found`, `forbidden` */
  async beat(actor: Actor, id: GatewayId): Promise<void> {
    const gateway = await this.#get(id);
    this.#permissions.requireHeartbeat(actor, gateway);
    this.#presence.noteSeen(gateway);
  }

  async *#page(
    query: GatewayListQuery & { readonly actor: Actor; readonly limit: number; readonly offset: number },
  ): AsyncGenerator<SeenGateway> {
    const { audience, filter } = query;
    const steps = inBatches((step) => this.#store.list({ audience, filter, ...step }), {
      ...query,
      stepRows: limits.recordStepRows,
      turn: () => loopTurns.turn(query.actor.caller),
    });
    for await (const gateways of steps) yield* await this.#seen(query.actor, gateways);
  }

  /** Filters search the store only, so last-seen times in memory are written before a search by them. */
  async #makeReadyFor(filter: Filter): Promise<void> {
    const fields = filter.map(({ path }) => path.join('.'));
    if (fields.includes('connected')) {
      const detail = 'connected cannot be filtered by: it is not stored. Filter by last_seen, or look at the records.';
      throw new Refusal('malformed', detail, { faults: [{ pointer: '/q', detail }] });
    }
    if (fields.includes('last_seen')) await this.#presence.flush();
  }

  async #seen(actor: Actor, gateways: readonly Gateway[]): Promise<SeenGateway[]> {
    const { ids: connected } = await this.#presence.connectedAmong(gateways);
    return gateways.map((gateway) => {
      const lastSeenMs = this.#presence.lastSeenMs(gateway);
      // It names users, and devices that may be private.
      const mayUpdate = (this.#permissions.scopesOf(actor, gateway) & scope.gatewayUpdate) !== 0;
      const refused = mayUpdate ? this.#refusedCalls.findOfGateway(gateway.id) : undefined;
      return {
        ...gateway,
        connected: connected.has(gateway.id),
        ...(lastSeenMs === undefined ? {} : { lastSeenMs }),
        ...(refused === undefined ? {} : { refused }),
      };
    });
  }

  #mayView(actor: Actor, gateway: Gateway): boolean {
    return (this.#permissions.scopesOf(actor, gateway) & scope.gatewayView) !== 0;
  }

  /** @throws Refusal `not-found` */
  async #get(id: GatewayId): Promise<Gateway> {
    const gateway = await this.find(id);
    if (gateway === undefined) throw new Refusal('not-found', `There is no gateway ${id}.`);
    return gateway;
  }

  async #require(actor: Actor, id: GatewayId, needed: ScopeSet): Promise<Gateway> {
    const gateway = await this.#get(id);
    this.#permissions.require(actor, gateway, needed);
    return gateway;
  }

  /** Makes a change that may end shares, and reloads the devices on which these gave rights. */
  async #reloading(actor: Actor, gateway: Gateway, write: () => Promise<boolean>): Promise<void> {
    let hasReached = true;
    try {
      hasReached = await write();
    } finally {
      if (hasReached) await this.#sharing.reloadDevices(actor, gateway);
    }
  }

  async #change(id: GatewayId, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } finally {
      await this.#known.refresh(id);
      await this.#coordination.announce({ kind: 'gateway-changed', gateway: id });
    }
  }
}

const dayMs = 24 * 3_600_000;
