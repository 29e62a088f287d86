// An actuator of a device (contract 4): something a value can be sent to.
import type { Json } from '../../base/json.ts';

export type ActuatorId = string & { readonly __brand?: 'ActuatorId' };

export const valueTypes = ['string', 'number', 'bool', 'null', 'object', 'array'] as const;
export type ValueType = (typeof valueTypes)[number];

export interface ActuatorDraft {
  readonly id: ActuatorId;
  readonly name?: string;
  readonly actuatorKind?: string;
  readonly valueType?: ValueType;
  readonly meta?: Json;
  /** The value last set, as JSON text; absent before the first. */
  readonly valueJson?: string;
}

export interface Actuator extends ActuatorDraft {
  readonly key: number;
}

export type ActuatorChange = Partial<Omit<ActuatorDraft, 'id'>>;

/** The value type a JSON value has. */
export function valueTypeOf(value: Json): ValueType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value as 'string' | 'number' | 'object';
}
