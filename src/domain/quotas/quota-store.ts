// What quotas need remembered. The store itself refuses what would bring the owner of a record beyond a quota, in the unit of
// writes that would do so: refusal `quota`.
import type { QuotaLimits } from '../../base/quota-kinds.ts';
import type { DeviceKey } from '../device-key.ts';
import type { UserKey } from '../users/user.ts';
import type { PendingCharge } from './push-charge.ts';
import type { QuotaExceptions, QuotaReport } from './quota.ts';

/** Who has which defaults. */
export type QuotaClass = 'guest' | 'user' | 'admin';

export interface QuotaStore {
  /** undefined where there is no such user. */
  find(user: UserKey): Promise<QuotaReport | undefined>;
  /** The reports of several users, by key. */
  list(users: readonly UserKey[]): Promise<ReadonlyMap<UserKey, QuotaReport>>;
  /** Sets what holds for everybody without an exception. */
  putDefaults(defaults: Readonly<Record<QuotaClass, QuotaLimits>>): Promise<void>;
  putExceptions(user: UserKey, exceptions: QuotaExceptions): Promise<void>;
  /** Adds what was pushed, on this day (days since 1970 UTC); a device or user that is gone is passed over. */
  addCharges(charges: readonly PendingCharge[], day: number): Promise<void>;
  /** What strangers have pushed to a device and is still stored. */
  strangerBytesOf(device: DeviceKey): Promise<number>;
  /** While growth is not allowed, writes that add to what users have are refused: refusal `full`. */
  setGrowthAllowed(allowed: boolean): Promise<void>;
}
