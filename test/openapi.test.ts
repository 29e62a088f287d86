// The OpenAPI document: that it is valid, complete, and true. Its own examples are sent to a real server.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import Fastify from 'fastify';
import { escapePointer } from '../src/base/json.ts';
import { registerV2 } from '../src/http/v2/api.ts';
import { addUsers } from './support/people.ts';
import { type Answer, TestServer } from './support/test-server.ts';

interface Media {
  readonly schema?: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly example?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}
interface Document {
  readonly info: { readonly version: string; readonly license: { readonly identifier: string } };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

let server: TestServer;
let document: Document;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['awa'], server.clock);
  document = (await server.request('guest', 'GET', '/openapi.json')).body;
});
after(() => server.stop());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>);
    assert.deepEqual(result.errors ?? [], []);
    assert.equal(result.valid, true);
  });

  test('says which version and license it has, and that the service is where the document is', () => {
    assert.match(document.info.version, /^\d+\.\d+\.\d+/);
    assert.equal(document.info.license.identifier, 'Apache-2.0');
    assert.deepEqual(
      document.servers.map(({ url }) => url),
      ['/'],
    );
  });

  test('has every route of version 2 and no other, without HEAD and the refusals of wrong methods', () => {
    const documented = operations().filter(({ path }) => path.startsWith('/api/v2/'));
    assert.deepEqual(documented.map(({ method, path }) => `${method} ${path}`).sort(), routesOfV2());
  });

  test('names every operation once, says what it does, and groups it under a tag that it describes', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    assert.deepEqual(
      ids.filter((id, index) => id === undefined || ids.indexOf(id) !== index),
      [],
    );
    const described = new Set(document.tags.filter((tag) => tag.description.length > 0).map((tag) => tag.name));
    for (const { operation } of operations()) {
      assert.ok(operation.summary.length > 0, operation.operationId);
      assert.deepEqual(
        operation.tags.filter((tag) => !described.has(tag)),
        [],
        operation.operationId,
      );
    }
  });

  test('says of every field, parameter and component what it means', () => {
    assert.deepEqual(undescribed(document), []);
  });

  test('has an example for each content type of each body', () => {
    const without = operations().flatMap(({ operation }) =>
      Object.entries(operation.requestBody?.content ?? {})
        .filter(([, media]) => examplesOf(media).length === 0)
        .map(([type]) => `${operation.operationId} ${type}`),
    );
    assert.deepEqual(without, []);
  });
});

describe('every example of the OpenAPI document', () => {
  test('is taken by a server, whose answer is as documented', async () => {
    const judge = judgeOfAnswers(document);
    for (const { path, method, operation } of operations()) {
      for (const body of bodiesOf(operation)) {
        await prepare(operation);
        const answer = await server.request('admin', method, fillIn(path, operation), body);
        const what = `${operation.operationId} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`;
        assert.ok(answer.status >= 200 && answer.status < 300, what);
        assert.deepEqual(judge(path, method, answer), [], what);
      }
    }
  });

  test('is refused as documented where something is wrong', async () => {
    const judge = judgeOfAnswers(document);
    const unknown = await server.call('guest', 'GET', '/devices/nowhere');
    assert.deepEqual([unknown.status, judge('/api/v2/devices/{device}', 'GET', unknown)], [404, []]);
    const malformed = await server.call('guest', 'POST', '/devices', { json: {} });
    assert.deepEqual([malformed.status, judge('/api/v2/devices', 'POST', malformed)], [400, []]);
  });
});

/** The routes as the service registers them, written as the document writes them. */
function routesOfV2(): string[] {
  const app = Fastify({ exposeHeadRoutes: false });
  const routes: string[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.push(`${one} /api/v2${url.replace(/:(\w+)/g, '{$1}')}`);
  });
  // Registering only takes the services apart; none of them is called.
  registerV2(app as never, {} as never);
  return routes.sort();
}

/** The places of the document that lack a description. */
function undescribed(root: Document): string[] {
  const missing: string[] = [];
  const visit = (node: unknown, place: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, inner] of Object.entries(node)) {
      const here = `${place}/${key}`;
      if (['example', 'examples', 'default', 'enum'].includes(key)) continue;
      if (key === 'properties' || (key === 'schemas' && place === '/components')) {
        for (const [name, field] of Object.entries(inner)) if (!isDescribed(field)) missing.push(`${here}/${name}`);
      }
      if (key === 'parameters') {
        for (const field of inner as { name: string }[]) if (!isDescribed(field)) missing.push(`${here}/${field.name}`);
      }
      visit(inner, here);
    }
  };
  visit(root, '');
  return missing;
}

/** A reference is described where it leads to; all components are looked at. */
function isDescribed(field: unknown): boolean {
  const { description, $ref } = field as { readonly description?: string; readonly $ref?: string };
  return $ref !== undefined || (description !== undefined && description.length > 0);
}

function examplesOf(media: Media): unknown[] {
  if (media.example !== undefined) return [media.example];
  return Object.values(media.examples ?? {}).map(({ value }) => value);
}

function bodiesOf(operation: Operation): { readonly json?: unknown; readonly text?: string }[] {
  if (operation.requestBody === undefined) return [{}];
  return Object.entries(operation.requestBody.content).flatMap(([type, media]) =>
    examplesOf(media).map((example) => (type === 'text/plain' ? { text: example as string } : { json: example })),
  );
}

/** Makes the device of the examples anew, the way the example for it does. */
async function prepare(operation: Operation): Promise<void> {
  await server.call('admin', 'DELETE', '/devices/field-3');
  if (operation.operationId === 'createDevice') return;
  const [body = {}] = bodiesOf(document.paths['/api/v2/devices']?.['post'] as Operation);
  assert.equal((await server.call('admin', 'POST', '/devices', body)).status, 204);
  const value = { json: { value: 21.5 } };
  assert.equal((await server.call('admin', 'POST', '/devices/field-3/sensors/TC/values', value)).status, 204);
}

function fillIn(path: string, operation: Operation): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = operation.parameters?.find((known) => known.in === 'path' && known.name === name);
    assert.ok(parameter?.example !== undefined, `${operation.operationId}: {${name}} has an example`);
    return encodeURIComponent(parameter.example);
  });
}

/** Says where an answer is not what the document says of it. */
function judgeOfAnswers(root: Document): (path: string, method: string, answer: Answer) => unknown[] {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
  (addFormats as unknown as (target: Ajv2020) => void)(ajv);
  ajv.addSchema(root, 'document');
  return (path, method, answer) => {
    const responses = root.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    const response = responses[answer.status];
    if (response === undefined) return [`${answer.status} is not documented`];
    if (answer.text === '') return response.content === undefined ? [] : ['has no body'];
    const type = answer.headers['content-type']?.split(';')[0] ?? '';
    if (response.content?.[type] === undefined) return [`${type} is not documented`];
    const pointer = [
      'paths',
      path,
      method.toLowerCase(),
      'responses',
      String(answer.status),
      'content',
      type,
      'schema',
    ];
    const place = pointer.map((step) => encodeURIComponent(escapePointer(step))).join('/');
    const validate = ajv.getSchema(`document#/${place}`);
    assert.ok(validate !== undefined, place);
    return validate(answer.body ?? answer.text) ? [] : (validate.errors ?? []);
  };
}
