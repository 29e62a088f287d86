// How much a user has of each kind of which there are quotas, and may have.
import type { QuotaKind } from '../../base/quota-kinds.ts';

/** What an admin sets for one user: a limit, `none` for no bound, null for the default again. */
export type QuotaExceptions = { readonly [K in QuotaKind]?: number | 'none' | null | undefined };

/** How much of a kind a user has, and may have. */
export interface QuotaState {
  readonly used: number;
  /** undefined: no bound. */
  readonly limit: number | undefined;
  /** Whether an admin set the limit for this user. */
  readonly isException: boolean;
}
export type QuotaReport = Readonly<Record<QuotaKind, QuotaState>>;
