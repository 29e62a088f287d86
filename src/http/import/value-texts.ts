// Interprets a CSV field: no value, a number with decimal point or comma, a boolean, JSON, or text. Called by
// line-reader.ts, and by csv-dialect.ts for the form of numbers.

import { Refusal, type Said } from '../../base/refusal.ts';
import { exactNumber } from '../../base/text/exact-number.ts';
import { isStorableText, type Json, textFault } from '../../base/text/json.ts';
import { parseExactJsonText } from '../../base/text/json-text.ts';
import { limits } from '../../config/limits.ts';

export const decimals = ['point', 'comma'] as const;
export type Decimal = (typeof decimals)[number];

/** How fields are interpreted: by their form, as numbers only, or as texts only. */
export const valueKinds = ['auto', 'number', 'text'] as const;
export type ValueKind = (typeof valueKinds)[number];

/** Texts that mean "no value", in lower case; an empty field always does. */
export const missingWords: readonly string[] = ['na', 'n/a', '#n/a', 'nan', '-', '--', 'none'];

const numbers: Readonly<Record<Decimal, RegExp>> = {
  point: /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/,
  comma: /^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$/,
};
const grouped = /^[+-]?\d{1,3}(\.\d{3})+,\d+$/;

/** True for a number written with this decimal separator; with a comma, points may group thousands. */
export function isNumber(text: string, decimal: Decimal): boolean {
  return numbers[decimal].test(text) || (decimal === 'comma' && grouped.test(text));
}

export interface ValueForm {
  readonly decimal: Decimal;
  readonly kind: ValueKind;
  readonly missing: ReadonlySet<string>;
}

/**
 * The value, or undefined where there is none.
 * @throws Refusal `malformed`, `too-large`
 */
export function parseValueText(field: string, { decimal, kind, missing }: ValueForm): Json | undefined {
  const text = field.trim();
  if (text === '' || missing.has(text.toLowerCase())) return undefined;
  if (kind === 'text') return cleanText(text);
  if (isNumber(text, decimal)) return toNumber(text, decimal);
  if (kind === 'number') {
    const said = { code: 'no-number', params: { text: shortened(text) } };
    throw new Refusal('malformed', `${quoted(text)} is no number.`, { said });
  }
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  return jsonOrText(text);
}

/** A JSON text as its value; any other text as a string. */
export function jsonOrText(text: string): Json {
  if (text.length > limits.valueBytesMax) {
    const detail = `value has ${text.length} characters; a value takes ${limits.valueBytesMax} bytes.`;
    throw new Refusal('too-large', detail, { said: { code: 'value-long', params: { max: limits.valueBytesMax } } });
  }
  if (!isJson(text)) return cleanText(text);
  // Parsed inside a datapoint, so that its bounds apply and faults point to /value.
  return (parseExactJsonText(Buffer.from(`{"value":${text}}`), limits.nestingLevelsMax) as { readonly value: Json })
    .value;
}

function toNumber(text: string, decimal: Decimal): Json {
  const plain = decimal === 'comma' ? text.replaceAll('.', '').replace(',', '.') : text;
  const value = Number(plain);
  if (!Number.isFinite(value)) {
    const said = { code: 'number-large', params: { text: shortened(text) } };
    throw new Refusal('malformed', `${quoted(text)} is too large for a number.`, { said });
  }
  if (plain.length <= numberCharsPlain && !/e/i.test(plain)) return value;
  return exactNumber(jsonNumberOf(plain));
}

/** A number without leading zeros and without a plus, and with a digit before its point, as JSON has it. */
function jsonNumberOf(plain: string): string {
  const sign = plain.startsWith('-') ? '-' : '';
  const unsigned = plain.replace(/^[+-]/, '').replace(/^0+/, '');
  return `${sign}${/^\d/.test(unsigned) ? '' : '0'}${unsigned}`.replace(/\.(?!\d)/, '');
}

/** A double carries a number of so few characters without an exponent. */
const numberCharsPlain = 15;

function cleanText(text: string): string {
  if (!isStorableText(text))
    throw new Refusal('malformed', `value ${textFault(text)}.`, { said: { code: 'value-text' } });
  return text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A text for an error message: shortened, without control characters. */
export function quoted(text: string): string {
  return `"${shortened(text)}"`;
}

export function shortened(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return short.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
}

/** What a client may say of a refusal in its own words; at least of which kind it is. */
export function saidOf({ said, code }: Refusal): Said {
  return said ?? { code };
}
