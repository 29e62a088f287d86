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
import type { ProjectStore } from '../../../../domain/projects/project-store.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { audienceCondition, callerOf } from '../conditions/audience.ts';
import { withinTime } from '../conditions/time-guard.ts';
import type { Registry } from '../registry.ts';
import type { ProjectTable } from '../tables.ts';

export class SqlProjectStore implements ProjectStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(id: ProjectId): Promise<Project | undefined> {
    const row = await this.#projects().where('project.id', '=', id).executeTakeFirst();
    return row && toProject(row);
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

  async update(project: ProjectKey, { name, deviceIds, gatewayIds }: ProjectChange): Promise<void> {
    const columns = {
      ...(name === undefined ? {} : { name }),
      ...(deviceIds === undefined ? {} : { device_ids: JSON.stringify(deviceIds) }),
      ...(gatewayIds === undefined ? {} : { gateway_ids: JSON.stringify(gatewayIds) }),
    };
    // SQL has no update without columns.
    if (Object.keys(columns).length === 0) return;
    await this.#registry.write([this.#db.updateTable('project').set(columns).where('key', '=', project)]);
  }

  async remove(project: ProjectKey): Promise<void> {
    await this.#registry.write([this.#db.deleteFrom('project').where('key', '=', project)]);
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
