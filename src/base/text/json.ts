// JSON as a type, and the one place that says which parsed JSON the service is willing to keep.
import { Refusal } from '../refusal.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** True when the text can be stored and sent as UTF-8 without loss and holds no NUL. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Says why a text is not clean, for a message. */
export function textFault(text: string): string {
  return LONE_SURROGATE.test(text)
    ? 'holds half of a surrogate pair, which is no character'
    : 'holds a NUL character (U+0000), which cannot be kept';
}

/**
 * Checks that a parsed value can be kept: finite numbers, clean texts, no key that names a prototype, at most `depthMax`
 * levels of nesting. Its time grows with the size of the value alone: the place of a fault is made when there is one.
 * @throws Refusal `malformed` naming the place as a JSON pointer.
 */
export function assertStorable(value: unknown, options: { readonly pointer: string; readonly depthMax: number }): void {
  const found = faultIn(value, options.depthMax);
  if (found === undefined) return;
  const pointer = options.pointer + found.path.reverse().map((key) => `/${escapePointer(key)}`).join(''); // biome-ignore format: one line
  throw new Refusal('malformed', `${pointer || 'The body'} ${found.detail}.`, {
    faults: [{ pointer, detail: found.detail }],
  });
}

interface JsonFault {
  readonly detail: string;
  /** Keys from the innermost outwards. */
  readonly path: string[];
}

function faultIn(value: unknown, depthMax: number): JsonFault | undefined {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : faultOf('is a number too large to be kept (beyond ±1.8e308)');
  }
  if (typeof value === 'string') return isStorableText(value) ? undefined : faultOf(textFault(value));
  if (typeof value !== 'object' || value === null) return undefined;
  if (depthMax <= 0) return faultOf('is nested too deeply');
  return Array.isArray(value) ? faultInItems(value, depthMax - 1) : faultInMembers(value, depthMax - 1);
}

function faultInItems(items: readonly unknown[], depthMax: number): JsonFault | undefined {
  for (let index = 0; index < items.length; index++) {
    const found = faultIn(items[index], depthMax);
    if (found !== undefined) return within(found, String(index));
  }
  return undefined;
}

function faultInMembers(value: object, depthMax: number): JsonFault | undefined {
  for (const key of Object.keys(value)) {
    if (!isStorableText(key)) return faultOf(`has a key that ${textFault(key)}`);
    const inner: unknown = value[key as keyof typeof value];
    if (key === '__proto__' || (key === 'constructor' && namesPrototype(inner))) {
      return faultOf('has a key that is not taken: the names __proto__ and constructor.prototype are refused');
    }
    const found = faultIn(inner, depthMax);
    if (found !== undefined) return within(found, key);
  }
  return undefined;
}

function namesPrototype(inner: unknown): boolean {
  return typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype');
}

function faultOf(detail: string): JsonFault {
  return { detail, path: [] };
}

function within(fault: JsonFault, key: string): JsonFault {
  fault.path.push(key);
  return fault;
}

/** Writes a key as one step of a JSON pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
