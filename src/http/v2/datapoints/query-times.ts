// Times in paths and queries of datapoints, in any form of ISO 8601 that the service takes.
import { Refusal } from '../../../base/refusal.ts';
import type { TimeZone } from '../../../base/time/time-zone.ts';
import { isWritableTime, parseWrittenTime } from '../../../base/time/timestamp.ts';

const dayMs = 86_400_000;

interface Reading {
  /** The zone of times without an offset; UTC where there is none. */
  readonly zone?: TimeZone | undefined;
  readonly isEnd?: boolean;
}

/**
 * A bound of a range. A date alone is its first moment, as the end of a range (`isEnd`) its last. Without an offset it is
 * read in the zone: a time that its clocks show twice is the first one at the beginning of a range, and the last one at its
 * end.
 */
export function timestampOf(text: string | undefined, field: string, reading: Reading = {}): number | undefined {
  return text === undefined ? undefined : momentOf(text, field, reading);
}

/** Milliseconds since 1970 UTC. @throws Refusal `malformed`, naming the field */
export function momentOf(text: string, field: string, { zone, isEnd = false }: Reading = {}): number {
  // An unescaped `+` of an offset arrives as a space.
  const written = parseWrittenTime(text) ?? parseWrittenTime(text.replace(/ (\d{2}:?\d{2})$/, '+$1'));
  const { wallMs = Number.NaN, offsetMs, isDateAlone = false } = written ?? {};
  if (zone !== undefined && offsetMs === undefined && isWritableTime(wallMs)) {
    if (!isEnd) return zone.firstShowing(wallMs);
    return isDateAlone ? zone.firstShowing(wallMs + dayMs) - 1 : zone.lastShowing(wallMs);
  }
  const ms = wallMs - (offsetMs ?? 0) + (isDateAlone && isEnd ? dayMs - 1 : 0);
  if (!isWritableTime(ms)) fault(field, 'must be a timestamp such as 2016-06-08T18:20:27Z, or a date');
  return ms;
}

/** @throws Refusal `malformed`, naming the field */
export function fault(field: string, detail: string): never {
  throw new Refusal('malformed', `${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
}
