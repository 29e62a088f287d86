// Parses fields that several kinds of records have, most of them as the new value of a field that is changed alone,
// `PUT <record>/<field>` (contract 1). For fields that may be removed, null gives undefined, which removes the field.

import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { parseTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';

/** @throws Refusal `malformed` unless the text is `public` or `private`. */
export function parseVisibility(text: string): 'public' | 'private' {
  const visibility = text.trim();
  if (visibility === 'public' || visibility === 'private') return visibility;
  throw new Refusal('malformed', `The visibility is public or private, not ${JSON.stringify(text.slice(0, 40))}.`);
}

/** A timestamp in a body, in milliseconds since 1970 UTC. @throws Refusal `malformed` that names the field. */
export function parseTimeField(text: string, pointer: string): number {
  const ms = parseTimestamp(text);
  if (ms !== undefined) return ms;
  const detail = 'must be a timestamp such as 2036-06-08T18:20:27Z';
  throw new Refusal('malformed', `${pointer} ${detail}.`, { faults: [{ pointer, detail }] });
}

/** @throws Refusal `malformed` unless it has latitude and longitude within their bounds, in degrees. */
export function parseLocation(json: Json): Json | undefined {
  if (json === null) return undefined;
  const { latitude, longitude } = asObject(json, 'location');
  if (isWithin(latitude, 90) && isWithin(longitude, 180)) return json;
  throw new Refusal(
    'malformed',
    'The location is {"latitude": <number>, "longitude": <number>}, in degrees: both, within ±90 and ±180.',
  );
}

function isWithin(degrees: Json | undefined, max: number): boolean {
  return typeof degrees === 'number' && Math.abs(degrees) <= max;
}

/** @throws Refusal `malformed` unless it is an object. */
export function parseMeta(json: Json): Json | undefined {
  return json === null ? undefined : (asObject(json, 'meta') as Json);
}

/** @throws Refusal `malformed` unless it is a whole number of days from 0 to `retentionDaysMax`. */
export function parseRetentionDays(json: Json): number | undefined {
  if (json === null) return undefined;
  if (typeof json === 'number' && Number.isInteger(json) && json >= 0 && json <= limits.retentionDaysMax) return json;
  throw new Refusal(
    'malformed',
    `retention_days is a whole number of days from 0 (for ever) to ${limits.retentionDaysMax}.`,
  );
}

/** @throws Refusal `malformed` unless it is a whole number of seconds from 0 to `actuatorValidForSMax`. */
export function parseValidFor(json: Json): number | null {
  if (json === null) return null;
  const isWhole = typeof json === 'number' && Number.isInteger(json);
  if (isWhole && json >= 0 && json <= limits.actuatorValidForSMax) return json;
  throw new Refusal(
    'malformed',
    `valid_for is a whole number of seconds from 0 (never handed over later) to ${limits.actuatorValidForSMax}.`,
  );
}

function asObject(json: Json, field: string): { readonly [key: string]: Json } {
  if (typeof json === 'object' && json !== null && !Array.isArray(json))
    return json as { readonly [key: string]: Json };
  throw new Refusal('malformed', `${field} is a JSON object.`);
}
