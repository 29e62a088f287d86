// A sensor of a device (spec 2.2): what it is, and how its description is checked.
import type { Json } from '../../base/text/json.ts';
import type { Calibration } from './calibration.ts';

/** The number under which the store keeps a sensor's datapoints; never shown, never used twice. */
export type SensorKey = number & { readonly __brand?: 'SensorKey' };
export type SensorId = string & { readonly __brand?: 'SensorId' };

/** The name under which the kind of a sensor was given, and under which it is read back (contract 4). */
export type KindName = 'sensing_device' | 'sensor_kind';

export interface SensorDraft {
  readonly id: SensorId;
  readonly name?: string;
  readonly kind?: string;
  readonly kindName: KindName;
  readonly quantityKind?: string;
  readonly unit?: string;
  readonly calibration?: Calibration;
  /** `calib` as it was given, read back unchanged. */
  readonly calib?: Json;
  readonly meta?: Json;
  /** For how many days datapoints are kept; 0: for ever; absent: as the device says. */
  readonly retentionDays?: number;
}

export interface Sensor extends SensorDraft {
  readonly key: SensorKey;
}

/** One field of a sensor that a PUT may change; null takes `retentionDays` away. */
export type SensorChange = Partial<Omit<SensorDraft, 'id' | 'retentionDays'>> & {
  readonly retentionDays?: number | null;
};
