// An actuator of a device (contract 4), to which values can be sent.

import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { titleOf } from './former-ids/former-id.ts';

export type ActuatorId = string & { readonly __brand?: 'ActuatorId' };

/** Describes the values that are meant; a value of another type is taken all the same. */
export const valueTypes = ['string', 'number', 'bool', 'null', 'object', 'array'] as const;
export type ValueType = (typeof valueTypes)[number];

export interface ActuatorDraft {
  readonly id: ActuatorId;
  readonly name?: string;
  readonly actuatorKind?: string;
  readonly valueType?: ValueType;
  readonly meta?: Json;
  /** The last value set, as JSON text; absent before the first. */
  readonly valueJson?: string;
  /**
   * For how many seconds a value that is set may be handed to a gateway that was not connected; 0: never. Absent:
   * limits.actuatorValidForS.
   */
  readonly validFor?: number;
}

export interface Actuator extends ActuatorDraft {
  readonly key: number;
}

/** A change of an actuator; null removes the field. */
export type ActuatorChange = Partial<Omit<ActuatorDraft, 'id' | 'validFor'>> & { readonly validFor?: number | null };

/** The actuator of the device. @throws Refusal `not-found` */
export function actuatorOf(
  device: Named & { readonly actuators: ReadonlyMap<ActuatorId, Actuator> },
  id: ActuatorId,
): Actuator {
  const actuator = device.actuators.get(id);
  if (actuator === undefined) throw noActuator(device, id);
  return actuator;
}

export function noActuator(device: Named, id: ActuatorId): Refusal {
  return new Refusal('not-found', `${titleOf(device)} has no actuator ${id}.`);
}

type Named = Parameters<typeof titleOf>[0];
