// The store of projects, as the domain needs it; engines implement it.
import type { BatchRange } from '../../base/in-batches.ts';
import type { DeviceId } from '../devices/device.ts';
import type { Audience } from '../permissions/permission.ts';
import type { UserKey } from '../users/user.ts';
import type { Project, ProjectChange, ProjectFields, ProjectId, ProjectKey } from './project.ts';

/** Without what is asked for here, nothing is changed. A change that names no other devices has no condition. */
export interface ProjectCondition {
  /** The devices that the project names, as they were read. */
  readonly deviceIds?: readonly DeviceId[];
  /** No share of the project gives rights on devices. */
  readonly onlyUnshared?: boolean;
}

/** What a change of a project came to. */
export interface ProjectOutcome {
  /** False: nothing was changed, because a condition was not met. */
  readonly isDone: boolean;
  /** Whether a share of the project gives rights on the devices it names, or gave them until it was removed. */
  readonly reachesDevices: boolean;
}

export interface ProjectStore {
  find(id: ProjectId): Promise<Project | undefined>;
  /** Projects after `after` in order of creation that the audience may see. */
  list(query: BatchRange & { readonly audience: Audience }): Promise<Project[]>;
  count(audience: Audience): Promise<number>;
  /** @throws Refusal `exists` when the id is taken. */
  create(project: ProjectFields & { readonly id: ProjectId }, owner: UserKey): Promise<void>;
  update(project: ProjectKey, change: ProjectChange, condition?: ProjectCondition): Promise<ProjectOutcome>;
  /** Removes the project with its shares. */
  remove(project: ProjectKey, condition?: ProjectCondition): Promise<ProjectOutcome>;
}
