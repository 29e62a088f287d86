// Compares every answer that a test gets with the OpenAPI document: status, content type and body must be documented
// for that operation. Called by test-server and process for each answer; the document is fetched and its schemas
// compiled once in a process. An undocumented field fails the test too, because secrets could leak that way.
import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { escapePointer } from '../../../src/base/text/json.ts';

export interface Media {
  readonly schema?: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface DocumentedResponse {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, Media>>;
}
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly example?: string;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}
export interface ApiDocument {
  readonly info: { readonly version: string; readonly license: { readonly identifier: string } };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** What was called and what came back. */
export interface Exchange {
  readonly method: string;
  /** With its query, if any. */
  readonly path: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The answers that any path may give before its operation is reached, all of them problem documents. */
const beforeAnyOperation = new Set([401, 405, 503]);

export class DocumentedAnswers {
  readonly #document: ApiDocument;
  readonly #paths: readonly { readonly path: string; readonly pattern: RegExp }[];
  readonly #ajv: Ajv2020;

  constructor(document: ApiDocument) {
    this.#document = document;
    // A literal path goes before one with a parameter in the same place, as in the router.
    this.#paths = Object.keys(document.paths)
      .sort((one, other) => one.split('{').length - other.split('{').length)
      .map((path) => ({
        path,
        pattern: new RegExp(
          `^${path
            .split(/\{\w+\}/)
            .map(escapeForRegExp)
            .join('[^/]+')}/?$`,
        ),
      }));
    this.#ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
    (addFormats as unknown as (target: Ajv2020) => void)(this.#ajv);
    this.#ajv.addSchema(closeComponents(document), 'document');
  }

  /** Where the answer is not what the document says; empty when it is. */
  faultsOf(exchange: Exchange): unknown[] {
    // A path of version 1.0 is that of version 1.1 with a domain in it.
    const path = (exchange.path.split('?')[0] ?? '').replace(/^\/api\/v1\/domains\/[^/]+/, '/api/v1');
    const method = exchange.method === 'HEAD' ? 'get' : exchange.method.toLowerCase();
    if (method === 'options') return [];
    const documented = this.#paths.find(
      (known) => known.pattern.test(path) && this.#document.paths[known.path]?.[method],
    );
    const response = documented && this.#document.paths[documented.path]?.[method]?.responses[exchange.status];
    if (documented === undefined || response === undefined) return this.#faultsOfUndocumented(exchange, path);
    if (exchange.text === '' && (response.content === undefined || exchange.method === 'HEAD')) return [];
    // Version 1 answers 200 where version 2 has 201 with the record, and 204 without.
    if (exchange.text === '' && isOlder(path) && method === 'post' && exchange.status === 200) return [];
    const type = typeOf(exchange);
    if (response.content?.[type] === undefined) return [`${type || 'an empty body'} is not documented`];
    return this.#faultsOfBody(exchange, [
      'paths',
      documented.path,
      method,
      'responses',
      String(exchange.status),
      'content',
      type,
      'schema',
    ]);
  }

  /** Such an answer may only be a problem, or a page that is no part of the API. */
  #faultsOfUndocumented(exchange: Exchange, path: string): unknown[] {
    const isKnown = this.#paths.some(({ pattern }) => pattern.test(path));
    const mayBeSo = isKnown ? beforeAnyOperation.has(exchange.status) : exchange.status >= 400;
    if (!mayBeSo) return isKnown || path.startsWith('/api/') ? [`${exchange.status} is not documented`] : [];
    if (exchange.method === 'HEAD' && exchange.text === '') return [];
    const [type, schema] = isOlder(path) ? ['application/json', 'V1Error'] : ['application/problem+json', 'Problem'];
    if (typeOf(exchange) !== type) return [`${typeOf(exchange)} is not ${type}, the type of errors`];
    return this.#faultsOfBody(exchange, ['components', 'schemas', schema]);
  }

  #faultsOfBody(exchange: Exchange, pointer: readonly string[]): unknown[] {
    const place = pointer.map((step) => encodeURIComponent(escapePointer(step))).join('/');
    const validate = this.#ajv.getSchema(`document#/${place}`);
    assert.ok(validate !== undefined, place);
    const isJson = /^application\/(problem\+)?json$/.test(typeOf(exchange));
    if (isJson && exchange.text === '') return ['has no body'];
    return validate(isJson ? JSON.parse(exchange.text) : exchange.text) ? [] : (validate.errors ?? []);
  }
}

let known: Promise<DocumentedAnswers> | undefined;

/** The document of this process's servers, which all have the same; `load` asks the first of them for it. */
export function documentedAnswers(load: () => Promise<ApiDocument>): Promise<DocumentedAnswers> {
  known ??= load().then(
    (document) => new DocumentedAnswers(document),
    (error: unknown) => {
      // The server may have been killed just then: the next call asks again.
      known = undefined;
      throw error;
    },
  );
  return known;
}

function isOlder(path: string): boolean {
  return /^\/api\/v1(\/|$)/.test(path);
}

function typeOf({ headers }: Exchange): string {
  return headers['content-type']?.split(';')[0] ?? '';
}

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/**
 * The document with its components closed against fields that they do not name. What clients send is read back as it
 * was given, and so is what shares a component with it (a location, a calibration): those stay open.
 */
function closeComponents(document: ApiDocument): ApiDocument {
  const sent = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, inner] of Object.entries(node)) {
      const name = key === '$ref' ? /^#\/components\/schemas\/(.+)$/.exec(String(inner))?.[1] : undefined;
      if (name === undefined) visit(inner);
      if (name === undefined || sent.has(name)) continue;
      sent.add(name);
      visit(document.components.schemas[name]);
    }
  };
  for (const methods of Object.values(document.paths)) {
    for (const operation of Object.values(methods)) visit(operation.requestBody);
  }
  const schemas = Object.fromEntries(
    Object.entries(document.components.schemas).map(([name, schema]) => {
      const isClosed = !sent.has(name) && 'properties' in schema && !('additionalProperties' in schema);
      return [name, isClosed ? { ...schema, additionalProperties: false } : schema];
    }),
  );
  return { ...document, components: { ...document.components, schemas } };
}
