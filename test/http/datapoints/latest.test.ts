// The latest value of many sensors in one answer: as last_value says, by the permissions of each device, paged, JSON and CSV.
import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { after, before, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const linear = { enabled: true, value_min: { sensor_value: 0, real_value: 100 }, value_max: { sensor_value: 10, real_value: 200 } }; // biome-ignore format: one line

before(async () => {
  server = await TestServer.start();
  const sensors = [{ id: 'TC', calib: { linear } }, { id: 'RH' }, { id: 'empty' }];
  const push = (device: string, sensor: string, value: unknown, who = as) => ({
    ...{ as: who, call: `POST /devices/${device}/sensors/${sensor}/values`, json: { value }, expect: 204 },
  });
  await makeAll(server, [
    { as, call: 'POST /devices', json: { id: 'a', domain: 'farm', sensors }, expect: 204 },
    { as, call: 'POST /devices', json: { id: 'b', domain: 'farm', visibility: 'public', sensors }, expect: 204 },
    { as, call: 'POST /devices', json: { id: 'c', domain: 'city', sensors }, expect: 204 },
    { as: 'stranger', call: 'POST /devices', json: { id: 'foreign', sensors }, expect: 204 },
    push('a', 'TC', 1),
    push('a', 'TC', 5),
    push('a', 'RH', 'x,"y"'),
    push('b', 'TC', 2),
    push('c', 'RH', { deep: [1] }),
    push('foreign', 'TC', 9, 'stranger'),
    { as, call: 'PUT /devices/a/shares/sharer', json: { scopes: ['device:view'] }, expect: 204 },
    { as, call: 'PUT /devices/c/shares/sharer', json: { scopes: ['device:view', 'device-data:view'] }, expect: 204 },
  ]);
  const late = { value: 0, timestamp: '2001-01-01T00:00:00Z' };
  await make(server, { as, call: 'POST /devices/b/sensors/RH/values', json: late, expect: 204 });
});
after(() => server.stop());

async function latest(query: string, who = as) {
  const { body, headers } = await make(server, { as: who, call: `GET /latest${query}`, expect: 200 });
  const rows = body as { device_id: string; sensor_id: string; value: unknown }[];
  return { rows, headers, text: rows.map(({ device_id, sensor_id, value }) => `${device_id}/${sensor_id}=${JSON.stringify(value)}`) }; // biome-ignore format: one line
}

test('each row is the last value of its sensor, calibrated', async () => {
  const { rows, text } = await latest('?device_id=c,a,b');
  assert.deepEqual(text, ['c/RH={"deep":[1]}', 'a/TC=150', 'a/RH="x,\\"y\\""', 'b/TC=120', 'b/RH=0']);
  for (const { device_id, sensor_id, ...row } of rows) {
    const { body } = await server.call(as, 'GET', `/devices/${device_id}/sensors/${sensor_id}`);
    assert.deepEqual(row, body.last_value);
  }
});

test('each caller gets the values that they may view, of devices that there are', async () => {
  const ask = '?device_id=a,b,c,foreign,unknown';
  const rows: readonly (readonly [who: string, devices: string])[] = [
    ['guest', 'b b'],
    ['sharer', 'b b c'],
    ['stranger', 'b b foreign'],
    ['owner', 'a a b b c'],
    ['admin', 'a a b b c foreign'],
  ];
  for (const [who, devices] of rows) {
    for (const query of [ask, '', '?q=domain!=none']) {
      const found = (await latest(query, who)).rows.map(({ device_id }) => device_id);
      assert.equal(found.join(' '), devices, `${who} ${query}`);
    }
  }
});

test('by filter, by sensor, and page by page', async () => {
  assert.deepEqual((await latest('?q=domain==farm&sensor_id=TC')).text, ['a/TC=150', 'b/TC=120']);
  assert.deepEqual((await latest('?device_id=a&sensor_id=empty,none')).text, []);
  const { text, headers } = await latest('?q=domain==farm&limit=1&offset=1');
  assert.deepEqual(text, ['b/TC=120', 'b/RH=0']);
  assert.equal(headers['x-total-count'], '2');
  assert.match(String(headers.link), /offset=0>; rel="prev"/);
  const named = await latest('?device_id=a,b,c&limit=2');
  assert.deepEqual(named.rows.map(({ device_id }) => device_id), ['a', 'a', 'b', 'b']); // biome-ignore format: one line
  assert.match(String(named.headers.link), /limit=2&offset=2>; rel="next"/);
});

test('as CSV, by format and by Accept', async () => {
  const { text, headers } = await make(server, { as, call: 'GET /latest?device_id=a,b&format=csv', expect: 200 });
  assert.match(String(headers['content-type']), /^text\/csv/);
  const lines = text.split('\r\n');
  assert.equal(lines[0], 'device_id,sensor_id,timestamp,date_received,value');
  assert.match(lines[2] ?? '', /^a,RH,,2026-[^,]+Z,"x,""y"""$/);
  assert.match(lines[4] ?? '', /^b,RH,2001-01-01T00:00:00Z,/);
  const accepted = await server.call(as, 'GET', '/latest?device_id=a,b', { headers: { accept: 'text/csv' } });
  assert.equal(accepted.text, text);
});

test('what is asked for in a wrong way is refused', async () => {
  for (const query of [
    '?device_id=',
    '?device_id=a%20b',
    '?device_id=a&q=id==a',
    '?q=nothing==1',
    '?limit=0',
    '?limit=1001',
    '?offset=-1',
    '?format=parquet',
    '?sensor_id=%20',
  ]) {
    // biome-ignore format: one line
    await make(server, { as, call: `GET /latest${query}`, expect: 400 });
  }
});

test('of thousands of devices it does not hold the event loop', { timeout: 120_000 }, async () => {
  const sensors = Array.from({ length: 10 }, (_, n) => ({ id: `s${n}` }));
  const ids = Array.from({ length: 1000 }, (_, n) => `many-${n}`);
  for (let from = 0; from < ids.length; from += 50) {
    await Promise.all(
      ids.slice(from, from + 50).map(async (id) => {
        await server.call('sharer', 'POST', '/devices', { json: { id, domain: 'many', sensors } });
        await server.call('sharer', 'POST', `/devices/${id}/sensors/s0/values`, { json: { value: 1 } });
      }),
    );
  }
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const { rows } = await latest('?q=domain==many', 'sharer');
  delay.disable();
  assert.equal(rows.length, 1000);
  // The client of this test parses the answer in the same process; the device list is held to no less.
  assert.ok(delay.max / 1e6 < 500, `${delay.max / 1e6} ms`);
});
