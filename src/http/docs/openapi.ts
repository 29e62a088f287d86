// Generates the OpenAPI document at /openapi.json from the schemas of the routes, so that it agrees with validation.
// Called by http-server before any route is added. Generated once, soon after the start or when first requested.
import assert from 'node:assert/strict';
import { isDeepStrictEqual, promisify } from 'node:util';
import { brotliCompress, gzip, constants as zlib } from 'node:zlib';
import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import packageJson from '../../../package.json' with { type: 'json' };
import { encodingOf } from '../server/accepted-encoding.ts';
import { addressUnknown, introduction, tags } from './introduction.ts';

type Tree = { [key: string]: unknown };

declare module 'fastify' {
  interface FastifyInstance {
    /** The OpenAPI document as JSON. The first call takes some hundred milliseconds on the main thread; once all routes are there. */
    openApiDocument(): Buffer;
  }
}

const bearer = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'A token of `POST /api/v2/auth/token`, good for 10 minutes. Without one you are `guest`.',
} as const;

export async function registerOpenApi(app: FastifyInstance, options: { readonly baseUrl: string }): Promise<void> {
  const olderTags = () => app.olderVersions.flatMap((version) => version.tags);
  const securitySchemes: { [name: string]: object } = { bearer };
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Dundun',
        version: packageJson.version,
        summary: packageJson.description,
        description: introduction(options.baseUrl || addressUnknown),
        license: { name: 'Apache License 2.0', identifier: packageJson.license } as never,
      },
      servers: [
        options.baseUrl === ''
          ? { url: '/', description: 'The service that this document comes from.' }
          : { url: options.baseUrl, description: 'The service.' },
      ],
      tags: [...tags],
      // A token is optional everywhere: without one the caller is guest.
      security: [{ bearer: [] }, {}],
      components: { securitySchemes: securitySchemes as never },
    },
    transform: ({ schema, url }) => ({ schema: describeBody(schema), url }),
    transformObject: (document) => {
      const { openapiObject } = document as { openapiObject: Tree };
      return gatherComponents({ ...openapiObject, tags: [...tags, ...olderTags()] }) as never;
    },
  });
  // A buffer shared by all answers; a string would be encoded for each.
  let document: Buffer | undefined;
  const compressed: { br?: Promise<Buffer>; gzip?: Promise<Buffer> } = {};
  app.decorate('openApiDocument', () => {
    if (document === undefined) {
      Object.assign(securitySchemes, ...app.olderVersions.map((version) => version.securitySchemes));
      document = Buffer.from(JSON.stringify(app.swagger()));
    }
    return document;
  });
  // Deployed clients know it under the second name.
  for (const path of ['/openapi.json', '/swagger.json']) {
    app.get(
      path,
      { schema: { hide: true } as never, config: { isReference: true, takesBasic: true } },
      async (request, reply) => {
        const plain = app.openApiDocument();
        reply.type('application/json; charset=utf-8').headers({ 'cache-control': 'no-cache', vary: 'Accept-Encoding' });
        const encoding = encodingOf(request.headers['accept-encoding'], ['br', 'gzip']);
        if (encoding === 'identity') return reply.send(plain);
        // Compressed once: for each request it would be work that nothing bounds.
        compressed[encoding] ??=
          encoding === 'br' ? promisify(brotliCompress)(plain, brotliOptions) : promisify(gzip)(plain);
        return reply.header('content-encoding', encoding).send(await compressed[encoding]);
      },
    );
  }
}

/** Quality 9 of 11: as small as the last two at a tenth of the time. */
const brotliOptions = { params: { [zlib.BROTLI_PARAM_QUALITY]: 9 } };

/** A body with several content types lists them in `x-content`; the rest of its schema only validates. */
export function describeBody(schema: FastifySchema | undefined): FastifySchema {
  const content = (schema?.body as Tree | undefined)?.['x-content'];
  return content === undefined ? (schema ?? {}) : { ...schema, body: { content } };
}

/** Moves each schema with a title to `components.schemas`, once, and leaves a reference. */
function gatherComponents(document: Tree): Tree {
  const found: Tree = {};
  const paths = referTo(found, document['paths'], { isNames: true });
  const names = Object.keys(found).sort();
  const schemas = Object.fromEntries(names.map((name) => [name, found[name]]));
  return { ...document, paths, components: { ...(document['components'] as Tree), schemas } };
}

/** Keywords whose content is data, not schemas. */
const dataKeywords = new Set(['example', 'examples', 'default', 'enum', 'const']);
/** Keywords whose keys are free names. */
const nameKeywords = new Set(['properties', 'headers', 'content', 'responses']);

function referTo(found: Tree, node: unknown, options: { readonly isNames: boolean }): unknown {
  if (Array.isArray(node)) return node.map((inner) => referTo(found, inner, { isNames: false }));
  if (typeof node !== 'object' || node === null) return node;
  const copy: Tree = {};
  for (const [key, inner] of Object.entries(node)) {
    const isData = !options.isNames && dataKeywords.has(key);
    const isNames = !options.isNames && nameKeywords.has(key);
    copy[key] = isData ? inner : referTo(found, inner, { isNames });
  }
  if (options.isNames) return copy;
  // The schema has the description already; it would be shown twice.
  if (copy['requestBody'] !== undefined) delete (copy['requestBody'] as Tree)['description'];
  if (copy['in'] === 'header') copy['name'] = headerName(String(copy['name']));
  // A parameter with a default is optional, although validation, which fills the default in, requires it.
  if (copy['in'] === 'query' && (copy['schema'] as Tree)['default'] !== undefined) copy['required'] = false;
  return typeof copy['title'] === 'string' ? addComponent(found, copy['title'], copy) : copy;
}

/** Adds the schema under its title; the `x-role` of this use becomes the description beside the reference. */
function addComponent(found: Tree, title: string, schema: Tree): Tree {
  const { title: _, examples, 'x-role': role, ...shape } = schema;
  const known = found[title] as Tree | undefined;
  const { examples: knownExamples, ...knownShape } = known ?? shape;
  assert.ok(isDeepStrictEqual(shape, knownShape), `Two schemas that differ have the title ${title}.`);
  // The example of a body moves to its content type, so the schema lacks it unless it also occurs within another.
  const kept = knownExamples ?? examples;
  found[title] = kept === undefined ? shape : { ...shape, examples: kept };
  const reference = { $ref: `#/components/schemas/${title}` };
  return role === undefined ? reference : { ...reference, description: role };
}

/** `idempotency-key`, as validated, to `Idempotency-Key`, as documented. */
function headerName(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
