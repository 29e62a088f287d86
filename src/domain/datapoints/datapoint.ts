// A datapoint (spec 2.3): a value of any JSON type, its timestamp, and the time of receiving.
import { doubleOfText, parseExactly } from '../../base/text/exact-number.ts';
import type { Json } from '../../base/text/json.ts';

/**
 * A stored value: a number as the double that carries it, anything else as JSON text. So is a number that no double
 * carries, such as an integer of twenty digits: it comes back digit for digit, and computes as its nearest double.
 */
export type StoredValue = number | string;

/** A datapoint of one sensor as stores return it. */
export interface Datapoint {
  /** The timestamp in milliseconds since 1970 UTC; undefined when the sender had no clock. */
  readonly timestampMs: number | undefined;
  /** When the service received it, milliseconds since 1970 UTC. */
  readonly receivedMs: number;
  readonly value: StoredValue;
}

/**
 * A datapoint with its order of arrival, which is known for datapoints in the log and for the last one of each
 * sensor.
 */
export interface ArrivedDatapoint extends Datapoint {
  /** Order of arrival, over all sensors. */
  readonly seq: number;
}

/** The ordering time: the timestamp, or the time of receiving where there is none (contract 5). */
export function orderOf(point: Pick<Datapoint, 'timestampMs' | 'receivedMs'>): number {
  return point.timestampMs ?? point.receivedMs;
}

/** Compares datapoints of several sensors by time, then by time of receiving. */
export function compareTimes(a: Datapoint, b: Datapoint): number {
  return orderOf(a) - orderOf(b) || a.receivedMs - b.receivedMs;
}

/** The stored form of a JSON value. */
export function storedValue(value: Json): StoredValue {
  return typeof value === 'number' ? value : JSON.stringify(value);
}

/** The JSON value of a stored value; `JSON.stringify` writes its numbers digit for digit (exact-number.ts). */
export function jsonValue(stored: StoredValue): Json {
  return typeof stored === 'number' ? stored : parseExactly(stored);
}

/** The double of a value that is a number, or nearest to one; undefined for other values. */
export function doubleOfStored(stored: StoredValue): number | undefined {
  if (typeof stored === 'number') return stored;
  const double = doubleOfText(stored);
  return Number.isNaN(double) ? undefined : double;
}
