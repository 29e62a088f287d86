// A notification in the form in which it is evaluated: condition parsed, times in milliseconds. Made when a datapoint
// first concerns it.
import type { Json } from '../../../base/text/json.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { SensorId } from '../../devices/sensor.ts';
import { type Expression, sensorsOf } from './expression.ts';
import { parseExpression } from './expression-parser.ts';
import { isWrapped, type JsonObject, type NotificationFields } from './notification.ts';
import { variablesOf } from './variables.ts';

export interface Rule {
  readonly devices: readonly DeviceId[];
  /** The sensors whose datapoints trigger an evaluation: those of the condition and of its expression. */
  readonly sensors: readonly SensorId[];
  /** The sensors whose last values are needed: for the expressions, and for variables in texts. */
  readonly values: readonly SensorId[];
  /** The condition's expression; undefined where the rule has only `silence`. */
  readonly expression: Expression | undefined;
  /** The hysteresis expression, which must hold before the rule fires again. */
  readonly rearm: Expression | undefined;
  /** How long the condition must hold. */
  readonly forMs: number;
  readonly silenceMs: number | undefined;
  readonly recoveryMessage: string | undefined;
  readonly throttlingMs: number;
  readonly expiresMs: number;
  readonly action: Action;
}

/** What a firing does. */
export type Action =
  | {
      readonly kind: 'message';
      readonly usernames: readonly string[];
      readonly channels: readonly string[];
      readonly text: string;
    }
  | { readonly kind: 'actuation'; readonly device: string; readonly actuator: string; readonly value: Json };

/** Parses a rule. @throws Refusal where the record breaks the rules of its fields. */
export function toRule(fields: NotificationFields): Rule {
  const { condition, hysteresis, silenceS, recoveryMessage } = fields;
  const text = (condition['expression'] as string | undefined) ?? '';
  const isSilenceAlone = silenceS !== undefined && text.trim() === '';
  const expression = isSilenceAlone ? undefined : parseExpression(text);
  const rearm = hysteresis === undefined ? undefined : parseExpression(hysteresis);
  const named = [...textsOf(condition['sensors']), ...(expression === undefined ? [] : sensorsOf(expression))];
  const action = toAction(fields.action);
  const values = [...named, ...(rearm === undefined ? [] : sensorsOf(rearm)), ...variablesIn(action, recoveryMessage)];
  return {
    devices: [...new Set(textsOf(condition['devices']))],
    sensors: [...new Set([...named, ...(rearm === undefined ? [] : sensorsOf(rearm))])],
    values: [...new Set(values)],
    expression,
    rearm,
    forMs: (fields.forS ?? 0) * 1000,
    silenceMs: silenceS === undefined ? undefined : silenceS * 1000,
    recoveryMessage,
    throttlingMs: fields.throttlingS * 1000,
    expiresMs: fields.expiresMs ?? Number.POSITIVE_INFINITY,
    action,
  };
}

function toAction(action: JsonObject): Action {
  const value = isWrapped(action) ? (action['value'] as JsonObject) : action;
  if (action['type'] === 'ActuationAction') {
    const { device_id: device, actuator_id: actuator, actuator_value } = value;
    return { kind: 'actuation', device: device as string, actuator: actuator as string, value: actuator_value as Json };
  }
  const usernames = [...new Set(textsOf(value['usernames']))];
  return {
    kind: 'message',
    usernames,
    channels: [...new Set(textsOf(value['channels']))],
    text: value['message'] as string,
  };
}

function variablesIn(action: Action, recoveryMessage = ''): string[] {
  const text = action.kind === 'message' ? action.text : typeof action.value === 'string' ? action.value : '';
  return [...variablesOf(text), ...variablesOf(recoveryMessage)];
}

export function textsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : [];
}
