// Where devices are, for maps: only what a map shows, of the devices that the caller may view, and when one was heard only
// for who may view its values; bounds, filters, and what the answer weighs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';

interface Position {
  readonly id: string;
  readonly name?: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly heard?: string;
  readonly usual_interval?: number;
}

before(async () => {
  server = await TestServer.start();
  const sensors = [{ id: 'TC' }, { id: 'RH' }];
  const at = (latitude: number, longitude = -16.490_123_456) => ({ latitude, longitude });
  const create = (json: object, who = as) => ({ as: who, call: 'POST /devices', json, expect: 204 });
  const push = (device: string, sensor: string, json: object) => ({
    ...{ as, call: `POST /devices/${device}/sensors/${sensor}/values`, json, expect: 204 },
  });
  await makeAll(server, [
    create({ id: 'private', name: 'Field', domain: 'farm', sensors, location: at(16), meta: { secret: 'buried key' } }),
    create({ id: 'public', name: 'public', visibility: 'public', sensors, location: at(17) }),
    create({ id: 'seen', sensors, location: at(18) }),
    create({ id: 'nowhere', sensors }),
    create({ id: 'foreign', location: at(19) }, 'stranger'),
    push('private', 'TC', { value: 1, timestamp: '2026-01-01T00:00:00Z' }),
    push('private', 'RH', { value: 1, timestamp: '2026-01-02T00:00:00Z' }),
    push('public', 'TC', { value: 1, timestamp: '2031-01-01T00:00:00Z' }),
    push('seen', 'TC', { value: 1, timestamp: '2026-01-03T00:00:00Z' }),
    { as, call: 'PUT /devices/seen/shares/sharer', json: { scopes: ['device:view'] }, expect: 204 },
  ]);
});
after(() => server.stop());

async function positions(query = '', who = as) {
  const { body, headers, text } = await make(server, { as: who, call: `GET /device_positions${query}`, expect: 200 });
  return { rows: body as Position[], total: headers['x-total-count'], text };
}

test('each caller gets the devices that they may view, and when these were heard only with their values', async () => {
  const rows: readonly (readonly [who: string, said: string])[] = [
    ['guest', 'public*'],
    ['sharer', 'public* seen'],
    ['stranger', 'public* foreign'],
    ['owner', 'private* public* seen*'],
    ['admin', 'private* public* seen* foreign'],
  ];
  for (const [who, expected] of rows) {
    const { rows: found, total } = await positions('', who);
    const said = found.map(({ id, heard }) => `${id}${heard === undefined ? '' : '*'}`);
    assert.equal(said.join(' '), expected, who);
    assert.equal(Number(total), said.length, who);
  }
});

test('a position is an id, a name that is not the id, two numbers and when the device was last heard', async () => {
  const { rows, text } = await positions();
  assert.deepEqual(rows[0], {
    ...{ id: 'private', name: 'Field', latitude: 16, longitude: -16.490_123 },
    // When it was received, however long before it was measured.
    heard: new Date(server.clock.now()).toISOString(),
  });
  // Dated later: the same.
  assert.deepEqual(rows[1]?.heard?.slice(0, 4), '2026');
  assert.equal('name' in (rows[1] ?? {}), false);
  assert.doesNotMatch(text, /buried key|farm|sensors/);
});

test('positions are filtered, searched and paged as the list of devices is, within bounds', async () => {
  assert.deepEqual(
    (await positions('?q=domain==farm')).rows.map(({ id }) => id),
    ['private'],
  );
  assert.deepEqual(
    (await positions('?search=FIEL')).rows.map(({ id }) => id),
    ['private'],
  );
  assert.deepEqual(
    (await positions('?shared=true', 'sharer')).rows.map(({ id }) => id),
    ['seen'],
  );
  const page = await positions('?limit=1&offset=1');
  assert.deepEqual([page.rows.map(({ id }) => id), page.total], [['public'], '3']);
  for (const query of ['limit=0', `limit=${limits.devicePositionsMax + 1}`, 'q=domain', 'search=', 'offset=-1']) {
    await make(server, { as, call: `GET /device_positions?${query}`, expect: 400 });
  }
});

test('two thousand positions are less than 60 kB on their way', async () => {
  await makeAll(
    server,
    Array.from({ length: 2_000 }, (_, n) => ({
      ...{ as: 'admin', call: 'POST /devices', expect: 204 },
      json: { id: `station-${n}`, name: `Station ${n}`, location: { latitude: 10 + n / 331, longitude: n / 97 } },
    })),
  );
  const { text, rows } = await positions('?search=station', 'admin');
  assert.equal(rows.length, 2_000);
  const bytes = gzipSync(text, { level: 3 }).length;
  assert.ok(bytes < 60_000, String(bytes));
});

test('a position says how often its device is usually heard, by its rarest sensor, to who may view its values', async () => {
  const sensors = [{ id: 'often' }, { id: 'rare' }, { id: 'never' }];
  const json = { id: 'usual', sensors, location: { latitude: 20, longitude: 3 } };
  await make(server, { as, call: 'POST /devices', json, expect: 204 });
  const scopes = ['device:view'];
  await make(server, { as, call: 'PUT /devices/usual/shares/sharer', json: { scopes }, expect: 204 });
  const usual = async (who: string) => (await positions('?q=id==usual', who)).rows[0]?.usual_interval;
  assert.equal(await usual(as), undefined);
  for (let n = 0; n < 12; n++) {
    const push = (sensor: string) =>
      make(server, { as, call: `POST /devices/usual/sensors/${sensor}/values`, json: { value: n }, expect: 204 });
    await push('often');
    if (n % 2 === 0) await push('rare');
    await server.running.idle();
    server.clock.advance(1_800_000);
  }
  assert.equal(await usual(as), 3_600);
  assert.equal(await usual('sharer'), undefined);
});
