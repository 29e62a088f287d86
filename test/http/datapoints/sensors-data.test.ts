// Several sensors in one read (contract 5): rows name their device and sensor, are in one order, and come all or not
// at all.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { make } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { properties } from '../../support/properties.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const at = (minute: number) => new Date(Date.UTC(2026, 0, 10, 0, minute)).toISOString().replace('.000Z', 'Z');

/** Datapoints in order of arrival: device, sensor, minute, value. */
const pushes = [
  ['a', 'x', 1, 'a-x-1'],
  ['b', 'x', 1, 'b-x-1'],
  ['a', 'y', 0, 'a-y-0'],
  ['a', 'y', 3, 'a-y-3'],
  ['b', 'x', 2, 'b-x-2'],
  ['b', 'z', 9, 'b-z-9'],
  ['a', 'x', 3, 'a-x-3'],
  ['b', 'x', 3, 'b-x-3'],
] as const;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, sharers, server.clock);
  await server.call(as, 'POST', '/devices', { json: { id: 'a', sensors: [{ id: 'x' }, { id: 'y' }] } });
  await server.call(as, 'POST', '/devices', { json: { id: 'b', sensors: [{ id: 'x' }, { id: 'z' }] } });
  await server.call(as, 'POST', '/devices', { json: { id: 'public', visibility: 'public', sensors: [{ id: 'x' }] } });
  await server.call(as, 'POST', '/devices', { json: { id: 'bare' } });
  await server.call(as, 'POST', '/devices', { json: { id: 'shared', sensors: [{ id: 'x' }] } });
  await shareWithAll(server, 'shared');
  for (const [device, sensor, minute, value] of pushes) {
    const json = { value, timestamp: at(minute) };
    server.clock.advance(1);
    await server.call(as, 'POST', `/devices/${device}/sensors/${sensor}/values`, { json });
    if (value === 'a-y-3') await server.running.engine.seal();
  }
});
after(() => server.stop());

const read = async (query: string) =>
  (await make(server, { as, call: `GET /sensors_data?${query}`, expect: 200 })).body as {
    readonly device_id: string;
    readonly sensor_id: string;
    readonly value: string;
  }[];

test('names ids that have commas, and what is written instead of them, whoever encodes the commas between ids', async () => {
  const sensors = ['p,q', 'p%2Cq', 'p%252cq', 'p%q'];
  await server.call(as, 'POST', '/devices', { json: { id: 'r,s', sensors: sensors.map((id) => ({ id })) } });
  for (const id of sensors) {
    await server.call(as, 'POST', `/devices/r,s/sensors/${encodeURIComponent(id)}/values`, { json: { value: id } });
  }
  const named = ['p%2Cq', 'p%252Cq', 'p%25252cq', 'p%q'];
  for (const [n, list] of [...named, named.join(',')].entries()) {
    const rows = await read(`device_id=r%252Cs&sensor_id=${encodeURIComponent(list)}`);
    assert.deepEqual(
      rows.map(({ device_id, value }) => [device_id, value]),
      sensors
        .filter((_, m) => n === m || n === named.length)
        .toSorted()
        .map((id) => ['r,s', id]),
    );
  }
});

suite('a read of several sensors', () => {
  const all = ['a-y-0', 'a-x-1', 'b-x-1', 'b-x-2', 'a-y-3', 'a-x-3', 'b-x-3', 'b-z-9'];
  const rows: readonly (readonly [query: string, expected: readonly string[]])[] = [
    ['device_id=a,b', all],
    ['device_id=b,a', all],
    ['device_id=a,b&sort=desc', all.toReversed()],
    ['device_id=a,b&sensor_id=x,y,z', all],
    ['device_id=a,b&sensor_id=x', ['a-x-1', 'b-x-1', 'b-x-2', 'a-x-3', 'b-x-3']],
    ['device_id=a,b,a&sensor_id=x,x', ['a-x-1', 'b-x-1', 'b-x-2', 'a-x-3', 'b-x-3']],
    ['device_id=a,b&sensor_id=z', ['b-z-9']],
    ['device_id=a&sensor_id=y', ['a-y-0', 'a-y-3']],
    ['device_id=a,b&lastN=1', ['b-z-9', 'b-x-3', 'a-x-3', 'a-y-3']],
    ['device_id=a,b&lastN=1&limit=2&offset=1', ['b-x-3', 'a-x-3']],
    ['device_id=a,b&lastN=2&sensor_id=x', ['b-x-3', 'a-x-3', 'b-x-2', 'a-x-1']],
    [`device_id=a,b&lastN=1&dateTo=${at(2)}`, ['b-x-2', 'a-x-1', 'a-y-0']],
    ['device_id=a,b&limit=3&offset=2', ['b-x-1', 'b-x-2', 'a-y-3']],
    [`device_id=a,b&dateFrom=${at(2)}&dateTo=${at(3)}`, ['b-x-2', 'a-y-3', 'a-x-3', 'b-x-3']],
    [`device_id=a,b&date_from=${at(2)}&date_to=${at(3)}&sort=dsc&limit=1`, ['b-x-3']],
    ['device_id=a,b&calibrated=false&limit=1', ['a-y-0']],
    ['device_id=bare', []],
    ['device_id=a,bare&limit=1', ['a-y-0']],
  ];
  for (const [query, expected] of rows) {
    test(`with ${query} gives ${expected.length} rows in order`, async () => {
      const found = await read(query);
      assert.deepEqual(
        found.map(({ value }) => value),
        expected,
      );
      for (const row of found) assert.ok(row.value.startsWith(`${row.device_id}-${row.sensor_id}-`));
    });
  }

  test('is the same as CSV and NDJSON', async () => {
    const json = await read('device_id=a,b&limit=100');
    const csv = await make(server, { as, call: 'GET /sensors_data?device_id=a,b&format=csv', expect: 200 });
    const [header, ...lines] = csv.text.trimEnd().split('\r\n');
    assert.equal(header, 'device_id,sensor_id,timestamp,date_received,value');
    assert.match(lines[0] ?? '', /^a,y,2026-01-10T00:00:00Z,2026-01-15T12:00:00\.\d{3}Z,a-y-0$/);
    assert.equal(lines.length, json.length);
    const ndjson = await make(server, { as, call: 'GET /sensors_data?device_id=a,b&format=ndjson', expect: 200 });
    const parsed = ndjson.text.trimEnd().split('\n').map((line) => JSON.parse(line)); // biome-ignore format: one line
    assert.deepEqual(parsed, json);
  });

  test('has links to the pages around it', async () => {
    const { headers } = await make(server, {
      as,
      call: 'GET /sensors_data?device_id=a,b&limit=2&offset=2',
      expect: 200,
    });
    assert.match(String(headers.link), /limit=2&offset=4>; rel="next", .*limit=2&offset=0>; rel="prev"/);
  });
});

suite('one request', () => {
  const rows: readonly (readonly [query: string, status: number, names: RegExp])[] = [
    ['device_id=a,nowhere', 404, /nowhere/],
    ['device_id=a,b&sensor_id=x,none', 404, /none/],
    ['device_id=a&sensor_id=z', 404, /Device a has no sensor z/],
    ['sensor_id=x', 400, /device_id/],
    ['device_id=', 400, /device_id/],
    ['device_id=a,', 400, /device_id/],
    ['device_id=a&sensor_id=', 400, /sensor_id/],
    ['device_id=a&device_id=b', 400, /device_id/],
    ['device_id=a%20b', 400, /device_id/],
    ['device_id=a&limit=0', 400, /limit/],
    ['device_id=a&lastN=30001', 400, /lastN/],
    [`device_id=${Array.from({ length: 1001 }, (_, n) => `d${n}`).join(',')}`, 400, /1000 sensors/],
  ];
  for (const [query, status, names] of rows) {
    test(`with ${query.slice(0, 40)} is ${status}`, async () => {
      const { body } = await make(server, { as, call: `GET /sensors_data?${query}`, expect: status });
      assert.match(JSON.stringify(body), names);
    });
  }

  for (const who of everybody) {
    const reads = ['reader', 'owner', 'admin'].includes(who);
    test(`by ${who} is ${reads ? 200 : 403}, whatever else of it is readable`, async () => {
      for (const ids of ['shared', 'public,shared', 'shared,public']) {
        for (const format of ['json', 'csv']) {
          const call = `GET /sensors_data?device_id=${ids}&format=${format}`;
          const { text } = await make(server, { as: who, call, expect: reads ? 200 : 403 });
          if (!reads) assert.doesNotMatch(text, /timestamp,|device_id/);
        }
      }
      await make(server, { as: who, call: 'GET /sensors_data?device_id=public', expect: 200 });
      const others = ['owner', 'admin'].includes(who) ? 200 : 403;
      await make(server, { as: who, call: 'GET /sensors_data?device_id=public,a', expect: others });
    });
  }
});

test('a merge is what sorting all rows would give, whatever the pages', async () => {
  const sensors = ['p', 'q', 'r'];
  let made = 0;
  const rows = fc.array(fc.tuple(fc.constantFrom(...sensors), fc.integer({ min: 0, max: 5 })), { maxLength: 30 });
  const page = fc.record({ limit: fc.integer({ min: 1, max: 40 }), offset: fc.nat(10), descending: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(rows, page, async (pushed, { limit, offset, descending }) => {
      made += 1;
      const id = `merge-${made}`;
      await server.call(as, 'POST', '/devices', { json: { id, sensors: sensors.map((name) => ({ id: name })) } });
      for (const [n, [sensor, minute]] of pushed.entries()) {
        const json = { value: n, timestamp: at(minute) };
        server.clock.advance(1);
        await server.call(as, 'POST', `/devices/${id}/sensors/${sensor}/values`, { json });
      }
      const expected = pushed.map(([, minute], n) => [minute, n] as const).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      if (descending) expected.reverse();
      const query = `device_id=${id}&limit=${limit}&offset=${offset}&sort=${descending ? 'desc' : 'asc'}`;
      assert.deepEqual(
        (await server.call(as, 'GET', `/sensors_data?${query}`)).body.map((row: { value: number }) => row.value),
        expected.slice(offset, offset + limit).map(([, n]) => n),
      );
    }),
    properties({ factor: 0.1 }),
  );
});

suite('a thousand sensors', () => {
  before(async () => {
    const sensors = Array.from({ length: 1001 }, (_, n) => ({ id: `s${n}` }));
    await server.call(as, 'POST', '/devices', { json: { id: 'wide', sensors: sensors.slice(0, 1000) } });
    await server.call(as, 'POST', '/devices', { json: { id: 'too-wide', sensors } });
    for (const { id } of sensors.slice(0, 1000)) {
      const json = [{ value: 1, timestamp: at(1) }, { value: id, timestamp: at(2) }]; // biome-ignore format: one line
      await server.call(as, 'POST', `/devices/wide/sensors/${id}/values`, { json });
    }
  });

  test('give their newest datapoints in one call', async () => {
    const found = await read('device_id=wide&lastN=1');
    assert.equal(found.length, 1000);
    assert.ok(found.every((row) => row.value === row.sensor_id));
  });

  test('and one more are refused', async () => {
    await make(server, { as, call: 'GET /sensors_data?device_id=too-wide', expect: 400 });
    await make(server, { as, call: 'GET /sensors_data?device_id=too-wide&sensor_id=s0', expect: 200 });
    await make(server, { as, call: 'GET /sensors_data?device_id=wide,b', expect: 400 });
  });
});

test('large values are streamed as well as small ones', async () => {
  await server.call(as, 'POST', '/devices', { json: { id: 'large', sensors: [{ id: 's' }] } });
  const path = '/devices/large/sensors/s/values';
  const big = 'x'.repeat(60_000);
  for (let n = 0; n < 3; n++) {
    const json = Array.from({ length: 50 }, (_, i) => ({ value: `${n * 50 + i} ${big}`, timestamp: at(n * 50 + i) }));
    await server.call(as, 'POST', path, { json });
  }
  const { body, headers } = await server.call(as, 'GET', `${path}?limit=149`);
  assert.deepEqual(
    body.map(({ value }: { value: string }) => Number.parseInt(value, 10)),
    Array.from({ length: 149 }, (_, n) => n),
  );
  assert.match(String(headers.link), /rel="next"/);
  assert.equal((await server.call(as, 'GET', `${path}?limit=150`)).headers.link, undefined);
  assert.equal((await server.call(as, 'HEAD', `${path}?limit=150`)).bytes.length, 0);
});
