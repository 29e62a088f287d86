// Reading and changing projects (contract 6). Methods take the actor first; each asks the permission function before it
// does anything.
import type { Ids } from '../../base/ids.ts';
import { inBatches } from '../../base/in-batches.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../callers/caller.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { DeviceId } from '../devices/device.ts';
import type { Share } from '../devices/device-store.ts';
import type { FormerIdStore } from '../devices/former-ids/former-id-store.ts';
import { hasSameDevices, outdated, type RecordSharing } from '../devices/record-sharing.ts';
import type { Audience, Permissions } from '../permissions/permission.ts';
import type { GuestShares } from '../quotas/guest-shares.ts';
import { type ScopeSet, scope } from '../scopes.ts';
import type { Actor, UserKey } from '../users/user.ts';
import type { Project, ProjectChange, ProjectDraft, ProjectFields, ProjectId } from './project.ts';
import type { ProjectOutcome, ProjectStore } from './project-store.ts';

export interface ProjectPage {
  /** Projects of the actor, on all pages. */
  readonly total: number;
  readonly projects: AsyncGenerator<Project>;
}

export class Projects {
  readonly #store: ProjectStore;
  readonly #permissions: Permissions;
  readonly #shares: GuestShares;
  readonly #sharing: RecordSharing;
  readonly #ids: Ids;
  readonly #formerIds: Pick<FormerIdStore, 'presentIds'>;

  constructor(parts: {
    readonly projectStore: ProjectStore;
    readonly permissions: Permissions;
    readonly shares: GuestShares;
    readonly recordSharing: RecordSharing;
    readonly ids: Ids;
    readonly formerIds: Pick<FormerIdStore, 'presentIds'>;
  }) {
    this.#store = parts.projectStore;
    this.#permissions = parts.permissions;
    this.#shares = parts.shares;
    this.#sharing = parts.recordSharing;
    this.#ids = parts.ids;
    this.#formerIds = parts.formerIds;
  }

  /**
   * Creates a project and returns its id.
   * @throws Refusal `exists` when the id is taken.
   */
  async create(actor: Actor, draft: ProjectDraft): Promise<ProjectId> {
    const id = draft.id ?? this.#ids.uuid();
    this.#permissions.requireCreate(actor, { kind: 'project', id });
    try {
      const deviceIds = await this.#presentIds(actor, draft.deviceIds, actor.key);
      await this.#shares.take(actor, { projects: 1 }, () =>
        this.#store.create({ ...withoutRepeats({ ...draft, deviceIds }), id }, actor.key),
      );
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'exists') throw error;
      const detail = `There is a project ${id} already. Choose another id, or leave it to the service.`;
      throw new Refusal('exists', detail);
    }
    return id;
  }

  get(actor: Actor, id: ProjectId): Promise<Project> {
    return this.#require(actor, id, scope.projectView);
  }

  /** A page of the projects that the actor may view, in order of creation. */
  async list(actor: Actor, page: { readonly limit: number; readonly offset: number }): Promise<ProjectPage> {
    this.#permissions.requireGuestAllowed(actor);
    const audience = this.#permissions.audienceOf(actor, scope.projectView);
    return {
      total: await this.#store.count(audience),
      projects: this.#page({ ...page, audience, caller: actor.caller }),
    };
  }

  /** The projects that the actor owns, in order of creation. For users, not for API keys. */
  listOwn(actor: Actor): AsyncGenerator<Project> {
    const audience = this.#permissions.ownAudienceOf(actor);
    return this.#page({ caller: actor.caller, audience, limit: Number.POSITIVE_INFINITY, offset: 0 });
  }

  async update(actor: Actor, id: ProjectId, change: ProjectChange): Promise<void> {
    const { deviceIds: given, ...rest } = withoutRepeats(change);
    await this.#inAttempts(actor, { id, needed: scope.projectUpdate }, async (project) => {
      const deviceIds = given && (await this.#presentIds(actor, given, project.ownerKey));
      const onlyUnshared = !this.#permissions.mayShare(actor, project);
      const isChanged = deviceIds !== undefined && !hasSameDevices(project, { ...project, deviceIds });
      const changed = isChanged ? { ...rest, deviceIds } : rest;
      const condition = { deviceIds: project.deviceIds, onlyUnshared };
      const outcome = await this.#reloading(actor, project, { added: deviceIds }, () =>
        this.#store.update(project.key, changed, condition),
      );
      if (outcome.isDone || !onlyUnshared || !(await this.#sharing.reachesDevices(project))) return outcome.isDone;
      throw new Refusal(
        'forbidden',
        `Project ${id} is shared with its devices. Only its owner and admins, without an API key, say which these are.`,
      );
    });
  }

  async remove(actor: Actor, id: ProjectId): Promise<void> {
    await this.#inAttempts(actor, { id, needed: scope.projectDelete }, async (project) => {
      const { deviceIds } = project;
      const write = () => this.#store.remove(project.key, { deviceIds });
      return (await this.#reloading(actor, project, {}, write)).isDone;
    });
  }

  /** @throws Refusal `not-found`, `forbidden` */
  async listShares(actor: Actor, id: ProjectId): Promise<Share[]> {
    return this.#sharing.list(actor, await this.#get(id));
  }

  /**
   * Gives the user exactly these scopes on the project, and those on devices on the devices that it names. No scopes:
   * removes the share. @throws Refusal `not-found`, `forbidden`, `quota`
   */
  share(actor: Actor, id: ProjectId, share: { readonly username: string; readonly scopes: ScopeSet }): Promise<void> {
    return this.#sharing.share(actor, () => this.#get(id), share);
  }

  /**
   * Reads the project and changes it, until nobody has changed its devices meanwhile: a device that another request has
   * taken out would keep rights in memory. @throws Refusal `busy` after some attempts.
   */
  async #inAttempts(
    actor: Actor,
    { id, needed }: { readonly id: ProjectId; readonly needed: ScopeSet },
    change: (project: Project) => Promise<boolean>,
  ): Promise<void> {
    for (let attempt = 0; attempt < limits.outdatedAttemptsMax; attempt++) {
      if (await change(await this.#require(actor, id, needed))) return;
    }
    throw outdated(await this.#get(id));
  }

  async #reloading(
    actor: Actor,
    project: Project,
    { added }: { readonly added?: readonly DeviceId[] | undefined },
    write: () => Promise<ProjectOutcome>,
  ): Promise<ProjectOutcome> {
    let outcome: ProjectOutcome | undefined;
    try {
      outcome = await write();
      return outcome;
    } finally {
      // Where the write has failed, it is not known what is stored.
      if (outcome === undefined || outcome.reachesDevices) await this.#sharing.reloadDevices(actor, project, added);
    }
  }

  async *#page(query: {
    readonly caller: Caller;
    readonly audience: Audience;
    readonly limit: number;
    readonly offset: number;
  }): AsyncGenerator<Project> {
    const steps = inBatches((step) => this.#store.list({ audience: query.audience, ...step }), {
      ...query,
      stepRows: limits.projectStepRows,
      turn: () => loopTurns.turn(query.caller),
    });
    for await (const projects of steps) yield* projects;
  }

  /**
   * Replaces former ids of the owner’s devices by the present ones, because a share of the project reaches devices by their
   * present ids. Ids of devices that the actor may not view are left as they are, or the actor would learn the present ids.
   */
  async #presentIds(actor: Actor, ids: readonly DeviceId[], owner: UserKey): Promise<readonly DeviceId[]> {
    if (ids.length === 0) return ids;
    const audience = this.#permissions.audienceOf(actor, scope.view);
    const present = await this.#formerIds.presentIds(ids, owner, audience);
    return present.size === 0 ? ids : [...new Set(ids.map((id) => present.get(id) ?? id))];
  }

  /** @throws Refusal `not-found` */
  async #get(id: ProjectId): Promise<Project> {
    const project = await this.#store.find(id);
    if (project === undefined) throw new Refusal('not-found', `There is no project ${id}.`);
    return project;
  }

  async #require(actor: Actor, id: ProjectId, needed: ScopeSet): Promise<Project> {
    const project = await this.#get(id);
    this.#permissions.require(actor, project, needed);
    return project;
  }
}

/** Removes repeated ids. */
function withoutRepeats<T extends Partial<ProjectFields>>(fields: T): T {
  const distinct = { ...fields };
  if (fields.deviceIds !== undefined) Object.assign(distinct, { deviceIds: [...new Set(fields.deviceIds)] });
  if (fields.gatewayIds !== undefined) Object.assign(distinct, { gatewayIds: [...new Set(fields.gatewayIds)] });
  return distinct;
}
