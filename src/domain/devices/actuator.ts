// An actuator of a device (contract 4), to which values can be sent; and the checks of a value against its type.

import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';

export type ActuatorId = string & { readonly __brand?: 'ActuatorId' };

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

/** The value type of a JSON value. */
function valueTypeOf(value: Json): ValueType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value as 'string' | 'number' | 'object';
}

/**
 * Checks that the value is of the actuator's type.
 * @param pointer where the value is in the request.
 * @throws Refusal `malformed` when it is of another type.
 */
export function assertValueType(
  { id, valueType }: Pick<ActuatorDraft, 'id' | 'valueType'>,
  value: Json,
  pointer = '',
): void {
  const type = valueTypeOf(value);
  if (valueType === undefined || valueType === type) return;
  throw new Refusal('malformed', `Actuator ${id} takes a value of type ${valueType}, not ${type}.`, {
    faults: [{ pointer, detail: `must be of type ${valueType}` }],
  });
}

/** Checks a new value type. @throws Refusal `conflict` when the actuator's present value is not of it. */
export function assertKeepsValue({ id, valueJson }: ActuatorDraft, valueType: ValueType | undefined): void {
  if (valueType === undefined || valueJson === undefined) return;
  const type = valueTypeOf(JSON.parse(valueJson) as Json);
  if (type === valueType) return;
  throw new Refusal(
    'conflict',
    `The value of actuator ${id} is of type ${type}, not ${valueType}. POST the actuator with its new type and a value of that type.`,
  );
}

/**
 * Checks that the draft's initial value is of its type.
 * @param pointer where the draft is in the request.
 * @throws Refusal `malformed` when it is of another type.
 */
export function assertDraft(draft: ActuatorDraft, pointer = ''): void {
  if (draft.valueJson !== undefined) assertValueType(draft, JSON.parse(draft.valueJson) as Json, `${pointer}/value`);
}
