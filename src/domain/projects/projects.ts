// Reading and changing projects (contract 6), for their owner and admins only. Methods take the actor first; each
// asks the permission function before it does anything.
import type { Ids } from '../../base/ids.ts';
import { inBatches } from '../../base/in-batches.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../callers/caller.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { Audience, Permissions } from '../permissions/permission.ts';
import type { GuestShares } from '../quotas/guest-shares.ts';
import { type ScopeSet, scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Project, ProjectChange, ProjectDraft, ProjectFields, ProjectId } from './project.ts';
import type { ProjectStore } from './project-store.ts';

export interface ProjectPage {
  /** Projects of the actor, on all pages. */
  readonly total: number;
  readonly projects: AsyncGenerator<Project>;
}

export class Projects {
  readonly #store: ProjectStore;
  readonly #permissions: Permissions;
  readonly #shares: GuestShares;
  readonly #ids: Ids;

  constructor(parts: {
    readonly projectStore: ProjectStore;
    readonly permissions: Permissions;
    readonly shares: GuestShares;
    readonly ids: Ids;
  }) {
    this.#store = parts.projectStore;
    this.#permissions = parts.permissions;
    this.#shares = parts.shares;
    this.#ids = parts.ids;
  }

  /**
   * Creates a project and returns its id.
   * @throws Refusal `exists` when the id is taken.
   */
  async create(actor: Actor, draft: ProjectDraft): Promise<ProjectId> {
    const id = draft.id ?? this.#ids.uuid();
    this.#permissions.requireCreate(actor, { kind: 'project', id });
    try {
      await this.#shares.take(actor, { projects: 1 }, () =>
        this.#store.create({ ...withoutRepeats(draft), id }, actor.key),
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

  /** A page of the actor's projects, in order of creation; an admin's page has the projects of everybody. */
  async list(actor: Actor, page: { readonly limit: number; readonly offset: number }): Promise<ProjectPage> {
    this.#permissions.requireGuestAllowed(actor);
    const audience = this.#permissions.audienceOf(actor, scope.projectView);
    return {
      total: await this.#store.count(audience),
      projects: this.#page({ ...page, audience, caller: actor.caller }),
    };
  }

  async update(actor: Actor, id: ProjectId, change: ProjectChange): Promise<void> {
    const project = await this.#require(actor, id, scope.projectUpdate);
    await this.#store.update(project.key, withoutRepeats(change));
  }

  async remove(actor: Actor, id: ProjectId): Promise<void> {
    const project = await this.#require(actor, id, scope.projectDelete);
    await this.#store.remove(project.key);
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

  async #require(actor: Actor, id: ProjectId, needed: ScopeSet): Promise<Project> {
    const project = await this.#store.find(id);
    if (project === undefined) throw new Refusal('not-found', `There is no project ${id}.`);
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
