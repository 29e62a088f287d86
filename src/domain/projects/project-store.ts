// The store of projects, as the domain needs it; engines implement it.
import type { BatchRange } from '../../base/in-batches.ts';
import type { Audience } from '../permissions/permission.ts';
import type { UserKey } from '../users/user.ts';
import type { Project, ProjectChange, ProjectFields, ProjectId, ProjectKey } from './project.ts';

export interface ProjectStore {
  find(id: ProjectId): Promise<Project | undefined>;
  /** Projects after `after` in order of creation that the audience may see. */
  list(query: BatchRange & { readonly audience: Audience }): Promise<Project[]>;
  count(audience: Audience): Promise<number>;
  /** @throws Refusal `exists` when the id is taken. */
  create(project: ProjectFields & { readonly id: ProjectId }, owner: UserKey): Promise<void>;
  update(project: ProjectKey, change: ProjectChange): Promise<void>;
  remove(project: ProjectKey): Promise<void>;
}
