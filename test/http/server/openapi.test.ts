// The OpenAPI document is valid, complete and true: its examples are sent to a real server.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import Fastify from 'fastify';
import { prepareOlderVersions } from '../../../src/http/server/older-versions.ts';
import { registerV1 } from '../../../src/http/v1/api.ts';
import { registerV2 } from '../../../src/http/v2/api.ts';
import {
  type ApiDocument,
  DocumentedAnswers,
  type Media,
  type Operation,
} from '../../support/api/documented-answers.ts';
import { prepareAccounts } from '../../support/api/example-accounts.ts';
import { addUsers, password } from '../../support/people.ts';
import { type Carries, TestServer } from '../../support/test-server.ts';

let server: TestServer;
let document: ApiDocument;

before(async () => {
  // Links are mailed, but nobody takes the mails.
  const mails = { DUNDUN_SMTP_URL: 'smtp://127.0.0.1:1', DUNDUN_SMTP_FROM: 'dundun@farm.example' };
  server = await TestServer.start({ ...mails, DUNDUN_BASE_URL: 'https://dundun.example' });
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
      ['https://dundun.example'],
    );
  });

  test('has every route of both versions and no other, without HEAD and the refusals of wrong methods', async () => {
    const documented = operations().filter(({ path }) => path.startsWith('/api/'));
    assert.deepEqual(documented.map(({ method, path }) => `${method} ${path}`).sort(), await routes());
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
    for (const { path, method, operation: described } of operations()) {
      // What stands under a second path needs what it needs under the first.
      const operationId = described.operationId.replace(/(UnderDomain|AtRoot)$/, '');
      const isOfUsers = path.startsWith('/api/v1/domains/{domain}/users');
      const operation = { ...described, operationId, tags: isOfUsers ? ['v1 Users'] : described.tags };
      for (const body of bodiesOf(operation)) {
        await prepare(operation);
        // A stream of events has no end; its headers say enough.
        const isEndless = operation.responses['200']?.content?.['text/event-stream'] !== undefined;
        const headers = await prepareAccounts(server, operation, assigned);
        // Nobody removes the account of somebody else by it: the headers say who it is.
        const who = operation.operationId === 'removeOwnUser' ? 'guest' : 'admin';
        const answer = await server.request(who, isEndless ? 'HEAD' : method, fillIn(path, operation), {
          ...body,
          headers: { ...body.headers, ...headers, ...basicOf(operation) },
        });
        const what = `${operation.operationId} ${JSON.stringify(body)}: ${answer.status} ${answer.text}`;
        assert.ok(answer.status >= 200 && answer.status < 300, what);
      }
    }
  });
});

describe('an answer that the OpenAPI document does not give', () => {
  const json = { 'content-type': 'application/json; charset=utf-8' };
  const problem = { 'content-type': 'application/problem+json; charset=utf-8' };

  test('is noticed by its status, its type, its body, and a field too many', async () => {
    const { text } = await server.call('guest', 'GET', '/devices/nowhere');
    const wrong = [
      { status: 204, headers: {}, text: '' },
      { status: 418, headers: problem, text },
      { status: 404, headers: json, text },
      { status: 404, headers: problem, text: '{"title":"Not Found"}' },
      { status: 404, headers: problem, text: JSON.stringify({ ...JSON.parse(text), password_hash: 'x' }) },
      { status: 404, headers: problem, text: '' },
    ];
    const documented = new DocumentedAnswers(document);
    const path = '/api/v2/devices/nowhere?limit=1';
    assert.deepEqual(documented.faultsOf({ method: 'GET', path, status: 404, headers: problem, text }), []);
    for (const answer of wrong) assert.notDeepEqual(documented.faultsOf({ method: 'GET', path, ...answer }), []);
  });

  test('is noticed on a path that the document does not know', () => {
    const documented = new DocumentedAnswers(document);
    const answer = { method: 'GET', status: 200, headers: json, text: '[]' };
    assert.notDeepEqual(documented.faultsOf({ ...answer, path: '/api/v2/secrets' }), []);
    assert.notDeepEqual(documented.faultsOf({ ...answer, method: 'POST', path: '/api/v2/devices/d1' }), []);
  });
});

/** The routes as the service registers them, written as the document writes them. */
async function routes(): Promise<string[]> {
  const app = Fastify({ exposeHeadRoutes: false });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  const found: string[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    const names = url.startsWith('/api/v1/') ? { device: 'sensor', sensor: 'measurement' } : {};
    const path = url.replace(/:(\w+)/g, (_, name: string) => `{${new Map(Object.entries(names)).get(name) ?? name}}`);
    for (const one of [method].flat()) found.push(`${one} ${path}`);
  });
  prepareOlderVersions(app);
  // Registering only takes the services apart; none of them is called.
  await registerV1(app, {} as never, registerV2);
  await app.register(
    (api, _options, done) => {
      registerV2(api as never, {} as never);
      done();
    },
    { prefix: '/api/v2' },
  );
  await app.ready();
  return found.sort();
}

/** The places of the document that lack a description. */
function undescribed(root: ApiDocument): string[] {
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

function bodiesOf(operation: Operation): Carries[] {
  if (operation.requestBody === undefined) return [{}];
  return Object.entries(operation.requestBody.content).flatMap(([type, media]) =>
    examplesOf(media).map((example) => {
      if (type === 'application/json') return { json: example };
      return { body: example as string, headers: { 'content-type': type } };
    }),
  );
}

/** Ids that the service assigned to the records of the examples, by the name of the parameter they stand for. */
const assigned = new Map<string, string>();

/** Makes the records of the examples anew, the way the examples for them do. */
async function prepare(operation: Operation): Promise<void> {
  const [rule = {}] = bodiesOf(document.paths['/api/v2/notifications']?.['post'] as Operation);
  assigned.set('notification', (await server.call('admin', 'POST', '/notifications', rule)).text);
  const message = { json: { username: 'awa', channel: 'none', message: 'The pump stands still.' } };
  assigned.set('social', (await server.call('admin', 'POST', '/socials', message)).text);
  const records = { '/devices': 'field-3', '/gateways': 'gateway-1', '/projects': 'project-1' };
  for (const [path, id] of Object.entries(records)) {
    await server.call('admin', 'DELETE', `${path}/${id}`);
    const create = document.paths[`/api/v2${path}`]?.['post'] as Operation;
    if (isCreate(operation, create)) continue;
    const [body = {}] = bodiesOf(create);
    const { status, text } = await server.call('admin', 'POST', path, body);
    assert.ok(status === 200 || status === 204, text);
  }
  if (/^(createDevice|v1CreateSensor)$/.test(operation.operationId)) return;
  // The other device, to which a sensor is moved.
  await server.call('admin', 'DELETE', '/devices/field-4');
  await server.call('admin', 'POST', '/devices', { json: { id: 'field-4' } });
  if (operation.operationId === 'endFormerDeviceId') {
    for (const id of ['field-3-old', 'field-3']) await server.call('admin', 'PUT', '/devices/field-3/id', { text: id });
  }
  if (operation.operationId === 'endFormerSensorId') {
    for (const [from, id] of [
      ['TC', 'field-3-old'],
      ['field-3-old', 'TC'],
    ])
      await server.call('admin', 'PUT', `/devices/field-3/sensors/${from}/id`, { text: id ?? '' });
  }
  // Of the time that is corrected in the example.
  const value = { json: { value: 21.5, timestamp: '2016-06-08T18:20:27.873Z' } };
  assert.equal((await server.call('admin', 'POST', '/devices/field-3/sensors/TC/values', value)).status, 204);
  const set = { json: true };
  assert.equal((await server.call('admin', 'PUT', '/devices/field-3/actuators/valve-1/value', set)).status, 204);
}

/** Whether the operation makes what `create` makes, in whichever version. */
function isCreate({ operationId }: Operation, create: Operation): boolean {
  return (
    operationId === create.operationId || (operationId === 'v1CreateSensor' && create.operationId === 'createDevice')
  );
}

/** Whose token is asked for by HTTP Basic. */
function basicOf(operation: Operation): Readonly<Record<string, string>> {
  if (operation.operationId !== 'v1GetToken') return {};
  return { authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` };
}

function fillIn(path: string, operation: Operation): string {
  const exampleOf = (where: string, name: string) => {
    const parameter = operation.parameters?.find((known) => known.in === where && known.name === name);
    assert.ok(parameter?.example !== undefined, `${operation.operationId}: {${name}} has an example`);
    return encodeURIComponent(parameter.example);
  };
  // One of two ways to say which datapoints is required, which a schema of parameters cannot say.
  const isRequired = (name: string) => operation.operationId === 'removeDatapoints' && name === 'timestamp';
  const isNeeded = (known: { readonly name: string; readonly required?: boolean }) =>
    known.required === true || isRequired(known.name);
  const needed = operation.parameters?.filter((known) => known.in === 'query' && isNeeded(known)) ?? [];
  const query = needed.map(({ name }) => `${name}=${exampleOf('query', name)}`).join('&');
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => assigned.get(name) ?? exampleOf('path', name));
  return query === '' ? filled : `${filled}?${query}`;
}
