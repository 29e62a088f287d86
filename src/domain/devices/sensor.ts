// A sensor of a device (spec 2.2), its draft and its changes.
import type { Json } from '../../base/text/json.ts';
import type { Calibration } from './calibration.ts';

/** The number by which the store identifies a sensor's datapoints. Never shown, never reused. */
export type SensorKey = number & { readonly __brand?: 'SensorKey' };
export type SensorId = string & { readonly __brand?: 'SensorId' };

/** The name of the field in which a sensor's kind was given, and in which it is returned (contract 4). */
export type KindName = 'sensing_device' | 'sensor_kind';

export interface SensorDraft {
  readonly id: SensorId;
  readonly name?: string;
  readonly kind?: string;
  readonly kindName: KindName;
  readonly quantityKind?: string;
  readonly unit?: string;
  readonly calibration?: Calibration;
  /** `calib` as the client sent it, returned unchanged. */
  readonly calib?: Json;
  readonly meta?: Json;
  /** Days for which datapoints are kept; 0: for ever; absent: as the device says. */
  readonly retentionDays?: number;
}

export interface Sensor extends SensorDraft {
  readonly key: SensorKey;
}

/** Fields of a sensor that a PUT may change; null removes `retentionDays`. */
export type SensorChange = Partial<Omit<SensorDraft, 'id' | 'retentionDays'>> & {
  readonly retentionDays?: number | null;
};
