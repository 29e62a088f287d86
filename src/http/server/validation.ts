// Validates requests against their schemas: bodies exactly as they are; query strings and headers, which are text,
// converted to their schema's types (contract 1). A schema with an unbounded input fails at start. Each schema is compiled
// when its first request comes: of the hundred routes most servers use a few, and the start does not wait for the others.
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifySchemaCompiler } from 'fastify';
import { Refusal } from '../../base/refusal.ts';
import { assertBounded, bytesMaxKeyword, keepsBytesMax } from '../schemas/text-bounds.ts';
import { TextBody } from './bodies.ts';

type ValidationResult = boolean | { readonly error: Error };

/** For Fastify: makes the validator of each schema. @throws AssertionError for a schema with an unbounded input. */
export function makeValidatorCompiler(): FastifySchemaCompiler<object> {
  const options = {
    allErrors: false,
    strict: false,
    removeAdditional: false,
    useDefaults: true,
    // Adds the violated schema to faults: it shows whether a bound is in bytes.
    verbose: true,
    // The schemas are the program's own: TypeScript and the tests of the reference hold them against JSON Schema. Ajv would
    // compile the schema of schemas for it when the first request comes, tens of milliseconds on a small machine.
    meta: false,
    validateSchema: false,
  } as const;
  const exact = new Ajv({ ...options, coerceTypes: false });
  const coercing = new Ajv({ ...options, coerceTypes: true });
  for (const ajv of [exact, coercing]) {
    (addFormats as unknown as (target: Ajv) => void)(ajv);
    ajv.addKeyword({ keyword: bytesMaxKeyword, schemaType: 'number', validate: keepsBytesMax, errors: false });
  }
  return ({ schema, method, url, httpPart }) => {
    assertBounded(schema, `${method} ${url} ${httpPart}`);
    return httpPart === 'body'
      ? bodyValidator(schema, compiledWhenAsked(exact, schema))
      : compiledWhenAsked(coercing, schema);
  };
}

/** The validator of the schema, which Ajv makes at the first call. */
function compiledWhenAsked(ajv: Ajv, schema: object): ValidateFunction {
  let compiled: ValidateFunction | undefined;
  const check = (input: unknown): boolean => {
    compiled ??= ajv.compile(schema);
    const valid = compiled(input) as boolean;
    judge.errors = compiled.errors ?? null;
    return valid;
  };
  const judge = check as unknown as ValidateFunction;
  return judge;
}

/** A record must be JSON. Text, or no body (null here), is left to routes of single fields. */
function bodyValidator(schema: object, validate: ValidateFunction): ValidateFunction {
  const isRecord = (schema as { readonly type?: unknown }).type === 'object';
  const check = (body: unknown): ValidationResult => {
    if (body instanceof TextBody) return isRecord ? { error: notJson } : true;
    if (body === null && !isRecord) return true;
    const valid = validate(body) as boolean;
    judge.errors = validate.errors ?? null;
    return valid;
  };
  const judge = check as unknown as ValidateFunction;
  return judge;
}

const notJson = new Refusal('unsupported', 'The body must be JSON. Send it with Content-Type: application/json.');
