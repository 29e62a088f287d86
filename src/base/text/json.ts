// The type Json, and the rules for parsed JSON that can be stored.
import { Refusal } from '../refusal.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const { isRawJSON } = JSON as unknown as { isRawJSON(value: unknown): boolean };

/** The literal of a number that keeps its digits (exact-number.ts); undefined for any other value. */
export function rawNumberOf(value: unknown): string | undefined {
  return typeof value === 'object' && isRawJSON(value) ? (value as { readonly rawJSON: string }).rawJSON : undefined;
}

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** True when the text has no lone surrogate and no NUL, so that UTF-8 stores it without loss. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** Why a text cannot be stored, for a message. */
export function textFault(text: string): string {
  return LONE_SURROGATE.test(text)
    ? 'holds half of a surrogate pair, which is no character'
    : 'holds a NUL character (U+0000), which cannot be kept';
}

/**
 * Checks that a parsed value can be stored: finite numbers, storable texts, no key that names a prototype, at most
 * `depthMax` levels. Linear in the size of the value; the pointer is computed only for a fault.
 * @throws Refusal `malformed` with a JSON pointer.
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
  /** Keys, the innermost first. */
  readonly path: string[];
}

function faultIn(value: unknown, depthMax: number): JsonFault | undefined {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : faultOf('is a number too large to be kept (beyond ±1.8e308)');
  }
  if (typeof value === 'string') return isStorableText(value) ? undefined : faultOf(textFault(value));
  if (typeof value !== 'object' || value === null || isRawJSON(value)) return undefined;
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

/** Escapes a key for a JSON pointer (RFC 6901). */
export function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
