// What a message to a sensor says: JSON, a bare number on the topic of one value (contract 8), with the NULs behind it that
// clients written in C send. Used by publishing.ts and fast-path.ts, which decide alike.
import { parseExactJsonText } from '../base/text/json-text.ts';
import { limits } from '../config/limits.ts';

/** A number of JSON, alone. */
const bareNumber = /^[ \t\r\n]*(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)[ \t\r\n]*$/;
const minus = 0x2d;
const isNumberBegun = (code: number | undefined) =>
  code === minus || (code !== undefined && code >= 0x30 && code <= 0x39) || (code !== undefined && code <= 0x20);

/** The payload without NULs behind it. */
export function withoutNuls(payload: Buffer): Buffer {
  let end = payload.length;
  while (end > 0 && payload[end - 1] === 0) end -= 1;
  return end === payload.length ? payload : payload.subarray(0, end);
}

/**
 * The message of a bare number in the form in which subscribers expect a value, `{"value": …}`; undefined for any other
 * payload.
 */
export function messageOfBareNumber(payload: Buffer): Buffer | undefined {
  if (payload.length > limits.bareNumberBytesMax || !isNumberBegun(payload[0])) return undefined;
  const [, number] = bareNumber.exec(payload.toString('latin1')) ?? [];
  return number === undefined ? undefined : Buffer.from(`{"value":${number}}`);
}

/** The JSON of a payload; its numbers keep their digits. @throws Refusal `malformed`, `too-large` */
export function jsonOfPayload(payload: Buffer): unknown {
  return parseExactJsonText(withoutNuls(payload), limits.nestingLevelsMax);
}
