// The reading that most devices send, `{"value":21.5}` or `{"value":21.5,"timestamp":"2016-06-08T18:20:27.873Z"}`, read
// straight from its bytes: a third of the cost of the general way. Whatever looks different in the least is left to
// that; what is read here reads the same there (plain-reading.test.ts).
import type { Reading } from './reading.ts';

const valueStart = Buffer.from('{"value":');
const timestampStart = Buffer.from(',"timestamp":"');
const brace = 0x7d;
const zero = 0x30;

/** The reading that the bytes hold, or undefined when they have another form. */
export function parsePlainReading(bytes: Uint8Array, start: number, end: number): Reading | undefined {
  if (!startsWith(bytes, start, end, valueStart)) return undefined;
  let at = start + valueStart.length;
  const isNegative = bytes[at] === 0x2d;
  if (isNegative) at += 1;
  const first = at;
  let mantissa = 0;
  let decimals = 0;
  let point = -1;
  for (; at < end; at++) {
    const digit = (bytes[at] as number) - zero;
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
    else if (bytes[at] === 0x2e && point < 0 && at > first) point = at;
    else break;
  }
  const digits = at - first - (point < 0 ? 0 : 1);
  if (point >= 0) decimals = at - point - 1;
  // Up to 15 digits both parts are exact, and so is the one rounding of their division.
  if (digits === 0 || digits > 15 || (point >= 0 && decimals === 0)) return undefined;
  const wholeDigits = digits - decimals;
  if (wholeDigits > 1 && bytes[first] === zero) return undefined;
  const size = decimals === 0 ? mantissa : mantissa / (powersOfTen[decimals] as number);
  const value = isNegative ? -size : size;
  if (bytes[at] === brace) return at + 1 === end ? { value, timestampMs: Number.NaN } : undefined;
  if (!startsWith(bytes, at, end, timestampStart)) return undefined;
  at += timestampStart.length;
  const length = end - at - 2;
  if ((length !== 20 && length !== 24) || bytes[end - 1] !== brace || bytes[end - 2] !== 0x22) return undefined;
  const timestampMs = plainTimestamp(bytes, at, length);
  return Number.isNaN(timestampMs) ? undefined : { value, timestampMs };
}

const powersOfTen = Array.from({ length: 16 }, (_, n) => 10 ** n);

/** `2016-06-08T18:20:27Z` or `2016-06-08T18:20:27.873Z` in milliseconds since 1970 UTC; NaN for anything else. */
function plainTimestamp(bytes: Uint8Array, at: number, length: number): number {
  if (bytes[at + 4] !== 0x2d || bytes[at + 7] !== 0x2d || bytes[at + 10] !== 0x54) return Number.NaN;
  if (bytes[at + 13] !== 0x3a || bytes[at + 16] !== 0x3a || bytes[at + length - 1] !== 0x5a) return Number.NaN;
  const year = two(bytes, at) * 100 + two(bytes, at + 2);
  const month = two(bytes, at + 5);
  const day = two(bytes, at + 8);
  const hour = two(bytes, at + 11);
  const minute = two(bytes, at + 14);
  const second = two(bytes, at + 17);
  let ms = 0;
  if (length === 24) {
    if (bytes[at + 19] !== 0x2e) return Number.NaN;
    ms = two(bytes, at + 20) * 10 + (two(bytes, at + 21) % 10);
  }
  // NaN compares as false, so that whatever is no digit ends here.
  const isUsual =
    year >= 1000 && month >= 1 && month <= 12 && day >= 1 && day <= 28 && hour <= 23 && minute <= 59 && second <= 59;
  if (!isUsual || !(ms <= 999)) return Number.NaN;
  return daysSince1970(year, month, day) * 86_400_000 + ((hour * 60 + minute) * 60 + second) * 1000 + ms;
}

/** Two decimal digits; NaN where there are none. */
function two(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - zero;
  const ones = (bytes[at + 1] as number) - zero;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

/** Days of the Gregorian calendar, by counting years from March on. */
function daysSince1970(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function startsWith(bytes: Uint8Array, at: number, end: number, text: Uint8Array): boolean {
  if (at + text.length >= end) return false;
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}
