// A project (contract 6): devices and gateways to be viewed together. Naming them gives no rights on them; a share of the
// project may give rights on the devices it names, where they belong to its owner (contract 3).
import type { DeviceId } from '../devices/device.ts';
import type { GatewayId } from '../gateways/gateway.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';

export type ProjectId = string & { readonly __brand?: 'ProjectId' };
export type ProjectKey = number & { readonly __brand?: 'ProjectKey' };

export interface ProjectFields {
  readonly name?: string;
  /** Ids as the client sent them, each once; the devices need not exist. */
  readonly deviceIds: readonly DeviceId[];
  readonly gatewayIds: readonly GatewayId[];
}

export interface ProjectDraft extends ProjectFields {
  /** Absent: the service generates one. */
  readonly id?: ProjectId;
}

export interface Project extends ProjectFields {
  readonly kind: 'project';
  readonly key: ProjectKey;
  readonly id: ProjectId;
  readonly ownerKey: UserKey;
  /** The owner's username. */
  readonly owner: string;
  readonly visibility: 'private';
  /** Scopes on the project that users have by shares; absent without shares, and in lists. */
  readonly shares?: ReadonlyMap<UserKey, ScopeSet>;
}

export type ProjectChange = Partial<ProjectFields>;
