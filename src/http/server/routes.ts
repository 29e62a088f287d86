// What routes of all versions share: common parts of their schemas.

import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { ProblemSchema } from '../schemas/problem-schemas.ts';
import { boundedText } from '../schemas/text-bounds.ts';

/** A Fastify instance typed by TypeBox schemas. */
export type TypedApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

const problem = (description: string, headers: Readonly<Record<string, object>> = {}) => ({
  description,
  ...(Object.keys(headers).length === 0 ? {} : { headers }),
  content: { 'application/problem+json': { schema: ProblemSchema } },
});

const retryAfter = {
  'Retry-After': { type: 'string', description: 'Seconds to wait before trying again.', examples: ['1'] },
};

/** The refusals of any route. */
export const refusals = {
  400: problem('Malformed: `errors` names the fields.'),
  401: problem('The token is not valid.', {
    'WWW-Authenticate': {
      type: 'string',
      description: '`Bearer`: get a new token. Paths that take HTTP Basic name `Basic` besides.',
    },
  }),
  403: problem('You lack a right; or, where `type` is `urn:dundun:problem:quota`, a quota does not allow it.'),
  404: problem('There is no such record.'),
  429: problem('Your last calls were all refused (403), and this one would be, too: wait.', retryAfter),
};

/** Further answers of routes that store something. */
export const overload = {
  413: problem('Larger than a bound.'),
  415: problem('The body is neither `application/json` nor, where it is taken, `text/plain`; or it is not UTF-8.'),
  503: problem(
    'The queue is full or the disk refused; nothing was stored. `Retry-After` says when to try again.',
    retryAfter,
  ),
  507: problem('There is no room for more; nothing was stored. Remove what is not needed.', retryAfter),
};

/** Further answers of a route that asks other servers. */
export const unanswered = {
  503: problem(
    'Several servers share the data, and one does not answer: the detail names it. `Retry-After` says when to try again.',
    retryAfter,
  ),
};

/** Further answers of a route that reads datapoints. */
export const damaged = {
  500: problem('Datapoints of the span are damaged on disk: the detail says of which sensor, from when to when.'),
};

/** Further answers of a route that accepts datapoints. */
export const dailyBound = {
  429: problem('As many datapoints were pushed today as an operator allows.', retryAfter),
};

/** Too many failed logins. */
export const tooMany = {
  429: problem(
    'Too many wrong logins for this user or from this address; or the last calls of this user from here were all refused (403).',
    retryAfter,
  ),
};

/** More messages than allowed in a minute. */
export const tooFast = { 429: problem('You send more than one may in a minute.', retryAfter) };

/** More streams than allowed for an address. */
export const tooManyStreams = {
  429: problem('Live streams are scarce, and the caller has its share of them.', retryAfter),
};

/** The answer 422 of a route. */
export const conflict = (description: string) => ({ 422: problem(description) });

const location = { Location: { type: 'string', description: 'Path of the record.' } };
const noContent = Type.Null({ description: 'Done, and committed to disk.' });

/** The answers of a route that changes or removes a record. */
export const writes = { 204: noContent, ...refusals, ...overload };

/** The answers of a route that adds a record: 201 with it where `Prefer` asks for that, otherwise 204. */
export const creates = (record: object) => {
  const headers = location;
  return {
    204: { type: 'null', description: 'Created, and committed to disk.', headers },
    201: {
      description: 'Created; the answer to `Prefer: return=representation`.',
      headers: { ...headers, 'Preference-Applied': { type: 'string', description: '`return=representation`.' } },
      content: { 'application/json': { schema: record } },
    },
    ...refusals,
    ...overload,
  };
};

/** The answers of a route that adds a record and answers 200, without a body or with the id. */
export const declares = (record: object, options: { readonly withId: boolean }) => {
  const { 204: _, ...others } = creates(record);
  const words = 'Created, and committed to disk.';
  if (!options.withId) return { ...others, 200: { type: 'null', description: words, headers: location } };
  const content = {
    'text/plain': { schema: Type.String({ description: 'The id.' }) },
    'application/json': { schema: Type.String({ description: 'The id as a JSON string.' }) },
  };
  return { ...others, 200: { description: words, headers: location, content } };
};

/** A page of a list, with its paging headers. */
export const pageOf = (entry: object, options: { readonly description: string; readonly counted: boolean }) => ({
  description: options.description,
  headers: {
    ...(options.counted
      ? { 'X-Total-Count': { type: 'integer', description: 'Number of entries of all pages together.' } }
      : {}),
    Link: {
      type: 'string',
      description: 'Links to the next and the previous page (RFC 8288): `rel="next"` and `rel="prev"`.',
    },
  },
  content: { 'application/json': { schema: { type: 'array', items: entry } } },
});

export const PreferHeaders = Type.Object({
  prefer: Type.Optional(
    boundedText(limits.headerTextCharsMax, {
      description: '`return=representation` makes a create answer 201 with the record.',
    }),
  ),
});

/** The start of a page. */
export const offsetParameter = (words: string) =>
  Type.Integer({
    minimum: 0,
    maximum: limits.listEntriesMax,
    default: 0,
    description: `Number of ${words.toLowerCase()} to skip.`,
  });

/** The page of a list of records other than devices (contract 1). */
export const recordPage = (words: string) => ({
  limit: Type.Integer({
    minimum: 1,
    maximum: limits.recordListMax,
    default: limits.recordListMax,
    description: `Maximum number of ${words.toLowerCase()} on a page.`,
  }),
  offset: offsetParameter(words),
});

/** The query of a list that is complete unless a limit is given. */
export const AllOrPage = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.listEntriesMax,
      description: 'Maximum number of entries; left out: all.',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({ minimum: 0, maximum: limits.listEntriesMax, description: 'Number of entries to skip.' }),
  ),
});
