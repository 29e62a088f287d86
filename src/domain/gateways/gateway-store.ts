// The store of gateways, as the domain needs it; engines implement it.
import type { BatchRange } from '../../base/in-batches.ts';
import type { Filter } from '../devices/filter.ts';
import type { HandoverOptions } from '../devices/handover-store.ts';
import type { Audience } from '../permissions/permission.ts';
import type { Visibility } from '../permissions/visibility.ts';
import type { UserKey } from '../users/user.ts';
import type { Gateway, GatewayChange, GatewayDraft, GatewayId, GatewayKey } from './gateway.ts';

export interface GatewayListQuery {
  readonly audience: Audience;
  readonly filter: Filter;
}

/** When a gateway was last active. */
export interface LastSeenUpdate {
  readonly gateway: GatewayKey;
  /** Milliseconds since 1970 UTC. */
  readonly atMs: number;
}

export interface GatewayStore {
  find(id: GatewayId): Promise<Gateway | undefined>;
  /** Gateways after `after` in order of creation that the audience may see and that match the filter. */
  list(query: GatewayListQuery & BatchRange): Promise<Gateway[]>;
  count(query: GatewayListQuery): Promise<number>;
  /** Gateways with these ids, in any order. */
  listByIds(ids: readonly GatewayId[]): Promise<Gateway[]>;
  /** @throws Refusal `exists` when the id is taken. */
  create(draft: GatewayDraft & { visibility: Visibility }, owner: UserKey, atMs: number): Promise<void>;
  update(gateway: GatewayKey, change: GatewayChange, atMs: number): Promise<void>;
  /** Also ends the shares that others than the new owner gave; returns whether one of these gave rights on devices. */
  setOwner(gateway: GatewayKey, owner: UserKey, atMs: number, options?: HandoverOptions): Promise<boolean>;
  /** Also ends its shares; returns whether one of them gave rights on devices. */
  remove(gateway: GatewayKey): Promise<boolean>;
  /** Stores last-seen times. Removed gateways are ignored, and so are times before the stored one. */
  saveLastSeen(updates: readonly LastSeenUpdate[]): Promise<void>;
}
