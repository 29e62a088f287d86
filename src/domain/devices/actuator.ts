// An actuator of a device (contract 4), to which values can be sent.

import type { Json } from '../../base/text/json.ts';

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
}

export interface Actuator extends ActuatorDraft {
  readonly key: number;
}

export type ActuatorChange = Partial<Omit<ActuatorDraft, 'id'>>;
