// A project (contract 6): devices and gateways that somebody looks at together. It names them, and gives no right on them.
import type { DeviceId } from '../devices/device.ts';
import type { GatewayId } from '../gateways/gateway.ts';
import type { UserKey } from '../users/user.ts';

export type ProjectId = string & { readonly __brand?: 'ProjectId' };
export type ProjectKey = number & { readonly __brand?: 'ProjectKey' };

export interface ProjectFields {
  readonly name?: string;
  /** Ids as they were given, each once; there need not be such a device. */
  readonly deviceIds: readonly DeviceId[];
  readonly gatewayIds: readonly GatewayId[];
}

export interface ProjectDraft extends ProjectFields {
  /** Left out: the service makes one. */
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
}

export type ProjectChange = Partial<ProjectFields>;
