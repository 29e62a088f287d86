// What one address has used of guest's quotas today; stored in its Caller (domain/quotas/guest-shares.ts). In memory
// only: after a restart, on the next day (UTC) or when the caller was dropped it starts at zero, which errs on the
// side of admitting. Each process counts by itself; the registry enforces the quota of all guests together.
import type { QuotaKind } from '../../base/quota-kinds.ts';

/** The kinds of quotas that are shared among guests by address. */
export type GuestQuotaKind = Exclude<QuotaKind, 'keys' | 'datapoints_per_day' | 'mqtt_session_bytes'>;

export class GuestUsage {
  /** Days since 1970 UTC. */
  #day = 0;
  #taken = nothing();

  /** The amount used of a kind on this day. */
  on(day: number, kind: GuestQuotaKind): number {
    return this.#day === day ? this.#taken[kind] : 0;
  }

  /** Adds to the day's use. A day before the last one counts as the last one. */
  add(day: number, kind: GuestQuotaKind, amount: number): void {
    if (day > this.#day) {
      this.#day = day;
      this.#taken = nothing();
    }
    this.#taken[kind] += amount;
  }
}

function nothing(): Record<GuestQuotaKind, number> {
  const counts = { devices: 0, sensors: 0, gateways: 0, projects: 0, rules: 0, mqtt_sessions: 0 };
  return { ...counts, description_bytes: 0, datapoint_bytes: 0, retained_bytes: 0 };
}
