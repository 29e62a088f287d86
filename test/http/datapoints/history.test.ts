// Reading datapoints over REST (contract 5): bounds, pages, the last N, order, and every parameter name that deployed
// clients use.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const path = '/devices/d/sensors/s/values';

/** Minute n of the day. */
const at = (minute: number) => new Date(Date.UTC(2026, 0, 10, 0, minute)).toISOString().replace('.000Z', 'Z');

before(async () => {
  server = await TestServer.start();
  const sensors = ['s', 'empty', 'equal', 'clockless', 'late'].map((id) => ({ id }));
  await server.call(as, 'POST', '/devices', { json: { id: 'd', sensors } });
  // Half of the datapoints have been sealed, and half are in the log.
  const points = Array.from({ length: 50 }, (_, n) => ({ value: n, timestamp: at(n) }));
  await server.call(as, 'POST', path, { json: points.slice(0, 25) });
  await server.running.engine.seal();
  await server.call(as, 'POST', path, { json: points.slice(25) });
});
after(() => server.stop());

const values = async (query: string, sensor = 's') => {
  const { body } = await make(server, { as, call: `GET /devices/d/sensors/${sensor}/values${query}`, expect: 200 });
  return body.map((point: { value: unknown }) => point.value);
};
const up = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
const down = (from: number, to: number) => up(to, from).reverse();

suite('a read', () => {
  const rows: readonly (readonly [query: string, expected: readonly number[]])[] = [
    ['', up(0, 19)],
    ['?limit=3', up(0, 2)],
    ['?limit=50', up(0, 49)],
    ['?limit=30000', up(0, 49)],
    ['?limit=5&offset=23', up(23, 27)],
    ['?offset=48', up(48, 49)],
    ['?offset=50', []],
    ['?offset=100000000', []],
    ['?sort=asc&limit=2', up(0, 1)],
    ['?sort=desc&limit=3', down(49, 47)],
    ['?sort=dsc&limit=3&offset=23', down(26, 24)],
    ['?lastN=1', [49]],
    ['?lastN=5', down(49, 45)],
    ['?lastN=30000', down(49, 0)],
    ['?lastN=5&limit=2', down(49, 48)],
    ['?lastN=5&limit=2&offset=4', [45]],
    ['?lastN=5&offset=5', []],
    ['?lastN=3&sort=asc', down(49, 47)],
    [`?dateFrom=${at(24)}&dateTo=${at(26)}`, up(24, 26)],
    [`?date_from=${at(24)}&date_to=${at(26)}`, up(24, 26)],
    [`?dateFrom=${at(45)}`, up(45, 49)],
    [`?dateTo=${at(2)}`, up(0, 2)],
    [`?dateFrom=${at(24)}&dateTo=${at(24)}`, [24]],
    [`?dateFrom=${at(26)}&dateTo=${at(24)}`, []],
    [`?dateFrom=${at(23)}&dateTo=${at(27)}&limit=2&offset=1`, up(24, 25)],
    [`?dateFrom=${at(23)}&dateTo=${at(27)}&sort=desc&limit=2&offset=1`, down(26, 25)],
    [`?dateFrom=${at(23)}&dateTo=${at(27)}&lastN=3`, down(27, 25)],
    [`?dateTo=${at(27)}&lastN=2&limit=1&offset=1`, [26]],
    ['?dateFrom=2026-01-10T00:44:59.999Z&limit=1', [45]],
    ['?dateFrom=2026-01-10T00:45:00.001Z&limit=1', [46]],
    ['?dateTo=2026-01-10T00:02:59.999Z', up(0, 2)],
    // Other ways to write the same instants; an offset's + that was not encoded arrives as a space.
    ['?dateFrom=2026-01-10T00:45:00', up(45, 49)],
    ['?dateFrom=2026-01-10T01:45:00%2B01:00', up(45, 49)],
    ['?dateFrom=2026-01-10T01:45:00+01:00', up(45, 49)],
    ['?dateFrom=2026-01-09T19:45:00-05:00', up(45, 49)],
    ['?dateFrom=2026-01-10t00:45:00.000000001z', up(45, 49)],
    ['?dateFrom=2026-01-10%2000:45:00Z', up(45, 49)],
    ['?dateFrom=0000-01-01T00:00:00Z&dateTo=9999-12-31T23:59:59.999Z&limit=2', up(0, 1)],
    ['?unknown=1&limit=1', [0]],
    ['?calibrated=false&limit=1', [0]],
  ];
  for (const [query, expected] of rows) {
    test(`${query || 'without a query'} gives ${JSON.stringify(expected).slice(0, 30)}`, async () => {
      assert.deepEqual(await values(query), expected);
    });
  }

  const bad = [
    ...['limit=0', 'limit=-1', 'limit=30001', 'limit=x', 'limit=1.5', 'limit=', 'limit=1&limit=2', 'limit=NaN'],
    ...['lastN=0', 'lastN=-1', 'lastN=30001', 'lastN=all', 'offset=-1', 'offset=x', 'offset=0.5'],
    ...['offset=1e999', 'limit=1e999&format=csv'],
    ...['dateFrom=yesterday', 'dateTo=2026-13-01T00:00:00Z', 'dateFrom=2026-01', 'dateFrom=1768478400', 'dateTo='],
    ...['date_from=x', 'date_to=10000-01-01T00:00:00Z', 'dateFrom=2026-01-10T24:00:00Z', 'dateFrom=-1'],
    ...['sort=up', 'sort=ASC', 'calibrated=perhaps', 'format=xml', 'dateFrom=2026-01-10T00:00:00Z&dateFrom=x'],
  ];
  for (const query of bad) {
    test(`?${query} is 400 and names the parameter`, async () => {
      const { body } = await make(server, { as, call: `GET ${path}?${query}`, expect: 400 });
      const name = query.split('=')[0]?.replace('date_from', 'dateFrom').replace('date_to', 'dateTo');
      assert.equal(body.errors[0].pointer, `/${name}`);
    });
  }

  test('of a sensor without datapoints is an empty list', async () => {
    assert.deepEqual(await values('', 'empty'), []);
    assert.deepEqual(await values('?lastN=5', 'empty'), []);
  });
});

suite('links', () => {
  const links = async (query: string) => {
    const { headers } = await make(server, { as, call: `GET ${path}${query}`, expect: 200 });
    const text = String(headers.link ?? '');
    assert.equal(headers['x-total-count'], undefined);
    return Object.fromEntries([...text.matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, url, rel]) => [rel, url]));
  };

  test('lead through all pages and back, whatever the query', async () => {
    for (const query of [
      '?limit=7',
      '?limit=7&sort=desc',
      `?limit=7&dateFrom=${at(3)}&dateTo=${at(40)}`,
      '?lastN=30&limit=7',
    ]) {
      const whole = await values(query.replace('limit=7', 'limit=30000'));
      const seen: unknown[] = [];
      let next: string | undefined = `${path}${query}`;
      let previous: string | undefined;
      while (next !== undefined) {
        const relative: string = next.replace('/api/v2', '').replace(path, '');
        seen.push(...(await values(relative)));
        const found: Record<string, string> = await links(relative);
        assert.equal(found['prev'] !== undefined, previous !== undefined);
        previous = next;
        next = found['next'];
      }
      assert.deepEqual(seen, whole, query);
    }
  });

  test('are absent where everything fits', async () => {
    assert.deepEqual(await links('?limit=50'), {});
    assert.deepEqual(await links('?lastN=5'), {});
    assert.deepEqual(Object.keys(await links('?limit=49')), ['next']);
    assert.deepEqual(Object.keys(await links('?limit=49&offset=1')), ['prev']);
  });
});

suite('the order', () => {
  const push = (sensor: string, json: unknown) => {
    return make(server, { as, call: `POST /devices/d/sensors/${sensor}/values`, json, expect: 204 });
  };

  test('of equal timestamps is the order of arrival, across commits and sealing', async () => {
    for (let n = 0; n < 9; n++) {
      await push('equal', { value: n, timestamp: at(7) });
      if (n === 2 || n === 5) await server.running.engine.seal();
    }
    assert.deepEqual(await values('', 'equal'), up(0, 8));
    assert.deepEqual(await values('?sort=desc', 'equal'), down(8, 0));
    assert.deepEqual(await values('?lastN=4', 'equal'), down(8, 5));
    assert.deepEqual(await values('?limit=3&offset=4', 'equal'), up(4, 6));
    await server.restart();
    assert.deepEqual(await values('', 'equal'), up(0, 8));
  });

  test('takes date_received where there is no timestamp', async () => {
    const time = (ms: number) => new Date(server.clock.now() + ms).toISOString();
    await push('clockless', { value: 'received' });
    await push('clockless', { value: 'before', timestamp: time(-1) });
    await push('clockless', { value: 'after', timestamp: time(1) });
    await push('clockless', { value: 'same', timestamp: time(0) });
    assert.deepEqual(await values('', 'clockless'), ['before', 'received', 'same', 'after']);
    assert.deepEqual(await values(`?dateFrom=${time(0)}&dateTo=${time(0)}`, 'clockless'), ['received', 'same']);
    server.clock.advance(5);
    await push('clockless', { value: 'received later' });
    assert.equal((await values('?lastN=1', 'clockless'))[0], 'received later');
  });

  test('puts late data where it was measured', async () => {
    for (const minute of [10, 20, 5, 15, 1, 30]) await push('late', { value: minute, timestamp: at(minute) });
    assert.deepEqual(await values('', 'late'), [1, 5, 10, 15, 20, 30]);
    await server.running.engine.seal();
    for (const minute of [12, 0, 40]) await push('late', { value: minute, timestamp: at(minute) });
    assert.deepEqual(await values('', 'late'), [0, 1, 5, 10, 12, 15, 20, 30, 40]);
    assert.deepEqual(await values(`?lastN=3&dateTo=${at(19)}`, 'late'), [15, 12, 10]);
  });
});
