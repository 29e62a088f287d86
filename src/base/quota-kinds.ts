// The kinds of quotas (domain/quotas). The names are those of the API, the settings and the columns of the table
// `usage`.

/** Numbers of records that a user may own. */
const countedKinds = ['devices', 'sensors', 'gateways', 'projects', 'rules', 'keys', 'mqtt_sessions'] as const;

/** Bytes that a user may have stored. */
const weighedKinds = ['description_bytes', 'datapoint_bytes', 'mqtt_session_bytes', 'retained_bytes'] as const;

/** Rates, not stocks: they start at zero on each day (UTC). */
const dailyKinds = ['datapoints_per_day'] as const;

export const quotaKinds = [...countedKinds, ...weighedKinds, ...dailyKinds] as const;
export type QuotaKind = (typeof quotaKinds)[number];

export const isInBytes = (kind: QuotaKind): boolean => kind.endsWith('_bytes');

/** The limit of each kind; undefined: no bound. */
export type QuotaLimits = Readonly<Record<QuotaKind, number | undefined>>;
