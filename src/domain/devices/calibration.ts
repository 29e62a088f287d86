// Online calibration (contract 4): a line through two points, applied on reads; stored data stays raw.

import { Refusal } from '../../base/refusal.ts';
import { doubleOfText } from '../../base/text/exact-number.ts';
import type { Json } from '../../base/text/json.ts';

/** Reads give `slope * raw + intercept`. */
export interface Calibration {
  readonly slope: number;
  readonly intercept: number;
}

interface Point {
  readonly sensor: number;
  readonly real: number;
}

/**
 * Parses a `calib` object: `{linear: {enabled, value_min: {sensor_value, real_value}, value_max: {…}}}`.
 * @returns the line, or undefined where calibration is absent or switched off.
 * @throws Refusal `malformed` when the object is no calibration or its two points have the same sensor value.
 */
export function parseCalibration(calib: Json, pointer: string): Calibration | undefined {
  const calibObject = asObject(calib, pointer);
  if (calibObject['linear'] === undefined) return undefined;
  const linear = asObject(calibObject['linear'], `${pointer}/linear`);
  const enabled = linear['enabled'];
  if (typeof enabled !== 'boolean') fault(`${pointer}/linear/enabled`, 'must be true or false');
  if (!enabled && linear['value_min'] === undefined && linear['value_max'] === undefined) return undefined;
  const low = point(linear['value_min'], `${pointer}/linear/value_min`);
  const high = point(linear['value_max'], `${pointer}/linear/value_max`);
  if (low.sensor === high.sensor) {
    fault(
      `${pointer}/linear/value_max/sensor_value`,
      'must differ from that of value_min: two equal points make no line',
    );
  }
  const slope = (high.real - low.real) / (high.sensor - low.sensor);
  const intercept = low.real - slope * low.sensor;
  if (!Number.isFinite(slope) || !Number.isFinite(intercept))
    fault(`${pointer}/linear`, 'is too steep to be calculated');
  return enabled ? { slope, intercept } : undefined;
}

/**
 * The value as reads return it: numbers are calibrated, also those that are kept as their JSON text because no double
 * carries them; other values are unchanged.
 */
export function calibrate<V extends number | string>(value: V, calibration: Calibration | undefined): V | number {
  if (calibration === undefined) return value;
  const number = typeof value === 'number' ? value : doubleOfText(value);
  const corrected = calibration.slope * number + calibration.intercept;
  // JSON has no infinity; a value that overflows is returned raw rather than as null. So is what is no number (NaN).
  return Number.isFinite(corrected) ? corrected : value;
}

/**
 * Calibrates the indexes from `from` up to, but without, `to`, into another column of values. NaN stands for other
 * values and stays.
 */
export function calibrateColumn(
  {
    columns: { values, texts },
    from,
    to,
  }: {
    readonly columns: { readonly values: Float64Array; readonly texts: ReadonlyMap<number, string> | undefined };
    readonly from: number;
    readonly to: number;
  },
  calibration: Calibration,
  into: Float64Array,
): void {
  for (let index = from; index < to; index++) {
    const value = values[index] as number;
    const corrected = calibrate(Number.isNaN(value) ? (texts?.get(index) ?? value) : value, calibration);
    into[index] = typeof corrected === 'number' ? corrected : Number.NaN;
  }
}

function point(json: Json | undefined, pointer: string): Point {
  const object = asObject(json, pointer);
  const sensor = object['sensor_value'];
  const real = object['real_value'];
  if (typeof sensor !== 'number') fault(`${pointer}/sensor_value`, 'must be a number');
  if (typeof real !== 'number') fault(`${pointer}/real_value`, 'must be a number');
  return { sensor, real };
}

function asObject(json: Json | undefined, pointer: string): { readonly [key: string]: Json } {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) fault(pointer, 'must be an object');
  return json as { readonly [key: string]: Json };
}

function fault(pointer: string, detail: string): never {
  throw new Refusal('malformed', `${pointer} ${detail}.`, { faults: [{ pointer, detail }] });
}
