// JSON as a type, and the one place that says which parsed JSON the service is willing to keep.
import { Refusal } from './refusal.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** True when the text can be stored and sent as UTF-8 without loss and holds no NUL. */
export function isCleanText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Says why a text is not clean, for a message. */
export function textFault(text: string): string {
  return LONE_SURROGATE.test(text)
    ? 'holds half of a surrogate pair, which is no character'
    : 'holds a NUL character (U+0000), which cannot be kept';
}

/**
 * Checks that a parsed value can be kept: finite numbers, clean texts, at most `depthMax` levels of nesting.
 * @throws Refusal `malformed` naming the place as a JSON pointer.
 */
export function assertKeepable(value: unknown, options: { readonly pointer: string; readonly depthMax: number }): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) fault(options.pointer, 'is a number too large to be kept (beyond ±1.8e308)');
    return;
  }
  if (typeof value === 'string') {
    if (!isCleanText(value)) fault(options.pointer, textFault(value));
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (options.depthMax <= 0) fault(options.pointer, 'is nested too deeply');
  for (const [key, inner] of Object.entries(value)) {
    if (!isCleanText(key)) fault(options.pointer, `has a key that ${textFault(key)}`);
    assertKeepable(inner, { pointer: `${options.pointer}/${escapePointer(key)}`, depthMax: options.depthMax - 1 });
  }
}

/** Writes a key as one step of a JSON pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function fault(pointer: string, detail: string): never {
  throw new Refusal('malformed', `${pointer || 'The body'} ${detail}.`, { faults: [{ pointer, detail }] });
}
