// How many decimals a value deserves: a calibration multiplies what a sensor gives, and would pretend to know a temperature
// to the millionth. Called where values, charts and figures are written.
import type { Schemas } from '../../api/client.ts';

export type Calib = Schemas['Calibration'];

/** A float of a microcontroller is exact to so many digits. */
const digitsOfSensor = 7;

/** As fine as the least step of what the sensor gave, once it is calibrated; undefined where nothing is calibrated. */
export function decimalsOf(value: number, calib: Calib | undefined): number | undefined {
  const line = lineOf(calib);
  if (line === undefined) return undefined;
  const given = (value - line.lowTrue) / line.slope + line.lowReads;
  const step = 10 ** -decimalsIn(given) * Math.abs(line.slope);
  // 0.1 is a step of one decimal, 0.5 too, and 0.02 of two.
  return Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
}

/** The most that values of a line have, for what is calculated from them: means have one more. */
export function decimalsOfAll(values: readonly (number | null | undefined)[], calib: Calib | undefined): number {
  let most = 0;
  for (const value of values) {
    if (typeof value !== 'number' || !Number.isFinite(value)) continue;
    most = Math.max(most, decimalsOf(value, calib) ?? decimalsIn(value));
  }
  return most;
}

function decimalsIn(value: number): number {
  const written = String(Number(value.toPrecision(digitsOfSensor)));
  const [digits = '', exponent = '0'] = written.split('e');
  return Math.max(0, (digits.split('.')[1] ?? '').length - Number(exponent));
}

function lineOf(calib: Calib | undefined) {
  const { enabled, value_min: low, value_max: high } = calib?.linear ?? {};
  const [lowReads, highReads] = [low?.sensor_value ?? 0, high?.sensor_value ?? 0];
  const [lowTrue, highTrue] = [low?.real_value ?? 0, high?.real_value ?? 0];
  const slope = (highTrue - lowTrue) / (highReads - lowReads);
  const isCalibrated = enabled === true && Number.isFinite(slope) && slope !== 0;
  return isCalibrated ? { lowReads, lowTrue, slope } : undefined;
}
