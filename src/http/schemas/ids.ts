// What ids of devices, sensors, actuators and gateways may look like (contract 1).
import { Refusal } from '../../base/refusal.ts';
import { splitAtCommas } from '../../base/text/comma-list.ts';
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

/** The ids of a list with commas, each once. @throws Refusal `malformed` for what is no id. */
export function idsOf(list: string, field: string): string[] {
  const ids = [...new Set(splitAtCommas(list))];
  if (ids.every(isId)) return ids;
  const detail = 'must be ids separated by commas, without spaces; a comma within an id is written %252C';
  throw new Refusal('malformed', `${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
}
