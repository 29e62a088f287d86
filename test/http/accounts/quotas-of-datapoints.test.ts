// Who is charged for datapoints (contract 1): the user who pushes them; for strangers on a public device also the
// device's allowance, which never stops its owner. Removed datapoints are no longer charged.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { runSql } from '../../support/data.ts';
import { addUsers } from '../../support/people.ts';
import { type Answer, TestServer } from '../../support/test-server.ts';

let server: TestServer;
const ids = new Map<string, string>();
const each = limits.datapointBytesCounted;

before(async () => {
  server = await TestServer.start({
    DUNDUN_GUEST_QUOTAS: `datapoint_bytes=${each * 100}B`,
    DUNDUN_STRANGER_BYTES: `${each * 50}B`,
  });
  await addUsers(server.folder, ['bounded', 'daily'], server.clock);
  for (const { id, username } of (await server.call('admin', 'GET', '/users')).body) ids.set(username, id);
});
after(() => server.stop());

async function create(as: string, id: string, more: object = {}): Promise<void> {
  const json = { id, visibility: 'public', sensors: [{ id: 's' }, { id: 't' }], ...more };
  assert.equal((await server.call(as, 'POST', '/devices', { json })).status, 204);
}
const push = (as: string, device: string, count: number, sensor = 's'): Promise<Answer> =>
  server.call(as, 'POST', `/devices/${device}/sensors/${sensor}/values`, {
    json: Array.from({ length: count }, (_, n) => ({ value: n })),
  });
async function used(as: string): Promise<number> {
  await server.running.idle();
  return (await server.call(as, 'GET', '/users/me/quota')).body.datapoint_bytes.used;
}
function assertBeyond({ status, body }: Answer, kind: string): void {
  assert.equal(status, 403, JSON.stringify(body));
  assert.equal(body.type, 'urn:dundun:problem:quota');
  assert.equal(body.quota.kind, kind);
}
const setQuota = async (who: string, json: object) => {
  assert.equal((await server.call('admin', 'PUT', `/users/${ids.get(who)}/quota`, { json })).status, 204);
};

test('strangers are stopped at the allowance of a device, by every door, and its owner and others with a right go on', async () => {
  await create('owner', 'open');
  await server.call('owner', 'PUT', '/devices/open/shares/sharer', { json: { scopes: ['device-data:create'] } });
  assert.equal((await push('guest', 'open', 30)).status, 204);
  assert.equal((await push('stranger', 'open', 30)).status, 204);
  await server.running.idle();
  for (const who of ['guest', 'stranger']) assertBeyond(await push(who, 'open', 1), 'stranger_bytes');
  const bulk = await server.call('guest', 'POST', '/datapoints', {
    json: [{ device_id: 'open', sensor_id: 's', value: 1 }],
  });
  assert.equal(bulk.body.accepted, 0, bulk.text);
  assert.match(bulk.text, /no right of their own/);
  for (const who of ['owner', 'sharer']) assert.equal((await push(who, 'open', 1)).status, 204);
  assert.deepEqual([await used('stranger'), await used('owner')], [30 * each, each]);
  // Another device has an allowance of its own.
  await create('owner', 'open-too');
  assert.equal((await push('guest', 'open-too', 1)).status, 204);
  await server.restart();
  assert.equal((await push('guest', 'open', 1)).status, 204);
  await server.running.idle();
  assertBeyond(await push('guest', 'open', 1), 'stranger_bytes');
});

test('guests together have so many, wherever they push, and what they remove is given back', async () => {
  await create('guest', 'theirs');
  const before = await used('guest');
  assert.equal((await push('guest', 'theirs', 100 - before / each)).status, 204);
  await server.running.idle();
  assertBeyond(await push('guest', 'theirs', 1), 'datapoint_bytes');
  assert.equal((await push('owner', 'open', 1)).status, 204);
  await server.running.engine.seal();
  assert.equal((await server.call('guest', 'DELETE', '/devices/theirs')).status, 204);
  assert.equal(await used('guest'), before);
});

test('a removed sensor, and datapoints that are too old, are given back by their share', async () => {
  await create('bounded', 'shares');
  await push('bounded', 'shares', 30, 's');
  await push('bounded', 'shares', 10, 't');
  await server.running.idle();
  await server.running.engine.seal();
  assert.equal(await used('bounded'), 40 * each);
  await server.call('bounded', 'DELETE', '/devices/shares/sensors/s');
  assert.equal(await used('bounded'), 10 * each);
  const [row] = await runSql(
    server.folder,
    "SELECT sensor.key FROM sensor JOIN device ON device.key = sensor.device WHERE sensor.id = 't' AND device.id = 'shares'",
  );
  await server.running.engine.series.removeBefore(Number(row?.['key']), server.clock.now() + 1);
  assert.equal(await used('bounded'), 0);
});

test('an admin bounds one user, and lets go again at once', async () => {
  await create('bounded', 'mine');
  assert.equal(await used('bounded'), 0);
  await setQuota('bounded', { datapoint_bytes: 5 * each });
  assert.equal((await push('bounded', 'mine', 5)).status, 204);
  await server.running.idle();
  assertBeyond(await push('bounded', 'mine', 1), 'datapoint_bytes');
  await setQuota('bounded', { datapoint_bytes: null });
  await server.running.idle();
  assert.equal((await push('bounded', 'mine', 1)).status, 204);
});

test('datapoints a day are bounded where an operator says so: 429 until the next day', async () => {
  await create('daily', 'each-day');
  await setQuota('daily', { datapoints_per_day: 3 });
  await push('daily', 'each-day', 3);
  await server.running.idle();
  const answer = await push('daily', 'each-day', 1);
  assert.equal(answer.status, 429, answer.text);
  assert.equal(Number(answer.headers['retry-after']), 12 * 3600);
  server.clock.advance(12 * 3_600_000);
  assert.equal((await push('daily', 'each-day', 1)).status, 204);
});

test('a push without datapoints is charged to nobody', async () => {
  await create('owner', 'empty');
  for (const key of ['first', 'second']) {
    const more = { json: [], headers: { 'idempotency-key': key } };
    assert.equal((await server.call('owner', 'POST', '/devices/empty/sensors/s/values', more)).status, 204);
  }
  await server.running.idle();
  const sql = "SELECT datapoints FROM push_charge WHERE device = (SELECT key FROM device WHERE id = 'empty')";
  const charged = async () => (await runSql(server.folder, sql)).map(({ datapoints }) => Number(datapoints));
  assert.deepEqual(await charged(), []);
  assert.equal((await push('owner', 'empty', 3)).status, 204);
  await server.running.idle();
  assert.deepEqual(await charged(), [3]);
});
