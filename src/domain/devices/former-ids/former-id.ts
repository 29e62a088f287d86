// Former ids: a device or sensor that got another id still answers by the former one for a year (decision 42).
import { limits } from '../../../config/limits.ts';
import type { DeviceKey } from '../../device-key.ts';

/** How long a former id leads to its device or sensor, in milliseconds. */
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
 * The subject of a refusal about the device. A device that has former ids is not named, because an actor who asked by one of them
 * and may not view the device must not learn its new id.
 */
export function titleOf({ id, formerIds }: { readonly id: string; readonly formerIds?: readonly FormerId[] }): string {
  return formerIds === undefined ? `Device ${id}` : 'This device';
}
