// A datapoint (spec 2.3): a value of any JSON type, its timestamp, and the time of receiving.
import type { Json } from '../../base/text/json.ts';

/**
 * A stored value: a finite number as itself, anything else as JSON text. The JSON text of a number never occurs, so the
 * two cannot be confused.
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

/** The JSON value of a stored value. */
export function jsonValue(stored: StoredValue): Json {
  return typeof stored === 'number' ? stored : (JSON.parse(stored) as Json);
}
