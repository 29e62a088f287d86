// A notification (spec 2.5): a rule that makes the service send a message or set an actuator at certain values. Its
// fields, and the checks of its condition and action, which are stored as the client sent them.

import { Refusal } from '../../../base/refusal.ts';
import { isStorableText, type Json, textFault } from '../../../base/text/json.ts';
import { limits } from '../../../config/limits.ts';
import type { UserKey } from '../../users/user.ts';
import { parseExpression } from './expression-parser.ts';

/** 24 hex digits, not guessable. */
export type NotificationId = string & { readonly __brand?: 'NotificationId' };

export const statuses = ['active', 'inactive'] as const;
export type Status = (typeof statuses)[number];

/** `none` records a firing and sends nothing. */
export const channels = ['sms', 'voice', 'twitter', 'none', 'email', 'webhook', 'telegram'] as const;
/** The channels by which messages leave the service. */
export type Channel = Exclude<(typeof channels)[number], 'none'>;

export type JsonObject = { readonly [key: string]: Json };

/** The fields that the author sets. In a change, null removes a field. */
export interface NotificationFields {
  readonly description?: string;
  readonly condition: JsonObject;
  readonly action: JsonObject;
  readonly status: Status;
  /** Minimum between two firings. */
  readonly throttlingS: number;
  /** Milliseconds since 1970 UTC; absent: never. */
  readonly expiresMs?: number;
  /**
   * A second expression: after a firing the rule waits until it was true. This field and the following ones go beyond
   * spec.md.
   */
  readonly hysteresis?: string;
  /** How long the condition must hold. */
  readonly forS?: number;
  /** The rule fires when a sensor has sent nothing for this time. */
  readonly silenceS?: number;
  /** Sent when the condition ends after a firing. */
  readonly recoveryMessage?: string;
}

export type NotificationChange = { readonly [F in keyof NotificationFields]?: NotificationFields[F] | null };

export interface Notification extends NotificationFields {
  readonly id: NotificationId;
  /** In order of creation. */
  readonly key: number;
  readonly authorKey: UserKey;
  readonly author: string;
  /** Number of firings. */
  readonly timesSent: number;
  readonly lastNotificationMs?: number;
  readonly lastSuccessMs?: number;
  readonly lastSuccessCode?: number;
  readonly lastFailureMs?: number;
  readonly lastFailureCode?: number;
  readonly lastFailureReason?: string;
}

/** @throws Refusal `malformed` when the text cannot be the id of a notification. */
export function parseNotificationId(text: string): NotificationId {
  if (isNotificationId(text)) return text.toLowerCase();
  return fault('/notification', 'must be the id of a notification: 24 hex digits');
}

/** Whether a text can be the id of a notification. */
export function isNotificationId(text: string): boolean {
  return /^[0-9a-f]{24}$/i.test(text);
}

/** Checks the fields of a rule, from whatever source. @throws Refusal `malformed`, `too-large` */
export function assertFields(fields: NotificationFields): void {
  const { condition, action, throttlingS } = fields;
  assertBytes(condition, '/condition');
  assertBytes(action, '/action');
  assertCondition(condition);
  assertAction(action);
  if (!Number.isInteger(throttlingS) || throttlingS < 0 || throttlingS > limits.throttlingSMax) {
    fault('/throttling', `must be whole seconds from 0 to ${limits.throttlingSMax}`);
  }
  assertBeyond(fields);
}

/** Checks the fields beyond spec.md. */
function assertBeyond({ action, hysteresis, forS = 0, silenceS = 1, recoveryMessage }: NotificationFields): void {
  if (hysteresis !== undefined) {
    parseExpression(assertText(hysteresis, '/hysteresis', limits.expressionCharsMax), '/hysteresis');
    if (hysteresis.trim() === '') fault('/hysteresis', 'must say when the notification may fire again');
  }
  if (!Number.isInteger(forS) || forS < 0 || forS > limits.ruleSecondsMax) {
    fault('/for', `must be whole seconds from 0 to ${limits.ruleSecondsMax}`);
  }
  if (!Number.isInteger(silenceS) || silenceS < 1 || silenceS > limits.ruleSecondsMax) {
    fault('/silence', `must be whole seconds from 1 to ${limits.ruleSecondsMax}`);
  }
  if (recoveryMessage === undefined) return;
  assertText(recoveryMessage, '/recovery_message', limits.messageCharsMax);
  if (action['type'] === 'ActuationAction') fault('/recovery_message', 'goes with a message, not with an actuator');
}

/** Checks a condition. Devices and sensors need not exist: a rule may be created before them and outlive them. */
function assertCondition({ devices, sensors, expression }: JsonObject): void {
  assertTexts(devices ?? [], '/condition/devices', limits.notificationEntriesMax);
  assertTexts(sensors ?? [], '/condition/sensors', limits.notificationEntriesMax);
  if (expression === undefined) return;
  parseExpression(assertText(expression, '/condition/expression', limits.expressionCharsMax));
}

/** Whether an action is wrapped, `{type, value}` (contract 7), instead of flat (spec 2.5). */
export function isWrapped(action: JsonObject): boolean {
  return action['type'] !== undefined;
}

function assertAction(action: JsonObject): void {
  if (!isWrapped(action)) {
    assertMessage(action, '/action');
    return;
  }
  const { type, value } = action;
  if (type !== 'SocialAction' && type !== 'ActuationAction') {
    fault('/action/type', 'must be one of SocialAction, ActuationAction');
  }
  if (!isJsonObject(value)) fault('/action/value', 'must be an object');
  if (type === 'SocialAction') assertMessage(value, '/action/value');
  else assertActuation(value);
}

function assertMessage({ usernames, channels: wanted, message }: JsonObject, pointer: string): void {
  assertTexts(usernames, `${pointer}/usernames`, limits.notificationEntriesMax);
  const names = assertTexts(wanted, `${pointer}/channels`, limits.notificationChannelsMax);
  for (const [index, name] of names.entries()) {
    if (channels.some((known) => known === name)) continue;
    fault(`${pointer}/channels/${index}`, `must be one of ${channels.join(', ')}`);
  }
  assertText(message, `${pointer}/message`, limits.messageCharsMax);
}

function assertActuation(value: JsonObject): void {
  assertText(value['device_id'], '/action/value/device_id', limits.idCharsMax);
  assertText(value['actuator_id'], '/action/value/actuator_id', limits.idCharsMax);
  if (value['actuator_value'] === undefined) fault('/action/value/actuator_value', 'is missing');
}

function assertTexts(value: Json | undefined, pointer: string, max: number): readonly string[] {
  if (value === undefined) fault(pointer, 'is missing');
  if (!Array.isArray(value)) fault(pointer, 'must be an array of texts');
  if (value.length > max) fault(pointer, `must have at most ${max} entries, not ${value.length}`);
  return value.map((entry, index) => assertText(entry, `${pointer}/${index}`, limits.idCharsMax));
}

function assertText(value: Json | undefined, pointer: string, charsMax: number): string {
  if (value === undefined) fault(pointer, 'is missing');
  if (typeof value !== 'string') fault(pointer, 'must be a text');
  if (!isStorableText(value)) fault(pointer, textFault(value));
  if (value.length > charsMax) {
    const detail = `must have at most ${charsMax} characters, not ${value.length}`;
    throw new Refusal('too-large', `${pointer} ${detail}.`, { faults: [{ pointer, detail }] });
  }
  return value;
}

/** Checks the size, because unknown fields are stored as they are. */
function assertBytes(value: JsonObject, pointer: string): void {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= limits.notificationBytesMax) return;
  const detail = `must have at most ${limits.notificationBytesMax} bytes as JSON, not ${bytes}`;
  throw new Refusal('too-large', `${pointer} ${detail}.`, { faults: [{ pointer, detail }] });
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fault(pointer: string, detail: string): never {
  throw new Refusal('malformed', `${pointer} ${detail}.`, { faults: [{ pointer, detail }] });
}
