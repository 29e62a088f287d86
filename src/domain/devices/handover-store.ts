// What handovers of devices need remembered.

import type { DeviceKey } from '../device-key.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';
import type { DeviceId } from './device.ts';
import type { ModificationStamp } from './device-store.ts';

/** A device that somebody was handed, and what it had before. */
export interface Handover {
  readonly device: DeviceId;
  readonly deviceKey: DeviceKey;
  readonly deviceName?: string;
  /** Undefined when the former owner was removed since. */
  readonly former?: { readonly key: UserKey; readonly username: string };
  readonly receiver: UserKey;
  /** Milliseconds since 1970 UTC. */
  readonly atMs: number;
  /** The shares it had, of users who are still there. */
  readonly shares: readonly { readonly username: string; readonly scopes: ScopeSet }[];
}

export interface HandoverStore {
  /**
   * Makes `owner` the owner. Shares that others gave end, and API keys of the former owner that name the device name it
   * no more; what there was is remembered, and what was handed over before `forgetBeforeMs` forgotten.
   */
  handOver(stamp: ModificationStamp, owner: UserKey, options: { readonly forgetBeforeMs: number }): Promise<void>;
  /** What the user was handed at `sinceMs` or later, newest first. */
  listReceived(receiver: UserKey, sinceMs: number): Promise<Handover[]>;
  find(device: DeviceKey): Promise<Handover | undefined>;
  /** Shares the device again as it was, in the name of its owner, and forgets the handover. */
  keepShares(handover: Handover): Promise<void>;
  /** Makes the former owner the owner again, with the shares and keys there were, and forgets the handover. */
  giveBack(stamp: ModificationStamp, former: UserKey): Promise<void>;
}
