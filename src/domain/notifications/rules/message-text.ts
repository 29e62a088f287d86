// The text that a rule sends when it fires or recovers, or the setting of an actuator as JSON, with variables replaced.
// Used for messages and for dry runs.
import type { Json } from '../../../base/text/json.ts';
import { plainText } from '../../../base/text/plain-text.ts';
import type { FiringEvent } from './firing.ts';
import type { Rule } from './rule.ts';
import { replaceVariables, type TextSubject } from './variables.ts';

/** An actuator setting as stored in the outbox. */
export interface ActuatorSetting {
  readonly device_id: string;
  readonly actuator_id: string;
  readonly actuator_value: Json;
}

/** The input of a message text. */
export interface TextSource extends TextSubject {
  readonly rule: Rule;
  readonly event: FiringEvent;
}

/** The text to send; undefined where there is none. */
export function messageTextOf({ rule, ...subject }: TextSource): string | undefined {
  const { event } = subject;
  const { action, recoveryMessage } = rule;
  const replaced = (text: string) => replaceVariables(text, subject);
  const said = (text: string) => plainText(replaced(text));
  if (event.kind === 'recovers') return recoveryMessage === undefined ? undefined : said(recoveryMessage);
  if (action.kind === 'message') return said(action.text);
  const { device, actuator, value } = action;
  const setting: ActuatorSetting = {
    device_id: device,
    actuator_id: actuator,
    actuator_value: typeof value === 'string' ? replaced(value) : value,
  };
  return JSON.stringify(setting);
}
