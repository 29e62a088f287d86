// The kinds of things of which a user may have only so much (domain/quotas). The names are those of the API, of the settings
// and of the columns in which the store counts.

/** How many of each a user may own. */
const countedKinds = ['devices', 'sensors', 'gateways', 'projects', 'rules', 'keys', 'mqtt_sessions'] as const;

/** How many bytes of each a user may have stored. */
const weighedKinds = ['description_bytes', 'datapoint_bytes', 'mqtt_session_bytes', 'retained_bytes'] as const;

/** A rate, not a stock: what is over one day is allowed again on the next (UTC). */
const dailyKinds = ['datapoints_per_day'] as const;

export const quotaKinds = [...countedKinds, ...weighedKinds, ...dailyKinds] as const;
export type QuotaKind = (typeof quotaKinds)[number];

export const isInBytes = (kind: QuotaKind): boolean => kind.endsWith('_bytes');

/** The most of each kind; undefined: no bound. */
export type QuotaLimits = Readonly<Record<QuotaKind, number | undefined>>;
