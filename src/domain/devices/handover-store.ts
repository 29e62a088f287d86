// The store of handovers of devices, as the domain needs it; engines implement it.

import type { DeviceKey } from '../device-key.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';
import type { DeviceId } from './device.ts';
import type { ModificationStamp } from './device-store.ts';

/** A device that was handed over, with the shares that it had before. */
export interface Handover {
  readonly device: DeviceId;
  readonly deviceKey: DeviceKey;
  readonly deviceName?: string;
  /** The former owner; undefined when they were removed since. */
  readonly former?: { readonly key: UserKey; readonly username: string };
  readonly receiver: UserKey;
  /** Milliseconds since 1970 UTC. */
  readonly atMs: number;
  /** The shares before the handover, with users who still exist. */
  readonly shares: readonly { readonly username: string; readonly scopes: ScopeSet }[];
}

export interface HandoverOptions {
  /** Handovers before this time are deleted. */
  readonly forgetBeforeMs: number;
  /** Whether the handover counts against the bounds of its giver and its receiver. */
  readonly isCounted?: boolean;
}

export interface HandoverStore {
  /**
   * Makes `owner` the owner. Ends shares that others gave and removes the device from API keys of the former owner;
   * stores both, so that they can be restored. Changes nothing where `owner` is the owner already.
   * @throws Refusal `quota`, also where the giver has handed over, or the receiver has been handed, as much as the
   * bounds allow.
   */
  handOver(stamp: ModificationStamp, owner: UserKey, options: HandoverOptions): Promise<void>;
  /** Handovers to the user since `sinceMs`, newest first. */
  listReceived(receiver: UserKey, sinceMs: number): Promise<Handover[]>;
  find(device: DeviceKey): Promise<Handover | undefined>;
  /** Restores the earlier shares in the name of the present owner, and deletes the handover. */
  keepShares(handover: Handover): Promise<void>;
  /**
   * Makes the former owner the owner again, restores shares and keys, and deletes the handover. Returns false,
   * without a change, where there is no handover from this user to the present owner any more.
   */
  giveBack(stamp: ModificationStamp, former: UserKey): Promise<boolean>;
}
