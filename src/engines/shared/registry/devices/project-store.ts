// Projects in the registry.
import { type Selectable, type SqlBool, sql } from 'kysely';
import type { BatchRange } from '../../../../base/in-batches.ts';
import type { Audience } from '../../../../domain/permissions/permission.ts';
import type {
  Project,
  ProjectChange,
  ProjectFields,
  ProjectId,
  ProjectKey,
} from '../../../../domain/projects/project.ts';
import type { ProjectCondition, ProjectOutcome, ProjectStore } from '../../../../domain/projects/project-store.ts';
import { scopesOn } from '../../../../domain/scopes.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { audienceCondition, callerOf } from '../conditions/audience.ts';
import { deviceScopes } from '../conditions/inherited-shares.ts';
import { withinTime } from '../conditions/time-guard.ts';
import type { Registry } from '../registry.ts';
import { scopesByUser } from './device-rows.ts';
import type { ProjectTable } from './device-tables.ts';

export class SqlProjectStore implements ProjectStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(id: ProjectId): Promise<Project | undefined> {
    const row = await this.#projects().where('project.id', '=', id).executeTakeFirst();
    if (row === undefined) return undefined;
    const shares = await this.#db.selectFrom('project_share').selectAll().where('record', '=', row.key).execute();
    const byUser = scopesByUser(shares, scopesOn.project);
    return { ...toProject(row), ...(shares.length === 0 ? {} : { shares: byUser }) };
  }

  async list({ audience, after, limit, offset }: BatchRange & { readonly audience: Audience }): Promise<Project[]> {
    const behind = this.#projects().where('project.key', '>', after).where(conditionOf(audience));
    const page = behind.orderBy('project.key').limit(limit).offset(offset);
    return (await this.#registry.search(page, callerOf(audience))).map(toProject);
  }

  async count(audience: Audience): Promise<number> {
    const counted = this.#db
      .selectFrom('project')
      .select(sql<number>`count(*)`.as('count'))
      .where(conditionOf(audience));
    const [row] = await this.#registry.search(counted, callerOf(audience));
    return row?.count ?? 0;
  }

  async create(project: ProjectFields & { readonly id: ProjectId }, owner: UserKey): Promise<void> {
    const { id, name, deviceIds, gatewayIds } = project;
    const ids = { device_ids: JSON.stringify(deviceIds), gateway_ids: JSON.stringify(gatewayIds) };
    await this.#registry.write([this.#db.insertInto('project').values({ id, owner, name: name ?? null, ...ids })]);
  }

  async update(
    project: ProjectKey,
    { name, deviceIds, gatewayIds }: ProjectChange,
    { deviceIds: asRead, onlyUnshared = false }: ProjectCondition = {},
  ): Promise<ProjectOutcome> {
    const columns = {
      ...(name === undefined ? {} : { name }),
      ...(deviceIds === undefined ? {} : { device_ids: JSON.stringify(deviceIds) }),
      ...(gatewayIds === undefined ? {} : { gateway_ids: JSON.stringify(gatewayIds) }),
    };
    // SQL has no update without columns.
    if (Object.keys(columns).length === 0) return { isDone: true, reachesDevices: false };
    const change = this.#db.updateTable('project').set(columns).where('key', '=', project);
    if (deviceIds === undefined) {
      const [changed] = await this.#registry.write([change]);
      return { isDone: changed === 1, reachesDevices: false };
    }
    // Which of the two conditions is met tells whether the project is shared at the moment of the change.
    const conditional = change.where(namesStill(asRead));
    const [unshared = 0, shared = 0] = await this.#registry.write([
      conditional.where(sql<SqlBool>`NOT ${reachesDevices}`),
      ...(onlyUnshared ? [] : [conditional.where(reachesDevices)]),
    ]);
    return { isDone: unshared + shared > 0, reachesDevices: shared > 0 };
  }

  async remove(project: ProjectKey, { deviceIds }: ProjectCondition = {}): Promise<ProjectOutcome> {
    const isAsRead = sql<SqlBool>`EXISTS (SELECT 1 FROM project WHERE project.key = ${project} AND ${namesStill(deviceIds)})`;
    const shares = this.#db.deleteFrom('project_share').where('record', '=', project).where(isAsRead);
    const [reaching = 0, , removed = 0] = await this.#registry.write([
      shares.where(sql<SqlBool>`(scopes & ${deviceScopes}) <> 0`),
      shares,
      this.#db.deleteFrom('project').where('key', '=', project).where(namesStill(deviceIds)),
    ]);
    return { isDone: removed > 0, reachesDevices: reaching > 0 };
  }

  get #db() {
    return this.#registry.read;
  }

  #projects() {
    return this.#db
      .selectFrom('project')
      .innerJoin('user', 'user.key', 'project.owner')
      .selectAll('project')
      .select('user.username as owner_name');
  }
}

/** Whether a share of the project gives rights on devices. */
const reachesDevices = sql<SqlBool>`EXISTS (SELECT 1 FROM project_share AS given
  WHERE given.record = project.key AND (given.scopes & ${deviceScopes}) <> 0)`;

function namesStill(deviceIds: readonly string[] | undefined) {
  return deviceIds === undefined
    ? sql<SqlBool>`1 = 1`
    : sql<SqlBool>`project.device_ids = ${JSON.stringify(deviceIds)}`;
}

function conditionOf(audience: Audience) {
  return sql<SqlBool>`${withinTime('project')} AND ${audienceCondition('project', audience)}`;
}

function toProject(row: Selectable<ProjectTable> & { readonly owner_name: string }): Project {
  return {
    kind: 'project',
    key: row.key,
    id: row.id,
    ownerKey: row.owner,
    owner: row.owner_name,
    visibility: 'private',
    ...(row.name === null ? {} : { name: row.name }),
    deviceIds: JSON.parse(row.device_ids) as string[],
    gatewayIds: JSON.parse(row.gateway_ids) as string[],
  };
}
