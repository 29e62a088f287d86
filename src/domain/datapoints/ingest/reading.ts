// The checked readings of one push to one sensor, in the order in which they were sent; and their parser.

import { Refusal } from '../../../base/refusal.ts';
import type { Json } from '../../../base/text/json.ts';
import { hasBytesMax, mayHaveJsonBytes } from '../../../base/text/text-length.ts';
import { parseTimestamp } from '../../../base/time/timestamp.ts';
import { limits } from '../../../config/limits.ts';
import { type StoredValue, storedValue } from '../datapoint.ts';

export interface Reading {
  readonly value: StoredValue;
  /** Milliseconds since 1970 UTC, NaN where the sender had no clock. */
  readonly timestampMs: number;
}

/** The readings of a push in order. An array of readings implements this. */
export interface Readings extends Iterable<Reading> {
  readonly length: number;
  at(index: number): Reading | undefined;
  map<T>(of: (reading: Reading, index: number) => T): T[];
}

/**
 * Parses the body of a push: `{value, timestamp?}` or an array of such objects (contract 5).
 * @throws Refusal `malformed` or `too-large`, naming each fault by JSON pointer.
 */
export function parseReadings(body: unknown): Reading[] {
  if (!Array.isArray(body)) return [parseReading(body, '')];
  if (body.length > limits.pushDatapointsMax) {
    throw new Refusal(
      'too-large',
      `One push takes ${limits.pushDatapointsMax} datapoints, not ${body.length}. Send them in parts.`,
    );
  }
  return body.map((item, index) => parseReading(item, `/${index}`));
}

/** Parses one `{value, timestamp?}`; unknown fields, such as `date_received`, are ignored. */
function parseReading(body: unknown, pointer: string): Reading {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    fault(pointer, 'must be an object with a "value", such as {"value": 21.5}');
  }
  const { value, timestamp } = body as { value?: Json; timestamp?: unknown };
  if (value === undefined) fault(`${pointer}/value`, 'is missing: a datapoint needs a value (null is one)');
  return { value: parseValue(value, `${pointer}/value`), timestampMs: parseReadingTimestamp(timestamp, pointer) };
}

/** Converts a value of any JSON type to its stored form. base/text/json-text.ts has parsed it, so it can be stored. */
export function parseValue(value: Json, pointer: string): StoredValue {
  const { valueBytesMax } = limits;
  const isTree = typeof value === 'object' && value !== null;
  if (isTree && !mayHaveJsonBytes(value, valueBytesMax)) throw tooLarge(pointer, `more than ${valueBytesMax}`);
  const stored = storedValue(value);
  if (typeof stored === 'string' && !hasBytesMax(stored, valueBytesMax)) {
    throw tooLarge(pointer, String(Buffer.byteLength(stored)));
  }
  return stored;
}

function tooLarge(pointer: string, bytes: string): Refusal {
  return new Refusal(
    'too-large',
    `${pointer || 'The text'} has ${bytes} bytes; a value takes ${limits.valueBytesMax}.`,
    { faults: [{ pointer, detail: `must have at most ${limits.valueBytesMax} bytes as JSON` }] },
  );
}

function parseReadingTimestamp(timestamp: unknown, pointer: string): number {
  if (timestamp === undefined || timestamp === null) return Number.NaN;
  if (typeof timestamp !== 'string') fault(`${pointer}/timestamp`, 'must be a string such as "2016-06-08T18:20:27Z"');
  const ms = parseTimestamp(timestamp);
  if (ms === undefined) {
    fault(`${pointer}/timestamp`, 'is no timestamp; write RFC 3339 such as "2016-06-08T18:20:27.873Z"');
  }
  return ms;
}

function fault(pointer: string, detail: string): never {
  throw new Refusal('malformed', `${pointer || 'The body'} ${detail}.`, { faults: [{ pointer, detail }] });
}
