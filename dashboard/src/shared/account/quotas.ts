// The kinds of which users have quotas, in the order in which people look for them, and sizes as people write them.
import type { Schemas } from '../../api/client.ts';

export type QuotaKind = keyof Schemas['Quotas'];

export const quotaKinds = [
  ...(['devices', 'sensors', 'gateways', 'projects', 'rules', 'keys'] as const),
  ...(['description_bytes', 'datapoint_bytes', 'datapoints_per_day'] as const),
  ...(['mqtt_sessions', 'mqtt_session_bytes', 'retained_bytes'] as const),
] satisfies readonly QuotaKind[];

export const isInBytes = (kind: QuotaKind): boolean => kind.endsWith('_bytes');

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `16 MiB`. */
export function sizeText(bytes: number, locale: string): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toLocaleString(locale, { maximumFractionDigits: value < 10 ? 1 : 0 })} ${units[unit]}`;
}

/** A limit as it can be typed and read back: `none`, `5000`, `16MiB`. */
export function limitText(kind: QuotaKind, limit: number | undefined): string {
  if (limit === undefined) return 'none';
  if (!isInBytes(kind) || limit === 0) return String(limit);
  let value = limit;
  let unit = 0;
  while (value % 1024 === 0 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? String(value) : `${value}${units[unit]}`;
}

/** What was typed, as the service takes it: null for the default; undefined where it cannot be read. */
export function parseLimit(kind: QuotaKind, typed: string): number | 'none' | null | undefined {
  const text = typed.trim().toLowerCase();
  if (text === '') return null;
  if (text === 'none') return 'none';
  const [, number, unit = 'b'] = /^(\d{1,15}(?:\.\d{1,3})?) ?(b|kib|mib|gib|tib)?$/.exec(text) ?? [];
  if (number === undefined) return undefined;
  const power = units.findIndex((known) => known.toLowerCase() === unit);
  if (!isInBytes(kind) && (power > 0 || !Number.isInteger(Number(number)))) return undefined;
  const limit = Math.floor(Number(number) * 1024 ** power);
  return Number.isSafeInteger(limit) ? limit : undefined;
}
