// Sensors and actuators with any values that may be stored, for properties.
import fc from 'fast-check';
import { valueTypes } from '../../../src/domain/devices/actuator.ts';
import { parseCalibration } from '../../../src/domain/devices/calibration.ts';
import { found } from './records.ts';
import { anyJson, anyText } from './texts.ts';

const calib = {
  linear: {
    enabled: true,
    value_min: { sensor_value: 0, real_value: 1 },
    value_max: { sensor_value: 10, real_value: 31 },
  },
};
const calibration = found(parseCalibration(calib, ''));

export const days = fc.nat({ max: 40_000 });

export const anySensor = fc
  .record(
    {
      kindName: fc.constantFrom('sensing_device' as const, 'sensor_kind' as const),
      ...{ name: anyText, kind: anyText, quantityKind: anyText, unit: anyText, meta: anyJson, retentionDays: days },
      isCalibrated: fc.boolean(),
    },
    { requiredKeys: ['kindName', 'isCalibrated'] },
  )
  .map(({ isCalibrated, ...sensor }) => ({ ...sensor, ...(isCalibrated ? { calib, calibration } : {}) }));

export const anyActuator = fc.record(
  {
    ...{ name: anyText, actuatorKind: anyText, valueType: fc.constantFrom(...valueTypes), meta: anyJson },
    valueJson: anyJson.map((value) => JSON.stringify(value)),
    validFor: days,
  },
  { requiredKeys: [] },
);
