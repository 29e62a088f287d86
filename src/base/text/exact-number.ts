// Numbers of JSON that a double cannot carry, such as an integer of twenty digits: in a parsed value each is what
// `JSON.rawJSON` makes, which `JSON.stringify` writes digit for digit; in a stored value it is its JSON text. Computations
// use the nearest double. Used for values of datapoints alone: elsewhere such a number becomes its nearest double.
import { type Json, rawNumberOf } from './json.ts';

const { rawJSON } = JSON as unknown as { rawJSON(text: string): Json };
const parseWithSource = JSON.parse as (
  text: string,
  revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => Json;

/** A double carries every decimal number of so many digits. */
const digitsCarried = 15;
/** Digits that distinguish all doubles; what prints doubles without searching the shortest form writes so many. */
const digitsOfDoubles = 17;
/** With fewer digits in its exponent, a number of `digitsCarried` digits is in the range of doubles. */
const exponentDigitsUnsure = 3;

const number = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const mayBeLong = /\d[\d.]{15}|[eE][+-]?\d{3}/;

/** Whether a number with so many digits, and so many in its exponent, may be more than a double carries. */
export function mayExceedDouble(digits: number, exponentDigits: number): boolean {
  return digits > digitsCarried || exponentDigits >= exponentDigitsUnsure;
}

/**
 * Whether nothing of the number is lost in a double: the double's shortest text means the same number, or the literal is
 * the double written with 16 or 17 digits, as C's `%.17g` does. True for what is beyond the range of doubles, which is
 * refused elsewhere.
 * @param literal a number as JSON writes it.
 */
export function isCarriedByDouble(literal: string): boolean {
  const double = Number(literal);
  const shortest = String(double);
  if (shortest === literal || !Number.isFinite(double)) return true;
  const { digits, exponent } = significant(literal);
  const isSame = (text: string) => {
    const other = significant(text);
    return other.digits === digits && other.exponent === exponent;
  };
  if (isSame(shortest)) return true;
  return digits.length <= digitsOfDoubles && digits !== '' && isSame(double.toPrecision(Math.max(digits.length, 16)));
}

/** The number of a JSON literal as a value that keeps its digits. */
export function exactNumber(literal: string): Json {
  return isCarriedByDouble(literal) ? Number(literal) : rawJSON(literal);
}

/** Parses JSON; numbers that a double cannot carry keep their digits. @throws SyntaxError */
export function parseExactly(text: string): Json {
  if (!mayBeLong.test(text)) return JSON.parse(text) as Json;
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? exactNumber(source) : value,
  );
}

/** The double nearest to a number in a parsed value; undefined for anything else. */
export function doubleOf(value: Json): number | undefined {
  if (typeof value === 'number') return value;
  const raw = rawNumberOf(value);
  return raw === undefined ? undefined : Number(raw);
}

/** The double nearest to a number that is stored as its JSON text; NaN for any other JSON text, and for none. */
export function doubleOfText(json: string | undefined): number {
  const first = json?.charCodeAt(0) ?? 0;
  const isNumber = first === 0x2d || (first >= 0x30 && first <= 0x39);
  return isNumber ? Number(json) : Number.NaN;
}

/** The digits without zeros at either end, and the power of ten of the last of them; -0 is 0. */
function significant(literal: string): { readonly digits: string; readonly exponent: number } {
  const [, whole = '', fraction = '', exponent = '0'] = number.exec(literal) ?? [];
  const all = `${whole}${fraction}`;
  let from = 0;
  let to = all.length;
  while (from < to && all.charCodeAt(from) === 0x30) from += 1;
  while (to > from && all.charCodeAt(to - 1) === 0x30) to -= 1;
  if (from === to) return { digits: '', exponent: 0 };
  return { digits: all.slice(from, to), exponent: Number(exponent) - fraction.length + all.length - to };
}
