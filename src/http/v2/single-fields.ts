// Routes that change one field of a record: `PUT <record>/<field>` with the new value as text or as JSON (spec 4.1,
// contract 1). Every kind of record registers its fields here.
import type { FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { boundedText, jsonBytes, type TextBound } from '../schemas/text-bounds.ts';
import { answerDone } from '../server/preference.ts';
import { type TypedApp, writes } from '../server/routes.ts';

/** Schema of the body for a text field: the bare text (`text/plain`), or a JSON string. */
export const textField = (description: string, example: string, bound: TextBound) => {
  const keywords =
    'charsMax' in bound ? { maxLength: bound.charsMax } : { maxLength: bound.bytesMax, ...jsonBytes(bound.bytesMax) };
  const form = (words: string) =>
    Type.String({ ...keywords, description: `${description} ${words}`, examples: [example] });
  return Type.Unsafe<unknown>({
    ...{ type: 'string', ...keywords },
    'x-content': {
      'text/plain': { schema: form('The bare text.') },
      'application/json': { schema: form('A JSON string.') },
    },
  });
};

/**
 * Schema of the body for a field that holds JSON: as JSON, or as text with the same JSON. `shape` only describes it;
 * `change` of the field validates.
 */
export const jsonField = (shape: object, example: unknown, bytesMax: number = limits.descriptionBytesMax) =>
  Type.Unsafe<unknown>({
    'x-content': {
      'application/json': { schema: { ...jsonBytes(bytesMax), ...shape, examples: [example] } },
      'text/plain': {
        schema: boundedText(limits.bodyBytesMax, {
          description: 'The same JSON, sent as text.',
          examples: [JSON.stringify(example)],
        }),
      },
    },
  });

/** Schema of the body for a field that is a list of texts: the list as JSON, or one entry as bare text. */
export const listField = (shape: object, entry: string) =>
  Type.Unsafe<unknown>({
    'x-content': {
      'application/json': { schema: { ...jsonBytes(limits.profileListBytesMax), ...shape, examples: [[entry]] } },
      'text/plain': {
        schema: boundedText(limits.profileTextCharsMax, {
          description: 'A single entry as bare text.',
          examples: [entry],
        }),
      },
    },
  });

/** A field of a record that can be changed alone, and how its new value becomes a change of the record. */
export interface SingleField<Change> {
  readonly name: string;
  readonly operationId: string;
  /** The field's name in a sentence; by default `name`. */
  readonly words?: string;
  readonly note?: string;
  readonly body: ReturnType<typeof textField>;
  /** Responses of this field in addition to those of every write. */
  readonly refusals?: object;
  /** Maximum bytes of the body; by default that of all routes. */
  readonly bodyBytesMax?: number;
  /** Parses the new value. @throws Refusal `malformed` */
  readonly change: (body: unknown) => Change;
}

/** Registers one route for each field of a kind of record. */
export function registerFields<Change, Params extends TSchema>(
  app: TypedApp,
  record: {
    readonly tags: readonly string[];
    /** The path of the record. */
    readonly path: string;
    /** The record in a sentence, such as "a device". */
    readonly words: string;
    readonly params: Params;
    readonly fields: readonly SingleField<Change>[];
    readonly update: (request: FastifyRequest, params: Static<Params>, change: Change) => Promise<unknown>;
  },
): void {
  for (const { name, operationId, words = name, note, body, bodyBytesMax, refusals, change } of record.fields) {
    app.put(
      `${record.path}/${name}`,
      {
        ...(bodyBytesMax === undefined ? {} : { bodyLimit: bodyBytesMax }),
        schema: {
          tags: record.tags,
          operationId,
          summary: `Change the ${words} of ${record.words}`,
          ...(note === undefined ? {} : { description: note }),
          params: record.params,
          body,
          response: { ...writes, ...refusals },
        },
      },
      async (request, reply) => {
        await record.update(request as never, request.params as Static<Params>, change(request.body));
        return answerDone(reply as never) as never;
      },
    );
  }
}
