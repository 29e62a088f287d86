// The longest texts that are accepted (contract 1): names, passwords, filters and descriptions, at the bound and
// beyond it, by version 2, version 1 and MQTT; all descriptions of a device together; and records from before the
// bounds.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { runSql } from '../../support/data.ts';
import { connectBytes, RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_SELF_REGISTRATION: 'on' });
  const parts = { sensors: [{ id: 's' }], actuators: [{ id: 'a' }] };
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', ...parts } });
  await server.call('owner', 'POST', '/gateways', { json: { id: 'g' } });
  await server.call('owner', 'POST', '/projects', { json: { id: 'p' } });
});
after(() => server.stop());

const chars = (count: number) => '🥁'.repeat(count);
const bytes = (count: number) => 'x'.repeat(count);
const meta = (count: number) => ({ a: 'x'.repeat(count - 8) });
let made = 0;
const fresh = () => {
  made += 1;
  return `fresh-${made}`;
};

interface Door {
  readonly call: string;
  /** What is sent with a text of the size that is asked for. */
  readonly json: (size: number) => unknown;
  readonly max: number;
  /** The status at the bound, and beyond it. */
  readonly taken: number;
  readonly beyond: number;
}

const names = { max: limits.nameCharsMax, beyond: 400 };
const descriptions = { max: limits.descriptionBytesMax, beyond: 413 };
const doors: readonly Door[] = [
  { call: 'POST /api/v2/devices', json: (n) => ({ id: fresh(), name: chars(n) }), taken: 204, ...names },
  { call: 'POST /api/v2/devices', json: (n) => ({ id: fresh(), domain: bytes(n) }), taken: 204, ...descriptions },
  { call: 'POST /api/v2/devices', json: (n) => ({ id: fresh(), meta: meta(n) }), taken: 204, ...descriptions },
  {
    call: 'POST /api/v2/devices',
    json: (n) => ({ id: fresh(), location: { latitude: 1, longitude: 2, ...meta(n - 28 + 1) } }),
    taken: 204,
    ...descriptions,
  },
  {
    call: 'POST /api/v2/devices',
    json: (n) => ({ id: fresh(), sensors: [{ id: 's', name: chars(n) }] }),
    taken: 204,
    ...names,
  },
  {
    call: 'POST /api/v2/devices',
    json: (n) => ({ id: fresh(), sensors: [{ id: 's', unit: bytes(n) }] }),
    taken: 204,
    ...descriptions,
  },
  {
    call: 'POST /api/v2/devices',
    json: (n) => ({ id: fresh(), actuators: [{ id: 'a', meta: meta(n) }] }),
    taken: 204,
    ...descriptions,
  },
  { call: 'POST /api/v2/devices/d/sensors', json: (n) => ({ id: 's', calib: meta(n) }), taken: 204, ...descriptions },
  {
    call: 'POST /api/v2/devices/d/sensors',
    json: (n) => ({ id: 's', quantity_kind: bytes(n) }),
    taken: 204,
    ...descriptions,
  },
  { call: 'POST /api/v2/devices/d/actuators', json: (n) => ({ id: 'a', name: chars(n) }), taken: 204, ...names },
  { call: 'POST /api/v2/gateways', json: (n) => ({ id: fresh(), name: chars(n) }), taken: 200, ...names },
  { call: 'PUT /api/v2/gateways/g/name', json: chars, taken: 204, ...names },
  { call: 'POST /api/v2/projects', json: (n) => ({ id: fresh(), name: chars(n) }), taken: 200, ...names },
  { call: 'PUT /api/v2/projects/p/name', json: chars, taken: 204, ...names },
  { call: 'POST /api/v2/auth/keys', json: (n) => ({ name: chars(n) }), taken: 200, ...names },
  {
    call: 'POST /api/v2/users',
    json: (n) => ({ username: `${fresh()}-`.padEnd(n, 'x'), password: 'talking drum' }),
    taken: 200,
    max: limits.usernameCharsMax,
    beyond: 400,
  },
  {
    call: 'POST /api/v2/users',
    json: (n) => ({ username: fresh(), password: chars(n) }),
    taken: 200,
    max: limits.passwordCharsMax,
    beyond: 400,
  },
  {
    call: 'POST /api/v2/users',
    json: (n) => ({ username: fresh(), password: 'talking drum', firstName: bytes(n) }),
    taken: 200,
    max: limits.profileTextCharsMax,
    beyond: 400,
  },
  {
    call: 'POST /api/v2/auth/token',
    json: (n) => ({ username: bytes(n), password: 'x' }),
    taken: 401,
    max: limits.knownUsernameCharsMax,
    beyond: 400,
  },
  {
    call: 'POST /api/v2/auth/session',
    json: (n) => ({ username: bytes(n), password: 'x' }),
    taken: 401,
    max: limits.knownUsernameCharsMax,
    beyond: 400,
  },
  {
    call: 'POST /api/v2/socials',
    json: (n) => ({ username: bytes(n), channel: 'none', message: 'x' }),
    taken: 200,
    max: limits.knownUsernameCharsMax,
    beyond: 400,
  },
  {
    call: 'POST /api/v2/socials',
    json: (n) => ({ username: 'awa', channel: 'none', message: bytes(n) }),
    taken: 200,
    max: limits.messageCharsMax,
    beyond: 413,
  },
  { call: 'PUT /api/v2/devices/d/owner', json: bytes, taken: 404, max: limits.knownUsernameCharsMax, beyond: 400 },
  { call: 'POST /api/v1/sensors', json: (n) => ({ id: fresh(), name: chars(n) }), taken: 200, ...names },
  {
    call: 'POST /api/v1/sensors',
    json: (n) => ({ id: fresh(), measurements: [{ id: 's', unit: bytes(n) }] }),
    taken: 200,
    ...descriptions,
  },
  { call: 'PUT /api/v1/sensors/d/name', json: chars, taken: 200, ...names },
  {
    call: 'POST /api/v1/auth/token',
    json: (n) => ({ username: bytes(n), password: 'x' }),
    taken: 401,
    max: limits.knownUsernameCharsMax,
    beyond: 400,
  },
];

suite('a text is taken up to its bound and refused beyond', () => {
  for (const { call, json, max, taken, beyond } of doors) {
    const [method = '', path = ''] = call.split(' ');
    test(`${call} ${JSON.stringify(json(100)).slice(0, 60)}: ${max}, then ${beyond}`, async () => {
      const at = await server.request('owner', method, path, { json: json(max) });
      assert.equal(at.status, taken, at.text.slice(0, 300));
      const over = await server.request('owner', method, path, { json: json(max + 1) });
      assert.equal(over.status, beyond, over.text.slice(0, 300));
      if (path.startsWith('/api/v2')) assert.match(over.body.errors[0].detail, /at most [\d ]+ (characters|bytes)/);
    });
  }

  for (const [query, max] of [
    [`/devices?q=name==`, limits.filterCharsMax - 'name=='.length],
    ['/users?username=', limits.knownUsernameCharsMax],
    ['/devices/d/permissions/explain?username=', limits.knownUsernameCharsMax],
    ['/devices?search=', limits.searchCharsMax],
  ] as const) {
    test(`GET ${query} takes ${max} characters`, async () => {
      assert.notEqual((await server.call('owner', 'GET', query + bytes(max))).status, 400);
      assert.equal((await server.call('owner', 'GET', query + bytes(max + 1))).status, 400);
    });
  }

  test('headers: a token, a key of repeats', async () => {
    const headersOf = async (headers: Record<string, string>) =>
      (await server.request('owner', 'POST', '/api/v2/devices/d/sensors/s/values', { json: { value: 1 }, headers }))
        .status;
    assert.equal(await headersOf({ authorization: `Bearer ${bytes(limits.tokenCharsMax)}` }), 401);
    assert.equal(await headersOf({ 'idempotency-key': bytes(limits.idempotencyKeyCharsMax + 1) }), 400);
    assert.equal(await headersOf({}), 204);
  });
});

suite('all descriptions of a device together', () => {
  const part = (id: string) => ({ id, meta: meta(limits.descriptionBytesMax) });
  const partsMax = limits.deviceDescriptionBytesMax / limits.descriptionBytesMax;
  const parts = (count: number) => Array.from({ length: count }, (_, n) => part(`s${n}`));

  test('are bounded when it is created', async () => {
    const create = (sensors: object[]) => server.call('owner', 'POST', '/devices', { json: { id: fresh(), sensors } });
    assert.equal((await create(parts(partsMax))).status, 204);
    assert.equal((await create(parts(partsMax + 1))).status, 413);
    assert.equal((await create([...parts(partsMax), { id: 'more', unit: 'x' }])).status, 413);
  });

  test('are bounded when they come piece by piece, one after the other and all at once', async () => {
    const id = fresh();
    await server.call('owner', 'POST', '/devices', {
      json: { id, sensors: parts(partsMax - 2), actuators: [{ id: 'a' }] },
    });
    const at = `/devices/${id}`;
    const puts = await Promise.all(
      parts(30).map(({ meta: json }, n) =>
        server.call('owner', n % 2 === 0 ? 'POST' : 'PUT', n % 2 === 0 ? `${at}/sensors` : `${at}/meta`, {
          json: n % 2 === 0 ? { id: `more${n}`, meta: json } : json,
        }),
      ),
    );
    const taken = puts.filter(({ status }) => status === 204).length;
    assert.ok(taken >= 1, `${taken} were taken`);
    for (const { status } of puts) assert.ok([204, 413].includes(status), String(status));
    const { body } = await server.call('owner', 'GET', at);
    const size = JSON.stringify([body.meta, body.sensors.map(({ meta: of }: { meta: object }) => of)]).length;
    assert.ok(size <= limits.deviceDescriptionBytesMax + 1_000, `${size} bytes`);
    assert.equal((await server.call('owner', 'PUT', `${at}/actuators/a/meta`, { json: meta(16_000) })).status, 413);
    // What makes it no larger is always taken.
    assert.equal((await server.call('owner', 'PUT', `${at}/sensors/s0/meta`, { json: {} })).status, 204);
    assert.equal((await server.call('owner', 'PUT', `${at}/actuators/a/meta`, { json: meta(8_000) })).status, 204);
  });

  test('and the values of its actuators have a bound of their own', async () => {
    const id = fresh();
    const count = limits.deviceValueBytesMax / limits.valueBytesMax;
    const actuators = Array.from({ length: count + 1 }, (_, n) => ({ id: `a${n}` }));
    await server.call('owner', 'POST', '/devices', { json: { id, actuators } });
    const json = 'x'.repeat(limits.valueBytesMax - 2);
    const statuses = [];
    for (const actuator of actuators) {
      statuses.push(
        (await server.call('owner', 'PUT', `/devices/${id}/actuators/${actuator.id}/value`, { json })).status,
      );
    }
    assert.deepEqual(statuses, [...Array.from({ length: count }, () => 204), 413]);
    assert.equal((await server.call('owner', 'PUT', `/devices/${id}/actuators/a0/value`, { json: 1 })).status, 204);
  });
});

test('records that are older than the bounds are read, and edited in their other fields', async () => {
  const sensors = Array.from({ length: 30 }, (_, n) => ({ id: `s${n}` }));
  await server.call('owner', 'POST', '/devices', { json: { id: 'older', sensors } });
  const older = JSON.stringify({ a: 'x'.repeat(60_000) });
  const run = (sql: string) => runSql(server.folder, sql);
  await run(`UPDATE device SET name = '${'n'.repeat(4_000)}', meta = '${older}' WHERE id = 'older'`);
  await run(`UPDATE sensor SET meta = '${older}' WHERE device = (SELECT key FROM device WHERE id = 'older')`);
  await run(
    `UPDATE "user" SET username = '${'o'.repeat(128)}', folded = '${'o'.repeat(128)}' WHERE username = 'sharer'`,
  );
  await server.restart();
  const { body } = await server.call('owner', 'GET', '/devices/older');
  assert.equal(body.name.length, 4_000);
  assert.equal(body.sensors[7].meta.a.length, 60_000);
  const put = async (path: string, json: unknown) =>
    (await server.call('owner', 'PUT', `/devices/older${path}`, { json })).status;
  assert.equal(await put('/deployed', true), 204);
  assert.equal(await put('/location', { latitude: 1, longitude: 2 }), 413, 'it makes the device larger still');
  assert.equal(await put('/sensors/s7/retention_days', 3), 204);
  assert.equal(await put('/sensors/s7/meta', { a: 1 }), 204);
  assert.equal(await put('/name', 'of today'), 204);
  const push = await server.call('owner', 'POST', '/devices/older/sensors/s8/values', { json: { value: 1 } });
  assert.equal(push.status, 204);
  const json = { username: 'o'.repeat(128), password: 'talking drum' };
  assert.equal((await server.call('guest', 'POST', '/auth/token', { json })).status, 200);
});

suite('over MQTT', () => {
  test('a name or a password longer than any is CONNACK 4', async () => {
    for (const login of [
      { username: 'u'.repeat(limits.knownUsernameCharsMax + 1), password: 'x' },
      { username: 'owner', password: 'x'.repeat(60_000) },
    ]) {
      const client = await RawClient.open(server);
      client.send(connectBytes({ clientId: 'long', ...login }));
      assert.equal((await client.next('connack')).returnCode, 4);
      await client.closed;
    }
  });

  test('a filter is taken up to its bound, and 128 beyond', async () => {
    const client = await RawClient.open(server);
    client.send(connectBytes({ clientId: 'filters' }));
    await client.next('connack');
    const filters = ['a', 'é'].flatMap((char) => {
      const count = limits.topicFilterBytesMax / Buffer.byteLength(char);
      return [char.repeat(count), char.repeat(count + 1)];
    });
    client.send({
      cmd: 'subscribe',
      messageId: 1,
      subscriptions: filters.map((topic) => ({ topic, qos: 1 as const })),
    });
    assert.deepEqual((await client.next('suback')).granted, [1, 128, 1, 128]);
    await client.end();
  });
});

suite('what can be sent is bounded', () => {
  test('in every place of the OpenAPI document', async () => {
    const { body: document } = await server.request('guest', 'GET', '/openapi.json');
    const faults: string[] = [];
    for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, Operation>>)) {
      for (const [method, { parameters = [], requestBody }] of Object.entries(methods)) {
        const at = `${method} ${path}`;
        for (const { name, schema } of parameters) look(document, schema, `${at} ${name}`, faults);
        for (const { schema } of Object.values(requestBody?.content ?? {})) look(document, schema, at, faults);
      }
    }
    assert.deepEqual([...new Set(faults)], []);
  });
});

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}
// biome-ignore lint/suspicious/noExplicitAny: a node of a document that another test holds valid.
type Schema = any;

function look(document: Schema, schema: Schema, at: string, faults: string[]): void {
  if (typeof schema.$ref === 'string') {
    const title = schema.$ref.split('/').at(-1);
    look(document, document.components.schemas[title], at, faults);
    return;
  }
  if (schema['x-max-bytes'] !== undefined || schema.enum !== undefined || schema.const !== undefined) return;
  if (schema.anyOf !== undefined) for (const branch of schema.anyOf) look(document, branch, at, faults);
  else if (schema.type === 'string' && schema.maxLength === undefined) faults.push(`${at}: a text without maxLength`);
  else if (schema.type === 'array') {
    if (schema.maxItems === undefined) faults.push(`${at}: an array without maxItems`);
    look(document, schema.items ?? {}, `${at}/*`, faults);
  } else if (schema.type === 'object') {
    const fields = Object.entries(schema.properties ?? {});
    if (fields.length === 0) faults.push(`${at}: an object of any size`);
    for (const [name, field] of fields) look(document, field, `${at}/${name}`, faults);
  } else if (schema.type === undefined) faults.push(`${at}: anything`);
}

test('a list of the largest devices is read and sent in steps, by either version', async () => {
  const count = 40;
  const sensors = Array.from({ length: 16 }, (_, n) => ({ id: `s${n}`, meta: meta(limits.descriptionBytesMax) }));
  const ids = Array.from({ length: count }, (_, n) => `large-${n}`);
  for (const id of ids) await server.call('owner', 'POST', '/devices', { json: { id, sensors } });
  const { status, headers, body } = await server.call('owner', 'GET', '/devices?limit=1000&search=large-');
  assert.equal(status, 200);
  assert.equal(headers['x-total-count'], String(count));
  assert.deepEqual(body.map(({ id }: { id: string }) => id), ids); // biome-ignore format: a pair
  assert.equal(body.at(-1).sensors.at(-1).meta.a.length, limits.descriptionBytesMax - 8);
  const older = await server.request('owner', 'GET', `/api/v1/sensors?limit=1000&q=id==${ids.join(',')}`);
  assert.equal(older.status, 200);
  assert.deepEqual(older.body.map(({ id }: { id: string }) => id), ids); // biome-ignore format: a pair
  assert.equal(older.body.at(-1).measurements.length, 16);
  const few = await server.call('owner', 'GET', '/devices?limit=3&offset=1&search=large-');
  assert.deepEqual(few.body.map(({ id }: { id: string }) => id), ids.slice(1, 4)); // biome-ignore format: a pair
});
