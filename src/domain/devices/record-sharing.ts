// Shares of gateways and projects (contract 3), for gateways.ts and projects.ts. A share may give rights on devices of the
// record. Devices in memory carry these among their shares, so the permission function asks for nothing more; whoever
// changes such a share, or what it reaches, reloads the devices before the change is acknowledged.
import { inBatches } from '../../base/in-batches.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { Permissions } from '../permissions/permission.ts';
import { noScopes, type ScopeSet } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Users } from '../users/users.ts';
import type { DeviceId } from './device.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { Share } from './device-store.ts';
import type { RecordShareStore, ShareChange, SharedRecord } from './record-share-store.ts';

export class RecordSharing {
  readonly #store: RecordShareStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #users: Users;

  constructor(parts: {
    readonly recordShares: RecordShareStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly users: Users;
  }) {
    this.#store = parts.recordShares;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#users = parts.users;
  }

  async list(actor: Actor, record: SharedRecord): Promise<Share[]> {
    this.#requireOwner(actor, record);
    return this.#store.list(record);
  }

  /**
   * Gives the user exactly these scopes; those on devices count on the record's devices. No scopes: removes the share.
   * @param find reads the record anew; @throws Refusal `not-found`
   * @throws Refusal `forbidden`, `not-found`, `quota` when the owner has too many shares that reach devices.
   */
  async share(
    actor: Actor,
    find: () => Promise<SharedRecord>,
    { username, scopes }: { readonly username: string; readonly scopes: ScopeSet },
  ): Promise<void> {
    let record = await find();
    this.#requireOwner(actor, record);
    const user = await this.#users.getByName(username);
    if (user.username === 'guest') {
      throw new Refusal('malformed', `A ${record.kind} is shared with a user who can sign in, not with guest.`);
    }
    const reachingMax = limits.reachingSharesMax;
    for (let attempt = 0; attempt < limits.outdatedAttemptsMax; attempt++) {
      const read = record;
      const change = await this.#reloading(actor, read, () =>
        scopes === noScopes
          ? this.#store.remove(read, user.key)
          : this.#store.put(read, user.key, { scopes, givenBy: actor.key, reachingMax }),
      );
      if (change.isDone) return;
      record = await find();
      this.#requireOwner(actor, record);
      if (record.ownerKey === read.ownerKey && hasSameDevices(record, read)) throw tooManyShares(record);
    }
    throw outdated(record);
  }

  /** Whether a share of this record gives rights on devices. */
  reachesDevices(record: SharedRecord): Promise<boolean> {
    return this.#store.reachesDevices(record);
  }

  /**
   * Reloads the record's devices, because a share that gives rights on them has changed, or who is its owner. For a
   * project also those in `added`.
   */
  async reloadDevices(actor: Actor, record: SharedRecord, added: readonly DeviceId[] = []): Promise<void> {
    try {
      if (record.kind === 'gateway') await this.#reloadDevicesOfGateway(actor, record.id);
      else await this.#reload(actor, [...new Set([...(record.deviceIds ?? []), ...added])]);
    } catch (error) {
      // Nothing may go on with rights that have ended.
      this.#directory.forgetAll();
      throw error;
    }
  }

  async #reloading(actor: Actor, record: SharedRecord, write: () => Promise<ShareChange>): Promise<ShareChange> {
    let change: ShareChange | undefined;
    try {
      change = await write();
      return change;
    } finally {
      // Where the write has failed, it is not known what is stored.
      if (change === undefined || change.reachesDevices) await this.reloadDevices(actor, record);
    }
  }

  async #reloadDevicesOfGateway(actor: Actor, gateway: string): Promise<void> {
    const steps = inBatches((step) => this.#store.listDevicesOfGateway(gateway, step), {
      ...{ offset: 0, stepRows: limits.recordStepRows },
      turn: () => loopTurns.turn(actor.caller),
    });
    for await (const devices of steps) {
      await this.#reload(
        actor,
        devices.map(({ id }) => id),
      );
    }
  }

  async #reload(actor: Actor, ids: readonly DeviceId[]): Promise<void> {
    for (const [n, id] of ids.entries()) {
      if (n % limits.devicesReloadedInTurn === 0) await loopTurns.turn(actor.caller);
      await this.#directory.refresh(id);
    }
  }

  #requireOwner(actor: Actor, record: SharedRecord): void {
    this.#permissions.requireNoKey(actor, 'shares');
    this.#permissions.requireOwner(actor, record);
  }
}

/** Whether two readings are of the same record and name the same devices. */
export function hasSameDevices(one: SharedRecord, other: SharedRecord): boolean {
  return one.key === other.key && JSON.stringify(one.deviceIds) === JSON.stringify(other.deviceIds);
}

/** The refusal where a project is changed by others again and again. */
export function outdated({ kind, id }: SharedRecord): Refusal {
  const detail = `The ${kind} ${id} is being changed by others. Try again.`;
  return new Refusal('busy', detail, { retryAfterS: limits.busyRetryAfterS });
}

function tooManyShares({ kind, id }: SharedRecord): Refusal {
  const limit = limits.reachingSharesMax;
  const detail = `The owner of ${kind} ${id} has ${limit} shares of gateways and projects with their devices, and may have no more.`;
  return new Refusal('quota', detail, { quota: { kind: 'shares_with_devices', used: limit, limit } });
}
