// The reference of version 1: descriptions of version 2 in older terms. Fields are renamed, prose is translated, every
// success is 200 and every error has the older form. A schema that the translation does not change keeps its title, so
// that both versions share a component; any other gets the prefix `V1`.
import type { FastifySchema } from 'fastify';
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { boundedText } from '../schemas/text-bounds.ts';
import { isOlderField, olderName, toOlderFields, toOlderProse } from './words.ts';

type Tree = { readonly [key: string]: unknown };

const ErrorSchema = Type.Object(
  {
    error: Type.String({ description: 'The kind of error in words.', examples: ['Not Found'] }),
    description: Type.String({
      description: 'What was wrong and what would be right.',
      examples: ['There is no sensor field-4.'],
    }),
  },
  { title: 'V1Error', description: 'What was wrong and what would be right.' },
);

/** Translates the description of an operation; `tag` is its group. */
export function describeInOlderWords(schema: FastifySchema): FastifySchema {
  const { tags, operationId, params, querystring, body, headers, response, ...others } = schema as Tree;
  const prose = translate(others, { isRenaming: false }) as { readonly description?: string };
  const note = notes[operationId as string];
  return {
    ...prose,
    ...(note === undefined ? {} : { description: `${prose.description ?? ''} ${note}`.trimStart() }),
    tags: (tags as string[]).map(olderTag),
    operationId: olderOperationId(operationId as string),
    ...(params === undefined ? {} : { params: olderParams(params as Tree) }),
    ...(querystring === undefined ? {} : { querystring: translate(querystring, { isRenaming: false }) }),
    ...(headers === undefined ? {} : { headers: translate(headers, { isRenaming: false }) }),
    ...(body === undefined ? {} : { body: translate(body, { isRenaming: true }) }),
    response: olderResponses(response as { readonly [status: string]: Tree }),
  } as FastifySchema;
}

/** The group of the operations under `/domains/{domain}` in the reference. */
export const domainTag = {
  name: 'v1.0 Paths with a domain',
  description:
    'The paths of version 1.0. They do what the same paths without `/domains/{domain}` do; the domain is ignored, and what is created has the domain `default`.',
};

/** The description of an operation under a path of version 1.0, made of that of the same operation without a domain. */
export function describeUnderDomain(schema: FastifySchema): FastifySchema {
  const { params, operationId } = schema as { readonly params?: Tree; readonly operationId?: string };
  return {
    ...schema,
    tags: [domainTag.name],
    operationId: `${operationId}UnderDomain`,
    deprecated: true,
    params: {
      type: 'object',
      properties: { domain: DomainSchema, ...(params?.['properties'] as Tree | undefined) },
      required: ['domain', ...((params?.['required'] as readonly string[] | undefined) ?? [])],
    },
  } as FastifySchema;
}

/** As long as the router takes a part of a path. */
const DomainSchema = boundedText(limits.idCharsMax * 3, {
  description: 'Any text; it is ignored.',
  examples: ['irrigation'],
});

/** Notes for version 1 only, by operation of version 2. */
const notes: { readonly [operationId: string]: string } = {
  createDevice: 'Without a `domain` it has the domain `default`.',
};

/** `:device` and `:sensor` of a path as version 1 calls them. */
export function describePath(url: string): string {
  return url.replaceAll(/(?<=:)(device|sensor)\b/g, (name) => olderParam(name));
}

const olderParam = (name: string) => ({ device: 'sensor', sensor: 'measurement' })[name] ?? name;

function olderParams(params: Tree): Tree {
  const translated = translate(params, { isRenaming: false }) as Tree;
  const entries = Object.entries(translated['properties'] as Tree);
  const properties = Object.fromEntries(entries.map(([name, schema]) => [olderParam(name), schema]));
  return { ...translated, properties, required: Object.keys(properties) };
}

function olderTag(tag: string): string {
  return `v1 ${toOlderProse(tag)}`;
}

/** `setSensorSensingDevice` to `v1SetMeasurementSensingDevice`. */
function olderOperationId(id: string): string {
  const older = id.replaceAll(/(?<!Sensing)(Device|Sensor)/g, (word) => toOlderProse(word));
  return `v1${older.charAt(0).toUpperCase()}${older.slice(1)}`;
}

/** Keywords whose content is data with fields of records. */
const dataKeywords = new Set(['example', 'examples', 'value']);
/** The record that version 1 answers as it is: its `notification` is the id of a rule, not what version 2 calls `action`. */
const sameInBoth = 'SocialMessage';
const untouched = new Set(['default', 'enum', 'const', 'required']);

interface Options {
  /** False where names are not fields of a record: parameters and headers. */
  readonly isRenaming: boolean;
}

function translate(node: unknown, options: Options, isNames = false): unknown {
  if (Array.isArray(node)) return node.map((inner) => translate(inner, options));
  if (typeof node !== 'object' || node === null) return node;
  if (isNames) return translateNamed(node as Tree, options);
  const { title, ...shape } = node as Tree;
  if (title === sameInBoth) return node;
  const copy: { [key: string]: unknown } = {};
  for (const [key, inner] of Object.entries(shape)) copy[key] = translateKeyword(key, inner, options);
  if (options.isRenaming && Array.isArray(copy['required'])) {
    copy['required'] = copy['required'].filter(isOlderField).map(olderName);
  }
  if (typeof title !== 'string') return copy;
  return { ...copy, title: JSON.stringify(copy) === JSON.stringify(shape) ? title : `V1${olderTitle(title)}` };
}

function translateKeyword(key: string, inner: unknown, options: Options): unknown {
  if (typeof inner === 'string' && /^(description|summary|x-role)$/.test(key)) return olderText(inner);
  if (untouched.has(key)) return inner;
  if (dataKeywords.has(key)) return options.isRenaming ? translateData(inner) : inner;
  return translate(inner, options, key === 'properties');
}

/** The fields of a record, renamed, without those new in version 2. */
function translateNamed(fields: Tree, options: Options): Tree {
  const translated = Object.entries(fields).map(([name, field]) => [name, translate(field, options)] as const);
  if (!options.isRenaming) return Object.fromEntries(translated);
  return Object.fromEntries(
    translated.filter(([name]) => isOlderField(name)).map(([name, field]) => [olderName(name), field]),
  );
}

function translateData(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(translateData);
  if (typeof data !== 'object' || data === null) return data;
  const fields = Object.entries(toOlderFields(data as Tree));
  return Object.fromEntries(fields.map(([name, value]) => [name, translateData(value)]));
}

function olderTitle(title: string): string {
  return title.replaceAll(/Device|Sensor/g, (word) => toOlderProse(word));
}

/** Translates prose; success statuses other than 200 become 200. */
function olderText(text: string): string {
  return toOlderProse(text).replaceAll(/\b20[14]\b/g, '200');
}

function olderResponses(response: { readonly [status: string]: Tree }): Tree {
  const translated = Object.entries(response).map(
    ([status, answer]) => [status, translate(answer, { isRenaming: true }) as Tree] as const,
  );
  const successes = translated.filter(([status]) => status < '400').map(([, answer]) => answer);
  return {
    200: successes.length > 1 ? oneAnswer(successes) : successes[0],
    ...olderErrors(Object.fromEntries(translated.filter(([status]) => status >= '400'))),
  };
}

/** The refusals of version 2 in the shape of version 1. */
export function olderErrors(refusals: { readonly [status: string]: object }): { readonly [status: string]: object } {
  const content = { 'application/json': { schema: ErrorSchema } };
  return Object.fromEntries(
    Object.entries(refusals).map(([status, answer]) => {
      const description = withoutFields(String((answer as Tree)['description']));
      return [status, { ...answer, description, content }];
    }),
  );
}

/** Errors of version 1 do not name fields. */
function withoutFields(description: string): string {
  const at = description.indexOf(': `errors` names');
  return at < 0 ? description : `${description.slice(0, at)}.`;
}

/** Merges the answers to a create, with and without its record. */
function oneAnswer(answers: readonly Tree[]): Tree {
  const schemas = new Map<string, unknown[]>();
  for (const { content } of answers) {
    for (const [type, media] of Object.entries((content ?? {}) as { readonly [type: string]: Tree })) {
      schemas.set(type, [...(schemas.get(type) ?? []), media['schema']]);
    }
  }
  const content = [...schemas].map(([type, all]) => [type, { schema: all.length > 1 ? { anyOf: all } : all[0] }]);
  const isEmpty = answers.some((answer) => answer['type'] === 'null');
  return {
    description: `Created, and committed to disk.${isEmpty ? ' Without a body,' : ' The id,'} or with \`Prefer: return=representation\` the record.`,
    headers: Object.assign({}, ...answers.map(({ headers }) => headers)),
    content: Object.fromEntries(content),
  };
}
