// Times in paths and queries of datapoints, in any form of ISO 8601 that the service takes.
import { Refusal } from '../../../base/refusal.ts';
import { isWritableTime, parseWrittenTime } from '../../../base/time/timestamp.ts';

const dayMs = 86_400_000;

/** A bound of a range. A date alone is its first moment, as the end of a range (`isEnd`) its last. */
export function timestampOf(text: string | undefined, field: string, { isEnd = false } = {}): number | undefined {
  return text === undefined ? undefined : momentOf(text, field, { isEnd });
}

/** Milliseconds since 1970 UTC. @throws Refusal `malformed`, naming the field */
export function momentOf(text: string, field: string, { isEnd = false } = {}): number {
  // An unescaped `+` of an offset arrives as a space.
  const written = parseWrittenTime(text) ?? parseWrittenTime(text.replace(/ (\d{2}:?\d{2})$/, '+$1'));
  const { wallMs = Number.NaN, offsetMs = 0, isDateAlone = false } = written ?? {};
  const ms = wallMs - offsetMs + (isDateAlone && isEnd ? dayMs - 1 : 0);
  if (!isWritableTime(ms)) fault(field, 'must be a timestamp such as 2016-06-08T18:20:27Z, or a date');
  return ms;
}

/** @throws Refusal `malformed`, naming the field */
export function fault(field: string, detail: string): never {
  throw new Refusal('malformed', `${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
}
