// The usage and the limits of a user by kind of quota.
import type { QuotaKind } from '../../base/quota-kinds.ts';

/** Limits that an admin sets for one user: a number, `none` for no bound, null for the default. */
export type QuotaExceptions = { readonly [K in QuotaKind]?: number | 'none' | null | undefined };

/** Usage and limit of one kind. */
export interface QuotaState {
  readonly used: number;
  /** undefined: no bound. */
  readonly limit: number | undefined;
  /** Whether an admin set the limit for this user. */
  readonly isException: boolean;
}
export type QuotaReport = Readonly<Record<QuotaKind, QuotaState>>;
