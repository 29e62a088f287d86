// Devices around a place (contract 4): the place as a query names it, and distances along the surface of the earth. The same
// arithmetic in SQL is in engines/shared/registry/conditions/near-condition.ts.
import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';

/** A place and how far from it devices may be. */
export interface Near {
  /** Degrees. */
  readonly latitude: number;
  readonly longitude: number;
  /** Kilometres. */
  readonly km: number;
}

/** Mean radius of the earth (IUGG), kilometres. */
const earthKm = 6371.0088;
/** Nothing on the earth is farther away, kilometres. */
const farthestKm = 20_037.6;
const radians = Math.PI / 180;

/** Parses `<latitude>,<longitude>,<km>`. @throws Refusal `malformed` */
export function parseNear(text: string): Near {
  const parts = text.split(',').map((part) => part.trim());
  const [latitude = Number.NaN, longitude = Number.NaN, km = Number.NaN] = parts.map((part) =>
    /^[+-]?\d{1,5}(\.\d{1,15})?$/.test(part) ? Number(part) : Number.NaN,
  );
  const isPlace = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
  if (parts.length === 3 && isPlace && km > 0 && km <= farthestKm) return { latitude, longitude, km };
  const detail = `must be <latitude>,<longitude>,<km>, such as 16.03,-16.49,25: degrees within ±90 and ±180, kilometres above 0 and up to ${farthestKm}`;
  throw new Refusal('malformed', `near ${detail}.`, { faults: [{ pointer: '/near', detail }] });
}

/** The haversine of an angle on the earth by which a distance is compared: half the square of the chord's half. */
export function haversineOf({ km }: Near): number {
  return Math.sin(Math.min(Math.PI / 2, km / earthKm / 2)) ** 2;
}

/** Kilometres from the place to a location, to the metre; undefined where it is none. */
export function distanceKm(near: Near, location: Json | undefined): number | undefined {
  const { latitude, longitude } = (location ?? {}) as { readonly latitude?: unknown; readonly longitude?: unknown };
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return undefined;
  const north = Math.sin(((latitude - near.latitude) * radians) / 2);
  const east = Math.sin(((longitude - near.longitude) * radians) / 2);
  const h = north * north + Math.cos(near.latitude * radians) * Math.cos(latitude * radians) * east * east;
  return Math.round(2 * earthKm * Math.asin(Math.min(1, Math.sqrt(h))) * 1000) / 1000;
}
