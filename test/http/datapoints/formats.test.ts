// Datapoints as CSV and NDJSON (contract 5): how they are asked for, what a line holds, and reads without an end.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const path = '/devices/d/sensors/s/values';
const received = '2026-01-15T12:00:00Z';

const values = [
  21.5,
  -1,
  1e21,
  5e-324,
  true,
  null,
  'plain',
  '',
  'comma, "quote"',
  'two\r\nlines',
  'naïve 場',
  '42',
  'null',
  [1, 'a'],
  { latitude: 46.5, longitude: -7 },
  [],
];

/** The same, as RFC 4180 fields. */
const fields = [
  '21.5',
  '-1',
  '1e+21',
  '5e-324',
  'true',
  '',
  'plain',
  '',
  '"comma, ""quote"""',
  '"two\r\nlines"',
  'naïve 場',
  '42',
  'null',
  '"[1,""a""]"',
  '"{""latitude"":46.5,""longitude"":-7}"',
  '[]',
];

before(async () => {
  server = await TestServer.start();
  const sensors = ['s', 'empty', 'many', 'clockless'].map((id) => ({ id }));
  await server.call(as, 'POST', '/devices', { json: { id: 'd', sensors } });
  const points = values.map((value, n) => ({ value, timestamp: `2026-01-10T00:00:${String(n + 10)}Z` }));
  await server.call(as, 'POST', path, { json: points });
  await server.call(as, 'POST', '/devices/d/sensors/clockless/value', { json: { value: 1 } });
});
after(() => server.stop());

const get = (query: string, accept?: string, sensor = 's') => {
  const headers = accept === undefined ? {} : { accept };
  return make(server, { as, call: `GET /devices/d/sensors/${sensor}/values${query}`, headers, expect: 200 });
};

const types = {
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson; charset=utf-8',
};

suite('the format', () => {
  const rows: readonly (readonly [query: string, accept: string | undefined, format: keyof typeof types])[] = [
    ['', undefined, 'json'],
    ['', '*/*', 'json'],
    ['', 'application/json', 'json'],
    ['', 'text/html', 'json'],
    ['', 'text/csv', 'csv'],
    ['', 'text/csv, application/json;q=0.5', 'csv'],
    ['', 'text/csv;q=0.5, application/json', 'json'],
    ['', 'text/*', 'csv'],
    ['', 'application/x-ndjson', 'ndjson'],
    ['', 'application/x-ndjson, application/json;q=0.9', 'ndjson'],
    ['?format=csv', undefined, 'csv'],
    ['?format=csv', 'application/json', 'csv'],
    ['?format=ndjson', 'text/csv', 'ndjson'],
    ['?format=json', 'text/csv', 'json'],
  ];
  for (const [query, accept, format] of rows) {
    test(`is ${format} for ${query || 'no format'} and Accept ${accept}`, async () => {
      const { headers } = await get(query, accept);
      assert.equal(headers['content-type'], types[format]);
    });
  }
});

suite('CSV', () => {
  test('has a header line, CRLF, and compound values as JSON', async () => {
    const { text } = await get('?format=csv');
    const lines = fields.map((field, n) => `2026-01-10T00:00:${n + 10}Z,${received},${field}\r\n`);
    assert.equal(text, `timestamp,date_received,value\r\n${lines.join('')}`);
  });

  test('leaves the timestamp empty where there is none', async () => {
    const { text } = await get('?format=csv', undefined, 'clockless');
    assert.equal(text, `timestamp,date_received,value\r\n,${received},1\r\n`);
  });

  test('of nothing is the header line', async () => {
    const { text } = await get('?format=csv', undefined, 'empty');
    assert.equal(text, 'timestamp,date_received,value\r\n');
  });
});

suite('NDJSON', () => {
  test('has the object of the JSON list on each line', async () => {
    const { text } = await get('?format=ndjson');
    const { body } = await get('');
    assert.ok(text.endsWith('\n'));
    assert.deepEqual(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
      body,
    );
  });

  test('of nothing is nothing', async () => {
    const { text } = await get('?format=ndjson', undefined, 'empty');
    assert.equal(text, '');
  });
});

suite('CSV and NDJSON', () => {
  const rows = 31_000;
  before(async () => {
    for (let from = 0; from < rows; from += 15_500) {
      const points = Array.from({ length: 15_500 }, (_, n) => ({
        value: from + n,
        timestamp: new Date(Date.UTC(2020, 0, 1) + (from + n) * 1000).toISOString(),
      }));
      await server.call(as, 'POST', '/devices/d/sensors/many/values', { json: points });
      if (from === 0) await server.running.engine.seal();
    }
  });

  const lines = async (query: string) => {
    const { text } = await get(`?format=ndjson${query}`, undefined, 'many');
    const csv = await get(`?format=csv${query}`, undefined, 'many');
    const values = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).value as number);
    assert.equal(csv.text.split('\r\n').length, values.length + 2);
    return values;
  };

  test('are the whole range without a limit', async () => {
    const values = await lines('');
    assert.equal(values.length, rows);
    assert.ok(values.every((value, n) => value === n));
  });

  test('take a limit beyond that of JSON, an offset, bounds, an order and lastN', async () => {
    assert.equal((await lines('&limit=30500')).length, 30_500);
    assert.deepEqual(await lines('&limit=2&offset=30000'), [30_000, 30_001]);
    assert.deepEqual(await lines('&offset=30998'), [30_998, 30_999]);
    assert.deepEqual(await lines('&lastN=2'), [30_999, 30_998]);
    assert.equal((await lines('&sort=desc'))[0], rows - 1);
    assert.deepEqual(await lines('&dateFrom=2020-01-01T00:00:05Z&dateTo=2020-01-01T00:00:06Z'), [5, 6]);
  });

  test('stop when the reader goes away, and the service goes on', async () => {
    const token = await server.token(as);
    const url = `${server.url}/api/v2/devices/d/sensors/many/values?format=csv`;
    for (let n = 0; n < 5; n++) {
      const abort = new AbortController();
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: abort.signal });
      const reader = answer.body?.getReader();
      await reader?.read();
      abort.abort();
    }
    await get('?limit=1');
  });
});

test('refusals of a stream are problems like any other', async () => {
  for (const format of ['csv', 'ndjson']) {
    await make(server, { as: 'stranger', call: `GET ${path}?format=${format}`, expect: 403 });
    await make(server, { as, call: `GET /devices/d/sensors/none/values?format=${format}`, expect: 404 });
    await make(server, { as, call: `GET ${path}?format=${format}&limit=0`, expect: 400 });
    await make(server, {
      as,
      call: `GET ${path}?format=${format}&dateFrom=x`,
      headers: { accept: 'text/csv' },
      expect: 400,
    });
  }
});
