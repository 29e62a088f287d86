// Storage of handovers of devices.

import type { DeviceKey } from '../device-key.ts';
import type { ScopeSet } from '../scopes.ts';
import type { UserKey } from '../users/user.ts';
import type { DeviceId } from './device.ts';
import type { ModificationStamp } from './device-store.ts';

/** A device that was handed over, with its earlier shares. */
export interface Handover {
  readonly device: DeviceId;
  readonly deviceKey: DeviceKey;
  readonly deviceName?: string;
  /** Undefined when the former owner was removed since. */
  readonly former?: { readonly key: UserKey; readonly username: string };
  readonly receiver: UserKey;
  /** Milliseconds since 1970 UTC. */
  readonly atMs: number;
  /** The earlier shares, with users who still exist. */
  readonly shares: readonly { readonly username: string; readonly scopes: ScopeSet }[];
}

export interface HandoverOptions {
  /** Earlier handovers are deleted. */
  readonly forgetBeforeMs: number;
  /** Whether it counts against what may be handed over, by its giver and to its receiver. */
  readonly isCounted?: boolean;
}

export interface HandoverStore {
  /**
   * Makes `owner` the owner. Ends shares given by others and removes the device from API keys of the former owner;
   * stores both. Changes nothing where they are the owner already.
   * @throws Refusal `quota`, also where too much was handed over by who gives it, or to who gets it.
   */
  handOver(stamp: ModificationStamp, owner: UserKey, options: HandoverOptions): Promise<void>;
  /** Handovers to the user since `sinceMs`, newest first. */
  listReceived(receiver: UserKey, sinceMs: number): Promise<Handover[]>;
  find(device: DeviceKey): Promise<Handover | undefined>;
  /** Restores the earlier shares in the name of the present owner, and deletes the handover. */
  keepShares(handover: Handover): Promise<void>;
  /**
   * Makes the former owner the owner again, restores shares and keys, and deletes the handover. False, without a change,
   * where the device was not handed over by them, or no longer.
   */
  giveBack(stamp: ModificationStamp, former: UserKey): Promise<boolean>;
}
