// The store of quotas, as the domain needs it; engines implement it. The registry itself refuses a write that would
// exceed its owner's quota (Refusal `quota`), within the unit of writes.
import type { QuotaLimits } from '../../base/quota-kinds.ts';
import type { DeviceKey } from '../device-key.ts';
import type { UserKey } from '../users/user.ts';
import type { PendingCharge } from './push-charge.ts';
import type { QuotaExceptions, QuotaReport } from './quota.ts';

/** The classes of users with default limits. */
export type QuotaClass = 'guest' | 'user' | 'admin';

export interface QuotaStore {
  /** Usage and limits of the user; undefined where there is no such user. */
  find(user: UserKey): Promise<QuotaReport | undefined>;
  /** The reports of several users, by key. */
  list(users: readonly UserKey[]): Promise<ReadonlyMap<UserKey, QuotaReport>>;
  /** Sets the limits of each class, for users without exceptions. */
  putDefaults(defaults: Readonly<Record<QuotaClass, QuotaLimits>>): Promise<void>;
  putExceptions(user: UserKey, exceptions: QuotaExceptions): Promise<void>;
  /** Adds pushed amounts for this day (days since 1970 UTC); removed devices and users are ignored. */
  addCharges(charges: readonly PendingCharge[], day: number): Promise<void>;
  /** Stored bytes that strangers have pushed to a device. */
  strangerBytesOf(device: DeviceKey): Promise<number>;
  /** While growth is not allowed, writes that increase usage are refused (Refusal `full`). */
  setGrowthAllowed(allowed: boolean): Promise<void>;
}
