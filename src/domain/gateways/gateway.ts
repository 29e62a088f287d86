// A gateway (spec 2.4, contract 6): transports readings of devices to the service.
import type { Json } from '../../base/text/json.ts';
import type { Visibility } from '../permissions/visibility.ts';
import type { UserKey } from '../users/user.ts';

export type GatewayId = string & { readonly __brand?: 'GatewayId' };
export type GatewayKey = number & { readonly __brand?: 'GatewayKey' };

export interface GatewayFields {
  readonly name?: string;
  readonly visibility: Visibility;
  /** `{latitude, longitude, …}` in degrees, as the client sent it. */
  readonly location?: Json;
}

/** A device to be created. */
export interface GatewayDraft extends Omit<GatewayFields, 'visibility'> {
  readonly id: GatewayId;
  readonly visibility?: Visibility;
}

export interface Gateway extends GatewayFields {
  readonly kind: 'gateway';
  readonly key: GatewayKey;
  readonly id: GatewayId;
  readonly ownerKey: UserKey;
  /** The owner's username. */
  readonly owner: string;
  /** Milliseconds since 1970 UTC. */
  readonly dateCreatedMs: number;
  readonly dateModifiedMs: number;
  /** The stored time of its last activity; presence.ts may know a later one. */
  readonly lastSeenMs?: number;
}

/** A gateway with its present state. */
export interface SeenGateway extends Gateway {
  readonly connected: boolean;
}

/** A change of a gateway's own fields; undefined removes a field. */
export type GatewayChange = { readonly [F in keyof GatewayFields]?: GatewayFields[F] | undefined };
