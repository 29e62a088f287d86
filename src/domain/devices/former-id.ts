// Ids that a device had before it got another: it answers by them for a year (decision 42).
import { limits } from '../../config/limits.ts';
import type { DeviceKey } from '../device-key.ts';

/** How long an id answers after its device, or sensor, has got another. */
export const formerIdMs = limits.formerIdDays * 24 * 3_600_000;

/** An id that a device, or a sensor, had before. */
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

/**
 * How a sentence about the device begins that refuses something. A device that was asked for by a former id is not named: who may
 * not see it is not told its new id.
 */
export function titleOf({ id, formerIds }: { readonly id: string; readonly formerIds?: readonly FormerId[] }): string {
  return formerIds === undefined ? `Device ${id}` : 'This device';
}
