// What one address has taken today of what all guests have together; kept on its Caller. Counted in memory alone: a restart,
// the next day (UTC) and a forgotten caller begin anew, which lets in rather than keeps out. See domain/quotas/guest-shares.ts.
import type { QuotaKind } from '../../base/quota-kinds.ts';

/** The kinds of which guests have a stock that is shared out by address. */
export type GuestQuotaKind = Exclude<QuotaKind, 'keys' | 'datapoints_per_day' | 'mqtt_session_bytes'>;

export class GuestUsage {
  /** Days since 1970 UTC. */
  #day = 0;
  #taken = nothing();

  /** What was taken of a kind on this day. */
  on(day: number, kind: GuestQuotaKind): number {
    return this.#day === day ? this.#taken[kind] : 0;
  }

  /** A day that is over already counts as the present one. */
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
