// How long each text and each JSON field may be that a caller sends (contract 1). Schemas take their bounds from here,
// and so do single fields, which arrive as bare text that no schema sees. `assertBounded` runs on every schema of a
// request when its route is added: an input without a bound does not start.
import assert from 'node:assert/strict';
import { type TSchemaOptions, Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { hasBytesMax, hasCharsMax } from '../../base/text/text-length.ts';
import { limits } from '../../config/limits.ts';

/** A bound of a text: in characters, beyond which the text is malformed, or in bytes, beyond which it is too large. */
export type TextBound = { readonly charsMax: number } | { readonly bytesMax: number };

export const textBounds = {
  id: { charsMax: limits.idCharsMax },
  name: { charsMax: limits.nameCharsMax },
  description: { bytesMax: limits.descriptionBytesMax },
  /** A name as somebody else's record or a login gives it: older names are longer than new ones may be. */
  username: { charsMax: limits.knownUsernameCharsMax },
  password: { charsMax: limits.knownPasswordCharsMax },
  profileEntry: { charsMax: limits.profileTextCharsMax },
  /** A word of a few that are known. */
  word: { charsMax: limits.wordCharsMax },
} as const satisfies Readonly<Record<string, TextBound>>;

/** The keyword of schemas that bounds a field in bytes: of a text in UTF-8, of anything else as JSON. Beyond: 413. */
export const bytesMaxKeyword = 'x-max-bytes';

/** The keyword of schemas beyond whose bounds the answer is 413; without it, beyond a bound in characters or items, 400. */
export const tooLargeKeyword = 'x-too-large';

/** A text with a bound in characters. */
export const boundedText = (charsMax: number, options: TSchemaOptions = {}) =>
  Type.String({ maxLength: charsMax, ...options });

/** The name of a thing. */
export const nameText = (description: string, example: string) =>
  Type.Optional(boundedText(limits.nameCharsMax, { description, examples: [example] }));

/** A description of a thing in words, such as its unit. */
export const descriptionText = (description: string, example: string) =>
  Type.Optional(
    Type.String({
      ...jsonBytes(limits.descriptionBytesMax),
      maxLength: limits.descriptionBytesMax,
      description,
      examples: [example],
    }),
  );

/** Fields as they are read back: of records that an earlier version took, texts may be longer than new ones. */
export function asStored<Fields extends Readonly<Record<string, object>>>(fields: Fields): Fields {
  const stored = Object.entries(fields).map(([name, field]) => {
    const { type, description, examples } = field as Schema;
    const isText = type === 'string' && 'maxLength' in field && !('pattern' in field);
    return [name, isText ? Type.Optional(Type.String({ description, examples } as TSchemaOptions)) : field];
  });
  return Object.fromEntries(stored) as Fields;
}

/** The bound of a field that holds any JSON. */
export const jsonBytes = (bytesMax: number) => ({ [bytesMaxKeyword]: bytesMax });

/** For Ajv: true where the value keeps its bound in bytes. */
export function keepsBytesMax(bytesMax: number, value: unknown): boolean {
  if (typeof value === 'string') return hasBytesMax(value, bytesMax);
  return value === undefined || Buffer.byteLength(JSON.stringify(value)) <= bytesMax;
}

/** @throws Refusal `malformed` beyond a bound in characters, `too-large` beyond one in bytes. */
export function assertTextBound(text: string, pointer: string, bound: TextBound): void {
  if ('charsMax' in bound) {
    if (hasCharsMax(text, bound.charsMax)) return;
    const detail = `must have at most ${bound.charsMax} characters`;
    throw new Refusal('malformed', `${pointer} ${detail}.`, { faults: [{ pointer, detail }] });
  }
  if (hasBytesMax(text, bound.bytesMax)) return;
  const detail = `must have at most ${bound.bytesMax} bytes`;
  throw new Refusal('too-large', `${pointer} ${detail}.`, { faults: [{ pointer, detail }] });
}

type Schema = { readonly [keyword: string]: unknown };

/** Asserts that all a caller can send by the schema has a bound: texts, arrays, and objects and values of any form. */
export function assertBounded(schema: unknown, place: string): void {
  const node = schema as Schema;
  if (isBounded(node)) return;
  if (node['x-content'] !== undefined) {
    for (const [type, { schema: content }] of Object.entries(node['x-content'] as { [type: string]: Schema })) {
      assertBounded(content, `${place} ${type}`);
    }
    return;
  }
  const branches = (node['anyOf'] ?? node['allOf'] ?? node['oneOf']) as readonly unknown[] | undefined;
  if (branches !== undefined) {
    for (const branch of branches) assertBounded(branch, place);
    return;
  }
  switch (node['type']) {
    case 'string':
      assert.equal(typeof node['maxLength'], 'number', `The text at ${place} has no maxLength.`);
      return;
    case 'array':
      assert.equal(typeof node['maxItems'], 'number', `The array at ${place} has no maxItems.`);
      assertBounded(node['items'] ?? {}, `${place}/*`);
      return;
    case 'object':
      assertBoundedFields(node, place);
      return;
    default:
      assert.fail(`Anything may come at ${place}: it needs ${bytesMaxKeyword}.`);
  }
}

/** Fields that are not named are not looked at, so that an object without any is one that is kept as it comes. */
function assertBoundedFields(node: Schema, place: string): void {
  const fields = Object.entries((node['properties'] ?? {}) as { [name: string]: unknown });
  const isFree =
    fields.length === 0 || (node['additionalProperties'] ?? false) !== false || 'patternProperties' in node;
  assert.ok(!isFree, `The object at ${place} takes any field: it needs ${bytesMaxKeyword}.`);
  for (const [name, field] of fields) assertBounded(field, `${place}/${name}`);
}

function isBounded(node: Schema): boolean {
  if (node[bytesMaxKeyword] !== undefined || node['enum'] !== undefined || node['const'] !== undefined) return true;
  return ['integer', 'number', 'boolean', 'null'].includes(String(node['type']));
}
