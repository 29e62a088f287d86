// Parses the readings that most devices send, `{"value":21.5}` or
// `{"value":21.5,"timestamp":"2016-06-08T18:20:27.873Z"}`, alone or in an array, straight from their bytes, at a
// fraction of the cost of JSON.parse. Any other form is left to the general parser (reading.ts); results are
// identical (plain-reading.test.ts).
import { limits } from '../../../config/limits.ts';
import { PlainReadings } from './plain-readings.ts';
import { SingleReading } from './single-reading.ts';

const valueKey = Buffer.from('"value":');
const timestampKey = Buffer.from('"timestamp":');
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const quote = 0x22;
const space = 0x20;
const zero = 0x30;

/**
 * Value and timestamp of the reading that was scanned last. Shared, because a result object for each would cost as
 * much as scanning.
 */
const scanned = new Float64Array(2);
const valueAt = 0;
const timestampAt = 1;
/** The values of the array being scanned. */
const scannedValues = new Float64Array(limits.pushDatapointsMax);
const scannedTimestamps = new Float64Array(limits.pushDatapointsMax);

/** The reading in the bytes; undefined when they have another form. */
export function parsePlainReading(bytes: Uint8Array, start: number, end: number): SingleReading | undefined {
  const last = scanReading(bytes, skipSpace(bytes, start), end);
  if (last < 0 || (last !== end && skipSpace(bytes, last) !== end)) return undefined;
  return new SingleReading(scanned[valueAt] as number, scanned[timestampAt] as number);
}

/** The readings of the array in the bytes; undefined when they have another form, or are too many. */
export function parsePlainReadings(bytes: Uint8Array): PlainReadings | undefined {
  const end = bytes.length;
  const first = skipSpace(bytes, 0);
  if (bytes[first] !== openBracket) return undefined;
  let count = 0;
  for (let at = skipSpace(bytes, first + 1); count < limits.pushDatapointsMax; ) {
    at = scanReading(bytes, at, end);
    if (at < 0) return undefined;
    scannedValues[count] = scanned[valueAt] as number;
    scannedTimestamps[count++] = scanned[timestampAt] as number;
    at = skipSpace(bytes, at);
    if (bytes[at] === comma) at = skipSpace(bytes, at + 1);
    else if (bytes[at] === closeBracket && skipSpace(bytes, at + 1) === end) {
      return new PlainReadings(scannedValues.slice(0, count), scannedTimestamps.slice(0, count));
    } else return undefined;
  }
  return undefined;
}

/** Scans one reading; returns the index after it, or -1 when it has another form. */
function scanReading(bytes: Uint8Array, start: number, end: number): number {
  if (bytes[start] !== openBrace) return -1;
  scanned[valueAt] = Number.NaN;
  scanned[timestampAt] = Number.NaN;
  for (let at = skipSpace(bytes, start + 1); ; at = skipSpace(bytes, at + 1)) {
    // A repeated name is left to the general parser.
    if (isUnknown(valueAt) && startsWith(bytes, at, end, valueKey)) {
      at = scanNumber(bytes, skipSpace(bytes, at + valueKey.length), end);
    } else if (isUnknown(timestampAt) && startsWith(bytes, at, end, timestampKey)) {
      at = scanTimestamp(bytes, skipSpace(bytes, at + timestampKey.length), end);
    } else return -1;
    if (at < 0) return -1;
    at = skipSpace(bytes, at);
    if (at >= end) return -1;
    if (bytes[at] === closeBrace) return isUnknown(valueAt) ? -1 : at + 1;
    if (bytes[at] !== comma) return -1;
  }
}

function scanNumber(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === 0x2d;
  const first = isNegative ? start + 1 : start;
  let at = first;
  let mantissa = 0;
  let point = -1;
  for (; at < end; at++) {
    const digit = (bytes[at] as number) - zero;
    if (digit >= 0 && digit <= 9) mantissa = mantissa * 10 + digit;
    else if (bytes[at] === 0x2e && point < 0 && at > first) point = at;
    else break;
  }
  const digits = at - first - (point < 0 ? 0 : 1);
  const decimals = point < 0 ? 0 : at - point - 1;
  // Up to 15 digits, both parts are exact doubles, so their division is rounded only once.
  if (digits === 0 || digits > 15 || (point >= 0 && decimals === 0)) return -1;
  if (digits - decimals > 1 && bytes[first] === zero) return -1;
  const size = decimals === 0 ? mantissa : mantissa / (powersOfTen[decimals] as number);
  scanned[valueAt] = isNegative ? -size : size;
  return at;
}

const powersOfTen = Array.from({ length: 16 }, (_, n) => 10 ** n);

/**
 * Scans `"2016-06-08T18:20:27Z"` or `"2016-06-08T18:20:27.873Z"`; returns the index after it, or -1 for another form.
 */
function scanTimestamp(bytes: Uint8Array, start: number, end: number): number {
  const length = bytes[start + 21] === quote ? 20 : 24;
  const at = start + 1 + length;
  if (bytes[start] !== quote || at >= end || bytes[at] !== quote) return -1;
  return scanTime(bytes, start + 1, length) ? at + 1 : -1;
}

function isUnknown(which: number): boolean {
  return Number.isNaN(scanned[which] as number);
}

/** Scans a time without its quotes into milliseconds since 1970 UTC; returns false for any other form. */
function scanTime(bytes: Uint8Array, at: number, length: number): boolean {
  if (bytes[at + 4] !== 0x2d || bytes[at + 7] !== 0x2d || bytes[at + 10] !== 0x54) return false;
  if (bytes[at + 13] !== 0x3a || bytes[at + 16] !== 0x3a || bytes[at + length - 1] !== 0x5a) return false;
  const year = two(bytes, at) * 100 + two(bytes, at + 2);
  const month = two(bytes, at + 5);
  const day = two(bytes, at + 8);
  const hour = two(bytes, at + 11);
  const minute = two(bytes, at + 14);
  const second = two(bytes, at + 17);
  let ms = 0;
  if (length === 24) {
    if (bytes[at + 19] !== 0x2e) return false;
    ms = two(bytes, at + 20) * 10 + (two(bytes, at + 21) % 10);
  }
  // Comparisons with NaN are false, so anything that is not a digit fails here.
  const isUsual =
    year >= 1000 && month >= 1 && day >= 1 && day <= daysOf(year, month) && hour <= 23 && minute <= 59 && second <= 59;
  if (!isUsual || !(ms <= 999)) return false;
  const timeMs = ((hour * 60 + minute) * 60 + second) * 1000 + ms;
  scanned[timestampAt] = daysSince1970(year, month, day) * 86_400_000 + timeMs;
  return true;
}

const daysOfMonths = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Days of a month; 0 for an invalid month. */
function daysOf(year: number, month: number): number {
  if (month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)) return 29;
  return daysOfMonths[month] ?? 0;
}

/** Two decimal digits; NaN for anything else. */
function two(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - zero;
  const ones = (bytes[at + 1] as number) - zero;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

/** Days since 1970 in the Gregorian calendar. Counts years from March, so that a leap day is the last day of a year. */
function daysSince1970(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The index after JSON white space. */
function skipSpace(bytes: Uint8Array, at: number): number {
  let next = at;
  while (isSpace(bytes[next])) next += 1;
  return next;
}

function isSpace(byte: number | undefined): boolean {
  return byte === space || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function startsWith(bytes: Uint8Array, at: number, end: number, text: Uint8Array): boolean {
  if (at + text.length >= end) return false;
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}
