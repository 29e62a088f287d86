// A datapoint (spec 2.3): a value of any JSON type, when it was measured, when it was received.
import type { Json } from '../../base/text/json.ts';

/**
 * A value as it is kept: a finite number as itself, anything else as its JSON text.
 * A JSON text of a number never occurs, so the two cannot be confused.
 */
export type StoredValue = number | string;

/** A datapoint of one sensor as the store gives it back. */
export interface Datapoint {
  /** When it was measured, milliseconds since 1970 UTC; undefined when the sender had no clock. */
  readonly timestampMs: number | undefined;
  /** When the service received it, milliseconds since 1970 UTC. */
  readonly receivedMs: number;
  readonly value: StoredValue;
}

/** A datapoint of which is known when it arrived among all others: those of the log, and the last of each sensor. */
export interface ArrivedDatapoint extends Datapoint {
  /** Order of arrival, over all sensors. */
  readonly seq: number;
}

/** The time that orders datapoints: the measured time, or the received one where there is none (contract 5). */
export function orderOf(point: Pick<Datapoint, 'timestampMs' | 'receivedMs'>): number {
  return point.timestampMs ?? point.receivedMs;
}

/** Compares datapoints of several sensors by time; where that is equal, by when they were received. */
export function compareTimes(a: Datapoint, b: Datapoint): number {
  return orderOf(a) - orderOf(b) || a.receivedMs - b.receivedMs;
}

export function storedValue(value: Json): StoredValue {
  return typeof value === 'number' ? value : JSON.stringify(value);
}

export function jsonValue(stored: StoredValue): Json {
  return typeof stored === 'number' ? stored : (JSON.parse(stored) as Json);
}
