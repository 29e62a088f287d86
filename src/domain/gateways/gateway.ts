// A gateway (spec 2.4, contract 6), which transports readings of devices to the service.
import type { Json } from '../../base/text/json.ts';
import type { Visibility } from '../permissions/visibility.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';

export type GatewayId = string & { readonly __brand?: 'GatewayId' };
export type GatewayKey = number & { readonly __brand?: 'GatewayKey' };

export interface GatewayFields {
  readonly name?: string;
  readonly visibility: Visibility;
  /** `{latitude, longitude, …}` in degrees, as the client sent it. */
  readonly location?: Json;
}

/** A gateway to be created. */
export interface GatewayDraft extends Omit<GatewayFields, 'visibility'> {
  readonly id: GatewayId;
  readonly visibility?: Visibility;
}

/** Consecutive refused calls of one origin; a call that is accepted ends the row. */
export interface RefusedCallsSummary {
  readonly username: string;
  /** Number of refused calls, including those answered with 429. */
  readonly times: number;
  /** When the first of them came, and the last, in milliseconds since 1970 UTC. */
  readonly sinceMs: number;
  readonly lastMs: number;
  /** Detail of the last 403; a login that is slowed down does not change it. */
  readonly reason: string;
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
  /** When it was last active, as stored; presence.ts may know a later time. */
  readonly lastSeenMs?: number;
  /** Scopes on the gateway that users have by shares; absent without shares. */
  readonly shares?: ReadonlyMap<UserKey, ScopeSet>;
}

/** A gateway with what presence.ts knows: whether it is connected, and the later time of activity. */
export interface SeenGateway extends Gateway {
  readonly connected: boolean;
  /** Who is refused again and again about it; only for those who may change the gateway. */
  readonly refused?: RefusedCallsSummary;
}

/** A change of a gateway's own fields; undefined removes a field. */
export type GatewayChange = { readonly [F in keyof GatewayFields]?: GatewayFields[F] | undefined };
