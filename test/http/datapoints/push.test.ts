// Pushing datapoints over REST (spec 4.1, contract 5): paths, forms of bodies, all or none, and the times that a push
// changes.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { countStored } from '../../support/data.ts';
import { type Carries, TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

let count = 0;
let d = '';
let s = '';
beforeEach(async () => {
  count += 1;
  d = `/devices/device-${count}`;
  s = `${d}/sensors/s`;
  await server.call('owner', 'POST', '/devices', { json: { id: `device-${count}`, sensors: [{ id: 's' }] } });
  server.clock.advance(60_000);
});

const as = 'owner';
const push = (carries: Carries, expect = 204, door = 'values') => {
  return make(server, { as, call: `POST ${s}/${door}`, expect, ...carries });
};
const read = async (query = '') => (await make(server, { as, call: `GET ${s}/values${query}`, expect: 200 })).body;
const now = () => new Date(server.clock.now()).toISOString().replace('.000Z', 'Z');

suite('a push', () => {
  for (const door of ['values', 'value']) {
    test(`to ${door} takes one datapoint, an array, or text`, async () => {
      await push({ json: { value: 1, timestamp: '2016-06-08T18:20:27Z' } }, 204, door);
      await push({ json: [{ value: 2, timestamp: '2016-06-08T18:20:28.5Z' }] }, 204, door);
      await push({ text: 'three' }, 204, door);
      assert.deepEqual(await read(), [
        { value: 1, timestamp: '2016-06-08T18:20:27Z', date_received: now() },
        { value: 2, timestamp: '2016-06-08T18:20:28.500Z', date_received: now() },
        { value: 'three', date_received: now() },
      ]);
    });
  }

  test('of an empty array is done and stores nothing', async () => {
    const before = await server.rows();
    await push({ json: [] });
    assert.deepEqual(await server.rows(), before);
    assert.deepEqual(await read(), []);
  });

  test('without a timestamp has none, and what the client says of date_received is ignored', async () => {
    const date_received = '2001-01-01T00:00:00Z';
    await push({ json: { value: 1, date_received } });
    await push({ json: { value: 2, timestamp: null, date_received } });
    assert.deepEqual(await read(), [
      { value: 1, date_received: now() },
      { value: 2, date_received: now() },
    ]);
  });

  test('may hold null, which is a value, and unknown fields, which are ignored', async () => {
    await push({
      json: [
        { value: null, unit: 'K' },
        { value: null, quality: { good: true } },
      ],
    });
    assert.deepEqual(
      (await read()).map((point: { value: unknown }) => point.value),
      [null, null],
    );
  });

  test('of text is that text as a string, JSON or not', async () => {
    const texts = ['21.5', '{"value": 1}', '', ' ', 'naïve 場', 'two\nlines', '"quoted"', 'null'];
    for (const text of texts) await push({ text });
    assert.deepEqual(
      (await read()).map((point: { value: unknown }) => point.value),
      texts,
    );
  });

  test('may come with white space and line feeds wherever JSON allows them', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    await push({ body: '\r\n[\n{"value":1},\n\t{"value" : 2}\n,{"value":3}\r\n]\n', headers });
    assert.equal((await read()).length, 3);
  });

  test('moves date_modified and last_value, and its alias', async () => {
    await push({ json: { value: 7, timestamp: '2016-06-08T18:20:27Z' } });
    const { body } = await make(server, { as, call: `GET ${d}`, expect: 200 });
    const last = { value: 7, timestamp: '2016-06-08T18:20:27Z', date_received: now() };
    assert.deepEqual(body.sensors[0], { id: 's', last_value: last, value: last });
    assert.equal(body.date_modified, now());
    const [sensor] = (await server.call(as, 'GET', `${d}/sensors`)).body;
    assert.deepEqual(sensor.last_value, last);
    const [listed] = (await server.call(as, 'GET', `/devices?q=id==device-${count}`)).body;
    assert.deepEqual(listed, body);
  });

  test('writes no row of the registry', async () => {
    const { datapoints: before, ...registry } = await server.rows();
    await push({ json: [{ value: 1 }, { value: 2 }] });
    const { datapoints, ...after } = await server.rows();
    assert.deepEqual(after, registry);
    assert.equal(datapoints?.length, (before?.length ?? 0) + 2);
  });
});

suite('last_value', () => {
  const last = async () => (await server.call(as, 'GET', s)).body.last_value;

  test('is absent before the first push', async () => {
    assert.deepEqual((await server.call(as, 'GET', s)).body, { id: 's' });
  });

  test('is what was pushed last, not what was measured last; the last of an array', async () => {
    await push({ json: { value: 'new', timestamp: '2026-01-01T00:00:00Z' } });
    await push({ json: { value: 'late', timestamp: '2020-01-01T00:00:00Z' } });
    assert.equal((await last()).value, 'late');
    await push({
      json: [
        { value: 'b', timestamp: '2026-01-02T00:00:00Z' },
        { value: 'a', timestamp: '2026-01-01T00:00:00Z' },
      ],
    });
    assert.equal((await last()).value, 'a');
    await server.running.engine.seal();
    assert.equal((await last()).value, 'a');
    await server.restart();
    assert.equal((await last()).value, 'a');
  });
});

suite('all or none:', () => {
  const good = { value: 1 };
  const bad: readonly (readonly [what: string, item: unknown, pointer: string])[] = [
    ['no value', { timestamp: '2016-06-08T18:20:27Z' }, '/2/value'],
    ['a timestamp that is none', { value: 1, timestamp: 'yesterday' }, '/2/timestamp'],
    ['a timestamp that is a number', { value: 1, timestamp: 1465410027 }, '/2/timestamp'],
    ['a day that is not', { value: 1, timestamp: '2015-02-29T00:00:00Z' }, '/2/timestamp'],
    ['no object', 5, '/2'],
    ['null', null, '/2'],
    ['an array in an array', [{ value: 1 }], '/2'],
    ['a string', 'value', '/2'],
  ];
  for (const [what, item, pointer] of bad) {
    test(`an array with ${what} in it stores nothing and names the place`, async () => {
      const { body } = await push({ json: [good, good, item, good] }, 400);
      assert.equal(body.errors[0].pointer, pointer);
    });
  }

  test('a single datapoint without a value is refused', async () => {
    for (const json of [{}, { Value: 1 }, { timestamp: '2016-06-08T18:20:27Z' }, 5, 'x', null, true]) {
      await push({ json }, 400);
    }
    await push({}, 400);
  });

  test('a value beyond 64 KiB is 413, up to it is kept', async () => {
    const fits = 'x'.repeat(65_536 - 2);
    await push({ json: { value: fits } });
    await push({ json: [good, { value: `${fits}x` }] }, 413);
    // Characters of two bytes, and escapes, count as what is kept.
    await push({ json: { value: 'é'.repeat(32_767) } });
    await push({ json: { value: 'é'.repeat(32_768) } }, 413);
    await push({ json: { value: Array(20_000).fill('xx') } }, 413);
    const { body } = await push({ text: `${fits}x` }, 413);
    assert.match(body.detail, /^The text has 65537 bytes/);
    assert.equal((await read()).length, 2);
  });

  test('30 000 datapoints with line feeds between them fit one request, one more is 413', async () => {
    const stored = await countStored(server.folder);
    const items = Array.from({ length: 30_000 }, (_, n) => `{"value":${n}.5,"timestamp":"2016-06-08T18:20:27.873Z"}`);
    const headers = { 'content-type': 'application/json' };
    await push({ body: `[${items.join(',\n')}]`, headers });
    assert.equal(await countStored(server.folder), stored + 30_000);
    await push({ body: `[${items.join(',')},\n{"value":0}]`, headers }, 413);
    const last = await read('?lastN=1');
    assert.equal(last[0].value, 29_999.5);
    const all = await read('?limit=30000');
    assert.deepEqual(
      all.map((point: { value: number }) => point.value),
      items.map((_, n) => n + 0.5),
    );
  });

  test('a body beyond 16 MiB is 413 before it is read', async () => {
    const before = await server.rows();
    const headers = { 'content-type': 'application/json', 'content-length': String(16 * 1024 * 1024 + 1) };
    const answer = await server.call(as, 'POST', `${s}/values`, { headers, body: '[' });
    assert.equal(answer.status, 413);
    assert.equal(answer.body.type, 'urn:dundun:problem:too-large');
    assert.deepEqual(await server.rows(), before);
  });
});

test('pushes at once are all stored, in the order of each client', async () => {
  const clients = Array.from({ length: 8 }, async (_, client) => {
    for (let n = 0; n < 25; n++) {
      const { status } = await server.call(as, 'POST', `${s}/value`, { json: { value: [client, n] } });
      assert.equal(status, 204);
    }
  });
  await Promise.all(clients);
  const values: [number, number][] = (await read('?limit=1000')).map((point: { value: unknown }) => point.value);
  assert.equal(values.length, 200);
  for (let client = 0; client < 8; client++) {
    const own = values.filter(([from]) => from === client).map(([, n]) => n);
    assert.deepEqual(own, [...own.keys()]);
  }
});

test('what is being deleted takes no more datapoints, and loses none of another device', async () => {
  await make(server, {
    as,
    call: 'POST /devices',
    json: { id: `stays-${count}`, sensors: [{ id: 's' }] },
    expect: 204,
  });
  const pushes = Array.from({ length: 60 }, (_, n) => {
    if (n === 30) return server.call(as, 'DELETE', d);
    const path = n % 2 === 0 ? s : `/devices/stays-${count}/sensors/s`;
    return server.call(as, 'POST', `${path}/value`, { json: { value: n } });
  });
  const statuses = (await Promise.all(pushes)).map(({ status }) => status);
  assert.ok(
    statuses.every((status) => status === 204 || status === 404),
    String(statuses),
  );
  await makeAll(server, [
    { as, call: `GET ${s}/values`, expect: 404 },
    { as, call: `GET ${d}`, expect: 404 },
  ]);
  const { body } = await server.call(as, 'GET', `/devices/stays-${count}/sensors/s/values?limit=100`);
  assert.equal(body.length, 30);
});
