// How much memory an active rule takes, in bytes: its author is charged for it (rule-index.ts), before it is stored.
import { entryBytes, textHeapBytes } from '../../../base/memory/heap-bytes.ts';
import type { JsonObject } from '../rules/notification.ts';
import { toRule } from '../rules/rule.ts';
import type { RuleWeight } from '../rules/rule-changes.ts';

/** Measured bytes of memory of a rule without its texts and devices. */
const ruleBytes = 400;
/** Measured bytes of memory for each device of a rule. */
const ruleDeviceBytes = 300;
/** Measured bytes of memory of a rule's state for one device; and for one of its sensors that may fall silent. */
const deviceStateBytes = 500;
const silentSensorBytes = 128;
/**
 * Estimated bytes for each character of a parsed condition; and for each character beyond `longConditionChars`, which
 * in the worst case are short ids of sensors. Long conditions count as if they were always parsed.
 */
const parsedBytesEach = 4;
const longConditionChars = 1024;
const longConditionBytesEach = 12;

/** Bytes of memory of an active rule with its devices and its states, about; without what is parsed only when needed. */
export function weightOf(rule: RuleWeight): number {
  const { devices, conditionJson, actionJson, extras } = rule;
  const { hysteresis = '', recoveryMessage = '', forS = 0, silenceS } = extras;
  const texts = [conditionJson, actionJson, hysteresis, recoveryMessage];
  const textBytes = texts.reduce((sum, text) => sum + textHeapBytes(text), longConditionBytes(conditionJson));
  const hasState = hysteresis !== '' || recoveryMessage !== '' || forS > 0 || silenceS !== undefined;
  const silentBytes = silenceS === undefined ? 0 : sensorsIn(rule) * silentSensorBytes;
  const deviceBytes = ruleDeviceBytes + (hasState ? deviceStateBytes : 0) + silentBytes;
  // A rule with state is parsed when it is loaded, and stays parsed.
  const parsedBytes = hasState ? parsedBytesEach * (conditionJson.length + entryBytes) : 0;
  return ruleBytes + textBytes + parsedBytes + devices.length * deviceBytes;
}

function longConditionBytes(conditionJson: string): number {
  return Math.max(0, conditionJson.length - longConditionChars) * longConditionBytesEach;
}

/** The number of sensors of a device that the rule watches, whether the device has them or not. */
function sensorsIn({ conditionJson, actionJson, extras }: RuleWeight): number {
  const condition = JSON.parse(conditionJson) as JsonObject;
  const action = JSON.parse(actionJson) as JsonObject;
  return toRule({ condition, action, status: 'active', throttlingS: 0, ...extras }).sensors.length;
}

/** Bytes of memory of a rule's parsed form, about. */
export function parsedBytesOf({ conditionJson }: Pick<RuleWeight, 'conditionJson'>): number {
  return parsedBytesEach * (conditionJson.length + entryBytes) + longConditionBytes(conditionJson);
}
