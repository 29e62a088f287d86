// What ids of devices, sensors, actuators and gateways may look like (contract 1).
import { limits } from '../../config/limits.ts';

/** Printable ASCII without spaces and without & ? / # + < > " ' = ; ( ), and not `.` or `..`. */
export const idPattern = '^(?!\\.{1,2}$)[!$%*,\\-.0-9:@A-Z\\[\\\\\\]^_`a-z{|}~]+$';

/** Runs of characters that no id has. */
export const beyondIds = /[^!$%*,\-.0-9:@A-Z[\\\]^_`a-z{|}~]+/g;

/** The rule in words, for refusals of an id. */
export const idRule = `must be an id: 1 to ${limits.idCharsMax} ASCII characters without spaces and without & ? / # + < > " ' = ; ( )`;

const pattern = new RegExp(idPattern);

/** True for a text that may be an id. */
export function isId(text: string): boolean {
  return text.length <= limits.idCharsMax && pattern.test(text);
}
