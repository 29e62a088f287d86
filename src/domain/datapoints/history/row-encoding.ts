// Encodes datapoints of one sensor as the JSON of API version 2 (contract 5), from columns straight into bytes: a
// list has many thousands, and an object and strings for each would take several times as long. Runs in the thread
// that reads. Must write the same as http/lists/datapoint-rows.ts.
import { type Slice, valueAt } from '../columns.ts';

/** `json`: rows as elements of a JSON array; `ndjson`: each row on its own line. */
export type RowEncoding = 'json' | 'ndjson';

const encoder = new TextEncoder();
const beforeValue = encoder.encode('{"value":');
const beforeTimestamp = encoder.encode(',"timestamp":"');
const beforeReceived = encoder.encode('"date_received":"');
const comma = 0x2c;
const point = 0x2e;
const minus = 0x2d;
const colon = 0x3a;
const quote = 0x22;
const brace = 0x7d;
const zero = 0x30;
/** Maximum bytes of a row without a text: the fixed parts, two times of at most 27 characters, and a number of 25. */
const rowBytes = 140;
/** UTF-8 bytes of a UTF-16 code unit, at most. */
const bytesPerChar = 3;
const dayMs = 86_400_000;

/** An upper bound for the bytes of a slice's rows. */
export function jsonBytesMax({ columns: { texts }, from, to }: Slice): number {
  let bytes = (to - from) * rowBytes;
  if (texts === undefined) return bytes;
  // A slice may be short and its columns may hold many texts, so the shorter of the two is gone through.
  if (texts.size > to - from)
    for (let index = from; index < to; index++) bytes += (texts.get(index)?.length ?? 0) * bytesPerChar;
  else for (const [index, text] of texts) if (index >= from && index < to) bytes += text.length * bytesPerChar;
  return bytes;
}

/** Writes rows one after the other. */
export class RowWriter {
  readonly #bytes: Uint8Array;
  readonly #encoding: RowEncoding;
  #at: number;
  /** Encoders of timestamps and times of receiving; and the last time of receiving with its place in the buffer. */
  readonly #measured = new DayText();
  readonly #received = new DayText();
  #receivedMs = Number.NaN;
  #receivedAt = 0;
  #receivedEnd = 0;
  #isFirst = true;

  /** @param bytes must have space from `at` on for everything that is added (`jsonBytesMax`). */
  constructor(bytes: Uint8Array, options: { readonly at: number; readonly encoding: RowEncoding }) {
    this.#bytes = bytes;
    this.#at = options.at;
    this.#encoding = options.encoding;
  }

  /** Where the next row begins. */
  get at(): number {
    return this.#at;
  }

  /** Adds the rows of a slice; if `reversed`, the last row first. */
  add({ columns, from, to }: Slice, reversed: boolean): void {
    const bytes = this.#bytes;
    const { at: times, stamped, received } = columns;
    let at = this.#at;
    for (let n = from; n < to; n++) {
      const index = reversed ? to - 1 - (n - from) : n;
      if (this.#encoding === 'json' && !this.#isFirst) bytes[at++] = comma;
      this.#isFirst = false;
      at = put(bytes, at, beforeValue);
      at = putValue(bytes, at, valueAt(columns, index));
      if (stamped[index] === 1) {
        at = put(bytes, at, beforeTimestamp);
        at = this.#measured.put(bytes, at, times[index] as number);
        bytes[at++] = quote;
      }
      bytes[at++] = comma;
      at = put(bytes, at, beforeReceived);
      at = this.#putReceived(at, received[index] as number);
      bytes[at++] = quote;
      bytes[at++] = brace;
      if (this.#encoding === 'ndjson') bytes[at++] = 0x0a;
    }
    this.#at = at;
  }

  /**
   * Writes a time of receiving. Many datapoints are received at once, so an equal time is copied from the previous
   * row.
   */
  #putReceived(at: number, ms: number): number {
    const bytes = this.#bytes;
    if (ms === this.#receivedMs) {
      bytes.copyWithin(at, this.#receivedAt, this.#receivedEnd);
      return at + this.#receivedEnd - this.#receivedAt;
    }
    this.#receivedMs = ms;
    this.#receivedAt = at;
    this.#receivedEnd = this.#received.put(bytes, at, ms);
    return this.#receivedEnd;
  }
}

/** Writes a number as JSON; any other value is JSON text already. */
function putValue(bytes: Uint8Array, at: number, value: number | string): number {
  if (typeof value === 'string') return at + encoder.encodeInto(value, bytes.subarray(at)).written;
  const decimals = decimalsOf(value);
  if (decimals < 0) return putText(bytes, at, Object.is(value, -0) ? '-0' : String(value));
  let left = Math.round(Math.abs(value) * (powers[decimals] as number));
  if (value < 0) bytes[at++] = minus;
  const end = at + Math.max(digitsOf(left), decimals + 1) + (decimals > 0 ? 1 : 0);
  for (let place = end - 1; place >= at; place--) {
    if (decimals > 0 && place === end - 1 - decimals) {
      bytes[place] = point;
      continue;
    }
    const rest = Math.floor(left / 10);
    bytes[place] = zero + left - rest * 10;
    left = rest;
  }
  return end;
}

const powers = [1, 10, 100, 1000];
/** Numbers with up to so many digits are written digit by digit, which is faster than `String`. */
const digitsMax = 9;
const plainMax = 10 ** digitsMax;

/** The number of decimals, if the value can be written digit by digit with up to three; otherwise -1. */
function decimalsOf(value: number): number {
  for (let decimals = 0; decimals < powers.length; decimals++) {
    const power = powers[decimals] as number;
    const whole = Math.round(value * power);
    if (!(whole < plainMax && whole > -plainMax)) return -1;
    if (whole / power === value) return Object.is(value, -0) ? -1 : decimals;
  }
  return -1;
}

function digitsOf(whole: number): number {
  let digits = 1;
  for (let power = 10; digits < digitsMax && whole >= power; power *= 10) digits += 1;
  return digits;
}

function putText(bytes: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
  return at + text.length;
}

function put(bytes: Uint8Array, at: number, some: Uint8Array): number {
  for (let i = 0; i < some.length; i++) bytes[at + i] = some[i] as number;
  return at + some.length;
}

function putTwo(bytes: Uint8Array, at: number, number: number): number {
  const tens = Math.floor(number / 10);
  bytes[at] = zero + tens;
  bytes[at + 1] = zero + number - tens * 10;
  return at + 2;
}

/** Encodes times as `formatTimestamp` does; caches the text of the last day. */
class DayText {
  #day = Number.NaN;
  /** `2016-06-08T` */
  #text = new Uint8Array(0);

  put(bytes: Uint8Array, start: number, ms: number): number {
    const day = Math.floor(ms / dayMs);
    if (day !== this.#day) {
      this.#day = day;
      this.#text = encoder.encode(new Date(day * dayMs).toISOString().slice(0, -13));
    }
    const inDay = ms - day * dayMs;
    const second = Math.floor(inDay / 1000);
    const fraction = inDay - second * 1000;
    const minute = Math.floor(second / 60);
    const hour = Math.floor(minute / 60);
    let at = put(bytes, start, this.#text);
    at = putTwo(bytes, at, hour);
    bytes[at++] = colon;
    at = putTwo(bytes, at, minute - hour * 60);
    bytes[at++] = colon;
    at = putTwo(bytes, at, second - minute * 60);
    if (fraction > 0) {
      const hundreds = Math.floor(fraction / 100);
      bytes[at++] = point;
      bytes[at++] = zero + hundreds;
      at = putTwo(bytes, at, fraction - hundreds * 100);
    }
    bytes[at++] = 0x5a;
    return at;
  }
}
