// The bounds of texts and JSON fields that callers send (contract 1). Schemas take their bounds from here, and so do
// single fields that arrive as bare text, which no schema validates. `assertBounded` checks the schemas of each route
// when it is registered, so that the server does not start with an unbounded input (I4).
import assert from 'node:assert/strict';
import { type TSchemaOptions, Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { hasBytesMax, hasCharsMax, mayHaveJsonBytes } from '../../base/text/text-length.ts';
import { limits } from '../../config/limits.ts';

/** The bound of a text: in characters (400 `malformed` beyond it), or in bytes (413 `too-large` beyond it). */
export type TextBound = { readonly charsMax: number } | { readonly bytesMax: number };

export const textBounds = {
  id: { charsMax: limits.idCharsMax },
  name: { charsMax: limits.nameCharsMax },
  description: { bytesMax: limits.descriptionBytesMax },
  /** An existing username: names from earlier versions may be longer than new ones. */
  username: { charsMax: limits.knownUsernameCharsMax },
  password: { charsMax: limits.knownPasswordCharsMax },
  profileEntry: { charsMax: limits.profileTextCharsMax },
  /** One word from a closed list. */
  word: { charsMax: limits.wordCharsMax },
} as const satisfies Readonly<Record<string, TextBound>>;

/** Schema keyword: the maximum bytes of a field, as UTF-8 for a text and as JSON for anything else. Beyond it: 413. */
export const bytesMaxKeyword = 'x-max-bytes';

/** Schema keyword: exceeding `maxLength` or `maxItems` answers 413 instead of 400. */
export const tooLargeKeyword = 'x-too-large';

/** Schema of a text with a maximum number of characters (400 beyond it). */
export const boundedText = (charsMax: number, options: TSchemaOptions = {}) =>
  Type.String({ maxLength: charsMax, ...options });

/** Schema of an optional name, at most `nameCharsMax` characters. */
export const nameText = (description: string, example: string) =>
  Type.Optional(boundedText(limits.nameCharsMax, { description, examples: [example] }));

/** Schema of an optional descriptive text, such as a unit, at most `descriptionBytesMax` bytes. */
export const descriptionText = (description: string, example: string) =>
  Type.Optional(
    Type.String({
      ...jsonBytes(limits.descriptionBytesMax),
      maxLength: limits.descriptionBytesMax,
      description,
      examples: [example],
    }),
  );

/** The same fields without bounds on texts, for answers: texts from earlier versions may be longer than new ones. */
export function asStored<Fields extends Readonly<Record<string, object>>>(fields: Fields): Fields {
  const stored = Object.entries(fields).map(([name, field]) => {
    const { type, description, examples } = field as Schema;
    const isText = type === 'string' && 'maxLength' in field && !('pattern' in field);
    return [name, isText ? Type.Optional(Type.String({ description, examples } as TSchemaOptions)) : field];
  });
  return Object.fromEntries(stored) as Fields;
}

/** Keywords that bound a field in bytes. */
export const jsonBytes = (bytesMax: number) => ({ [bytesMaxKeyword]: bytesMax });

/** Validates `bytesMaxKeyword` for Ajv: true where the value has at most that many bytes. */
export function keepsBytesMax(bytesMax: number, value: unknown): boolean {
  if (typeof value === 'string') return hasBytesMax(value, bytesMax);
  if (value === undefined) return true;
  return mayHaveJsonBytes(value as Json, bytesMax) && hasBytesMax(JSON.stringify(value), bytesMax);
}

/** Checks a text against its bound. @throws Refusal `malformed` beyond characters, `too-large` beyond bytes. */
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

/** Asserts that every text, array and free object that the schema accepts has a bound. `place` names it in the error. */
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

/** Handlers read only named fields of an object; one without named fields is stored as it comes and needs a bound. */
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

/** @throws Refusal `too-large` */
export function assertJsonLength(json: Json, pointer: string, bytesMax: number): void {
  const mayFit = mayHaveJsonBytes(json, bytesMax);
  const bytes = mayFit ? Buffer.byteLength(JSON.stringify(json)) : bytesMax + 1;
  if (bytes <= bytesMax) return;
  const count = mayFit ? String(bytes) : `more than ${bytesMax}`;
  throw new Refusal('too-large', `${pointer} has ${count} bytes as JSON; this field takes ${bytesMax}.`, {
    faults: [{ pointer, detail: `must have at most ${bytesMax} bytes as JSON` }],
  });
}
