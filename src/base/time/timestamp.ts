// Parses and formats timestamps of the API: RFC 3339, and of ISO 8601 what devices and people write beside it, in; UTC
// with `Z` out.

const zone = '(?:([Zz])|([+-])(\\d{2})(?::?(\\d{2}))?)?';
const fraction = '(?:[.,](\\d{1,9}))?';
/** `2016-06-08T18:20:27.873Z`, without seconds, without a zone, or the date alone. */
const extended = new RegExp(`^(\\d{4})-(\\d{2})-(\\d{2})(?:[Tt ](\\d{2}):(\\d{2})(?::(\\d{2})${fraction})?${zone})?$`);
/** `20160608T182027Z` and the same shorter forms. */
const basic = new RegExp(`^(\\d{4})(\\d{2})(\\d{2})(?:[Tt](\\d{2})(\\d{2})(?:(\\d{2})${fraction})?${zone})?$`);

/** A time as it was written. */
export interface WrittenTime {
  /** What the clock and the calendar show, as if it were UTC; milliseconds since 1970. Of a date alone: its first moment. */
  readonly wallMs: number;
  /** Offset from UTC in milliseconds; undefined where none is written. */
  readonly offsetMs: number | undefined;
  readonly isDateAlone: boolean;
}

/**
 * Parses a timestamp: RFC 3339 with any offset, or without one (then UTC), with a fraction of up to nanoseconds; also
 * without seconds, in the basic format of ISO 8601, and a date alone, which is its first moment.
 * @returns milliseconds since 1970 UTC (the fraction truncated), or undefined for an invalid text.
 */
export function parseTimestamp(text: string): number | undefined {
  const usual = parseUsual(text);
  if (usual !== undefined) return usual;
  const written = parseWrittenTime(text);
  const ms = written === undefined ? Number.NaN : written.wallMs - (written.offsetMs ?? 0);
  return isWritableTime(ms) ? ms : undefined;
}

/** Whether the time lies within the years that a timestamp can name. */
export function isWritableTime(utcMs: number): boolean {
  return utcMs >= YEAR_0_MS && utcMs <= YEAR_9999_END_MS;
}

/** Fast path for the form that most devices send, `2016-06-08T18:20:27Z` or with milliseconds. */
function parseUsual(text: string): number | undefined {
  const { length } = text;
  if ((length !== 20 && length !== 24) || text.charCodeAt(length - 1) !== 0x5a || text.charCodeAt(10) !== 0x54)
    return undefined;
  if (text[4] !== '-' || text[7] !== '-' || text[13] !== ':' || text[16] !== ':') return undefined;
  if (length === 24 && text[19] !== '.') return undefined;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  const hour = digits(text, 11, 13);
  const minute = digits(text, 14, 16);
  const second = digits(text, 17, 19);
  const ms = length === 24 ? digits(text, 20, 23) : 0;
  // Any other form (NaN compares as false) is left to the pattern.
  const usual =
    year >= 1000 &&
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= 28 &&
    hour <= 23 &&
    minute <= 59 &&
    second <= 59 &&
    ms <= 999;
  return usual ? Date.UTC(year, month - 1, day, hour, minute, second, ms) : undefined;
}

function digits(text: string, from: number, to: number): number {
  let number = 0;
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}

/** Parses a timestamp as `parseTimestamp` does, and keeps how it was written; not checked by `isWritableTime`. */
export function parseWrittenTime(text: string): WrittenTime | undefined {
  const parts = extended.exec(text) ?? basic.exec(text);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second, decimals, utc, sign, offsetHour, offsetMinute] = parts;
  const y = Number(year);
  const mo = Number(month);
  const d = Number(day);
  const h = Number(hour ?? 0);
  const mi = Number(minute ?? 0);
  const s = Number(second ?? 0);
  // Second 60 is a leap second, which RFC 3339 allows; it is read as the next second.
  if (mo < 1 || mo > 12 || d < 1 || d > daysInMonth(y, mo) || h > 23 || mi > 59 || s > 60) return undefined;
  const ms = decimals === undefined ? 0 : Number(decimals.padEnd(3, '0').slice(0, 3));
  const date = new Date(0);
  date.setUTCFullYear(y, mo - 1, d);
  const wallMs = date.setUTCHours(h, mi, s, ms);
  const oh = Number(offsetHour ?? 0);
  const om = Number(offsetMinute ?? 0);
  if (oh > 23 || om > 59) return undefined;
  const hasOffset = utc !== undefined || sign !== undefined;
  const offsetMs = hasOffset ? (sign === '-' ? -1 : 1) * (oh * 60 + om) * 60_000 : undefined;
  return { wallMs, offsetMs, isDateAlone: hour === undefined };
}

/** Formats a time as RFC 3339 in UTC; with a fraction only where it is not zero. */
export function formatTimestamp(atMs: number): string {
  const ms = Math.floor(atMs);
  const hour = Math.floor(ms / hourMs);
  const inHour = ms - hour * hourMs;
  const second = Math.floor(inHour / 1000);
  const text = startOfHour(hour) + minutesAndSeconds[second];
  const fraction = inHour - second * 1000;
  return fraction === 0 ? `${text}Z` : `${text}.${String(fraction).padStart(3, '0')}Z`;
}

const hourMs = 3_600_000;
const two = (number: number) => String(number).padStart(2, '0');
const minutesAndSeconds = Array.from({ length: 3600 }, (_, n) => `${two(Math.floor(n / 60))}:${two(n % 60)}`);

/** Cache of the last two formatted hours: a row of datapoints has two times, and both advance slowly. */
const hours = [
  { hour: Number.NaN, text: '' },
  { hour: Number.NaN, text: '' },
];
let older = 0;

/** `2016-06-08T18:` */
function startOfHour(hour: number): string {
  for (const known of hours) if (known.hour === hour) return known.text;
  const text = new Date(hour * hourMs).toISOString().slice(0, -10);
  hours[older] = { hour, text };
  older = 1 - older;
  return text;
}

const YEAR_0_MS = -62_167_219_200_000;
const YEAR_9999_END_MS = 253_402_300_799_999;

function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
