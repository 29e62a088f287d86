// Ids that a device had before it got another: it answers by them for a year (decision 41).
import type { DeviceKey } from '../device-key.ts';

/** An id that a device had before. */
export interface FormerId {
  readonly id: string;
  /** Until when it answers, in milliseconds since 1970 UTC. */
  readonly untilMs: number;
}

/** Where a former id of a device leads. */
export interface FormerDeviceId {
  readonly device: DeviceKey;
  /** The id that the device has now. */
  readonly id: string;
  readonly untilMs: number;
}
