// What one address has used today of guest's quotas; stored in its Caller. In memory only: a restart, the next day
// (UTC) or a dropped caller starts at zero, which lets in rather than keeps out. Of this process alone: the quota of all
// guests together holds in the registry, whatever each process counts for an address. See domain/quotas/guest-shares.ts.
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

  /** An earlier day counts as the present one. */
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
