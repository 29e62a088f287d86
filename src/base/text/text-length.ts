// Lengths of texts, checked before anything else is done with them. Characters are Unicode code points, as in JSON
// Schema, so that bounds of schemas and of the domain agree.
import { type Json, rawNumberOf } from './json.ts';

/** Whether the text has at most so many characters; constant time for a text that is far longer. */
export function hasCharsMax(text: string, charsMax: number): boolean {
  if (text.length <= charsMax) return true;
  // A character has one or two UTF-16 code units.
  if (text.length > 2 * charsMax) return false;
  let chars = 0;
  for (const _ of text) chars += 1;
  return chars <= charsMax;
}

/** Whether the text has at most so many bytes in UTF-8. */
export function hasBytesMax(text: string, bytesMax: number): boolean {
  return text.length <= bytesMax && (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax);
}

/**
 * Whether the value may fit into so many bytes as JSON in UTF-8. Quick: it counts a lower bound, and stops once that
 * is exceeded.
 */
export function mayHaveJsonBytes(value: Json, bytesMax: number): boolean {
  return bytesLeft(value, bytesMax) >= 0;
}

/**
 * Subtracts from `bytes` the least that the value can take: quotes, brackets, commas, colons, and one byte for each
 * character or other value. Below 0: the value does not fit.
 */
function bytesLeft(value: Json, bytes: number): number {
  if (typeof value === 'string') return bytes - value.length - 2;
  if (typeof value !== 'object' || value === null) return bytes - 1;
  if (Array.isArray(value)) {
    let left = bytes - 1 - Math.max(1, value.length);
    for (let index = 0; index < value.length && left >= 0; index++) left = bytesLeft(value[index] as Json, left);
    return left;
  }
  const raw = rawNumberOf(value);
  if (raw !== undefined) return bytes - raw.length;
  const keys = Object.keys(value);
  let left = bytes - 1 - 4 * keys.length;
  for (let index = 0; index < keys.length && left >= 0; index++) {
    const key = keys[index] as string;
    left = bytesLeft((value as { readonly [key: string]: Json })[key] as Json, left - key.length);
  }
  return left;
}
