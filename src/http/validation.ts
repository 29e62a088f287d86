// Checks requests against their schemas: bodies exactly as they are, query strings and headers (which are all text)
// turned into the types their schema names (contract 1).
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifySchemaCompiler } from 'fastify';

export function makeValidatorCompiler(): FastifySchemaCompiler<object> {
  const options = { allErrors: false, strict: false, removeAdditional: false, useDefaults: true } as const;
  const exact = new Ajv({ ...options, coerceTypes: false });
  const coercing = new Ajv({ ...options, coerceTypes: true });
  for (const ajv of [exact, coercing]) (addFormats as unknown as (target: Ajv) => void)(ajv);
  return ({ schema, httpPart }) => (httpPart === 'body' ? exact : coercing).compile(schema);
}
