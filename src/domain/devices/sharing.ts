// Lists shares, and explains a user's rights on a device (contract 3 and 10). Shares are made in devices.ts.
import { inStepsAfter } from '../../base/in-batches.ts';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { PermissionReason, Permissions } from '../permissions/permission.ts';
import { noScopes, type ScopeSet, scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { Device, DeviceId } from './device.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { DeviceStore, ShareDirection, ShareOfDevice, SharesPage } from './device-store.ts';
import type { RecordShareStore, SharedRecordKind, ShareOfRecord, ShareSource } from './record-share-store.ts';

export interface SharePage {
  readonly shares: readonly ShareOfDevice[];
  /** Shares on all pages. */
  readonly total: number;
}

export interface RecordSharePage {
  readonly shares: readonly ShareOfRecord[];
  /** Shares on all pages. */
  readonly total: number;
}

/** Which page of which shares: what others share with the actor, or what the actor shares. */
export interface ShareQuery {
  readonly direction: 'with-me' | 'by-me';
  readonly limit: number;
  readonly offset: number;
}

/** A user's rights on a device, and where they come from. */
export interface Explanation {
  readonly device: Device;
  /** The device’s id for who may view it; for others the one that they asked for, which may be a former one. */
  readonly shownId: DeviceId;
  readonly username: string;
  readonly scopes: ScopeSet;
  readonly reasons: readonly PermissionReason[];
  /** Setting actuators is a right of its own (contract 4). */
  readonly maySetActuators: boolean;
  /** The shares by which the user has rights on the device; empty for guest. */
  readonly sources: readonly ShareSource[];
}

export class Sharing {
  readonly #store: DeviceStore;
  readonly #recordShares: RecordShareStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #users: Users;

  constructor(parts: {
    readonly store: DeviceStore;
    readonly recordShares: RecordShareStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly users: Users;
  }) {
    this.#store = parts.store;
    this.#recordShares = parts.recordShares;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#users = parts.users;
  }

  /** A page of the shares of devices that the actor has, or of those on devices that the actor owns. */
  async list(actor: Actor, query: ShareQuery): Promise<SharePage> {
    const direction = this.#directionOf(actor, query);
    if (direction === undefined) return { shares: [], total: 0 };
    const total = await this.#store.countSharesOf(direction);
    const shares = total <= query.offset ? [] : await this.#store.listSharesOf(direction, query);
    return { shares: namedFor(actor, direction, shares), total };
  }

  /** The same for gateways or projects. */
  async listOfRecords(actor: Actor, kind: SharedRecordKind, query: ShareQuery): Promise<RecordSharePage> {
    const direction = this.#directionOf(actor, query);
    if (direction === undefined) return { shares: [], total: 0 };
    const total = await this.#recordShares.countOf(kind, direction);
    return { shares: total <= query.offset ? [] : await this.#recordShares.listOf(kind, direction, query), total };
  }

  /** All shares of devices in that direction, in the order of `list`. */
  async *listAll(actor: Actor, direction: ShareQuery['direction']): AsyncGenerator<readonly ShareOfDevice[]> {
    const asked = this.#directionOf(actor, { direction });
    if (asked === undefined) return;
    yield* inStepsAfter(
      async (step: SharesPage) => namedFor(actor, asked, await this.#store.listSharesOf(asked, step)),
      stepsFor(actor),
    );
  }

  /** The same for gateways or projects. */
  async *listAllOfRecords(
    actor: Actor,
    kind: SharedRecordKind,
    direction: ShareQuery['direction'],
  ): AsyncGenerator<readonly ShareOfRecord[]> {
    const asked = this.#directionOf(actor, { direction });
    if (asked !== undefined)
      yield* inStepsAfter((step) => this.#recordShares.listOf(kind, asked, step), stepsFor(actor));
  }

  /** Undefined for guests who may not act as owners: they see no shares. */
  #directionOf(actor: Actor, { direction }: Pick<ShareQuery, 'direction'>): ShareDirection | undefined {
    this.#permissions.requireGuestAllowed(actor);
    this.#permissions.requireNoKey(actor, 'shares');
    if (!this.#permissions.mayOwn(actor)) return undefined;
    return direction === 'with-me' ? { sharedWith: actor.key } : { ownedBy: actor.key };
  }

  /**
   * A user's rights on the device and the reasons for them. The owner and admins may ask about anybody, others only
   * about themselves.
   * @throws Refusal `not-found`, `forbidden`.
   */
  async explain(actor: Actor, id: DeviceId, username = actor.username): Promise<Explanation> {
    const device = await this.#directory.get(id);
    if (username !== actor.username) {
      this.#permissions.requireNoKey(actor, 'shares');
      this.#permissions.requireOwner(actor, device);
    }
    this.#permissions.requireGuestAllowed(actor);
    const asked = username === actor.username ? actor : this.#users.actorOf(await this.#users.getByName(username));
    const mayView = (this.#permissions.scopesOf(actor, device) & scope.view) !== noScopes;
    return {
      device,
      shownId: mayView ? device.id : id,
      username,
      scopes: this.#permissions.scopesOf(asked, device),
      reasons: this.#permissions.reasonsOf(asked, device),
      maySetActuators: this.#permissions.maySetActuators(asked, device),
      sources: asked.guest ? [] : await this.#recordShares.listSources(device.key, asked.key),
    };
  }
}

/** How all shares are read: a step when it is the actor's turn. */
function stepsFor({ caller }: Actor) {
  return { offset: 0, stepRows: limits.archiveStepRecords, turn: () => loopTurns.turn(caller) };
}

/**
 * A share tells who has it the id of the device, which it is for, but not its name where it gives no right to view the device: names are
 * for those who may.
 */
function namedFor(actor: Actor, direction: ShareDirection, shares: readonly ShareOfDevice[]): ShareOfDevice[] {
  return shares.map((share) => {
    if ('ownedBy' in direction || actor.admin || share.isPublic || (share.scopes & scope.view) !== 0) return share;
    const { deviceName: _, ...rest } = share;
    return rest;
  });
}
