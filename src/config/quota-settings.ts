// The settings of quotas: limits for each user, and for guest. The text of a setting names kinds with limits; kinds
// that it does not name keep their defaults.
import { isInBytes, type QuotaKind, type QuotaLimits, quotaKinds } from '../base/quota-kinds.ts';
import { bytesFrom, type Setting } from './setting.ts';

export interface QuotaConfig {
  readonly quotas: QuotaLimits;
  readonly guestQuotas: QuotaLimits;
  readonly strangerBytes: number;
}

/** Enough for every known fleet; more is a mistake or an attack. Datapoints are bounded by the disk. */
const userDefaults =
  'devices=100000,sensors=1000000,gateways=10000,projects=10000,rules=10000,keys=100,mqtt_sessions=50000,description_bytes=1GiB,datapoint_bytes=none,mqtt_session_bytes=1GiB,retained_bytes=256MiB,datapoints_per_day=none';

/** Shared by all callers without a token. */
const guestDefaults =
  'devices=1000,sensors=10000,gateways=1000,projects=1000,rules=1000,keys=100,mqtt_sessions=100,description_bytes=16MiB,datapoint_bytes=1GiB,mqtt_session_bytes=16MiB,retained_bytes=16MiB,datapoints_per_day=none';

export const quotaSettings: { readonly [F in keyof QuotaConfig]: Setting<QuotaConfig[F]> } = {
  quotas: {
    env: 'DUNDUN_QUOTAS',
    fallback: userDefaults,
    reason:
      'How much each user may have; admins have no quotas. Kinds that are not named keep their default; none is no bound. Beyond: 403. An admin sets exceptions a user in the dashboard.',
    parse: quotasOver(userDefaults),
  },
  guestQuotas: {
    env: 'DUNDUN_GUEST_QUOTAS',
    fallback: guestDefaults,
    reason:
      'How much guest may have: all callers who do not sign in together. An address takes a day no more than is left for the others.',
    parse: quotasOver(guestDefaults),
  },
  strangerBytes: {
    env: 'DUNDUN_STRANGER_BYTES',
    fallback: '256MiB',
    reason:
      'How much datapoints may take on one device that were pushed by callers without a right of their own, because it is public. Beyond: 403 for them; its owner goes on.',
    parse: bytesFrom(0),
  },
};

function quotasOver(defaults: string): (text: string) => QuotaLimits {
  return (text) => ({ ...parseQuotas(defaults), ...parseQuotas(text) }) as QuotaLimits;
}

/** @throws Error that says what would be right. */
function parseQuotas(text: string): Partial<Record<QuotaKind, number | undefined>> {
  const parts = text.split(',').filter((part) => part.trim() !== '');
  return Object.fromEntries(parts.map(parseQuota));
}

function parseQuota(part: string): [QuotaKind, number | undefined] {
  const [name, value = '', ...rest] = part.split('=').map((word) => word.trim());
  const kind = quotaKinds.find((known) => known === name);
  if (kind === undefined || rest.length > 0)
    throw new Error(`must hold parts such as devices=1000, joined by commas, of the kinds ${quotaKinds.join(', ')}`);
  if (value === 'none') return [kind, undefined];
  if (isInBytes(kind)) return [kind, bytesFrom(0)(value)];
  const count = Number(value);
  if (!/^\d{1,15}$/.test(value)) throw new Error(`must hold a whole number or none for ${kind}`);
  return [kind, count];
}
