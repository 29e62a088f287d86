// A maximum size of the data (DUNDUN_DATA_MAX_BYTES): beyond it datapoints are refused over HTTP and MQTT, everything
// else works, and after a removal they are accepted again. No acknowledged datapoint is lost.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { assertProblem } from '../support/api/calls.ts';
import { RawClient } from '../support/mqtt/mqtt-raw.ts';
import { type Answer, TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

const capBytes = 70_000_000;
const valuesPerPush = 100;
/** 60 KB that cannot be compressed to less than 45. */
const large = () => randomBytes(45_000).toString('base64');

let server: TestServer;
let pushes = 0;
let refusals = 0;

before(async () => {
  server = await TestServer.start({ DUNDUN_DATA_MAX_BYTES: '70MB' });
  for (const id of ['kept', 'large']) {
    await server.call('owner', 'POST', '/devices', { json: { id, name: 'a longer name', sensors: [{ id: 's' }] } });
  }
  await server.call('owner', 'POST', '/devices/kept/sensors/s/values', { json: [{ value: 1 }, { value: 2 }] });
});
after(() => server.stop());

const push = (device: string, json: unknown): Promise<Answer> =>
  server.call('owner', 'POST', `/devices/${device}/sensors/s/values`, { json });

async function figures(): Promise<Record<string, number>> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  return Object.fromEntries(text.split('\n').map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]));
}

/** Pushes large values until they are refused for good; the refusal. */
async function fill(): Promise<Answer> {
  const many = () => Array.from({ length: valuesPerPush }, () => ({ value: large() }));
  for (;;) {
    const answer = await push('large', many());
    if (answer.status === 204) {
      pushes += 1;
      assert.ok(pushes < 100, 'nothing is refused');
      continue;
    }
    refusals += 1;
    // Where there is no room the service has the data compressed, and may find room then: it is to be over before that
    // could happen amid the test.
    await server.running.engine.seal();
    // It looks at what the data takes.
    await until(hasLooked, { everyMs: 50, msMax: 60_000 });
    if ((await status()) !== 'ok') return answer;
  }
}

/** Whether the service knows what the data takes now. */
async function hasLooked(): Promise<boolean> {
  const { usedBytes } = await server.running.engine.usage();
  return (await figures())['dundun_data_bytes'] === usedBytes;
}

const status = async () => (await server.request('guest', 'GET', '/health/ready')).body.status as string;

test('datapoints are refused with 507 beyond the cap, by every door', async () => {
  assert.equal(await status(), 'ok');
  const answer = await fill();
  assert.equal(answer.status, 507);
  assertProblem(answer, 'no room for more datapoints: the data takes');
  assert.equal(answer.body.type, 'urn:dundun:problem:full');
  assert.equal(answer.headers['retry-after'], '60');

  const bulk = await server.call('owner', 'POST', '/datapoints', {
    json: [{ device_id: 'kept', sensor_id: 's', value: 3 }],
  });
  assert.equal(bulk.status, 507);
  const older = await server.request('owner', 'POST', '/api/v1/sensors/kept/measurements/s/values', {
    json: { value: 3 },
  });
  assert.equal(older.status, 507);
  const device = await RawClient.connect(server, 'owner', { clientId: 'device' });
  device.publish({ topic: 'devices/kept/sensors/s/value', payload: '{"value":3}', messageId: 7 });
  await device.closed;
  assert.deepEqual(device.packets, []);

  assert.match(await status(), /^no room for more datapoints: the data takes/);
  const now = await figures();
  // Once it is full, it is so until it is better by that share.
  assert.ok((now['dundun_data_bytes'] ?? 0) >= capBytes * (1 - limits.storageRecoveredShare));
  assert.equal(now['dundun_data_max_bytes'], capBytes);
  assert.ok((now['dundun_disk_free_bytes'] ?? 0) > 0);
  assert.equal(now['dundun_datapoints_refused_total'], refusals * valuesPerPush + 3);
});

test('reads, sign-in, and what makes records smaller go on; nothing that was acknowledged is lost', async () => {
  const { body } = await server.call('owner', 'GET', '/devices/kept/sensors/s/values');
  assert.deepEqual(
    body.map((point: { value: number }) => point.value),
    [1, 2],
  );
  const { text } = await server.call('owner', 'GET', '/devices/large/sensors/s/values?format=ndjson');
  assert.equal(text.trim().split('\n').length, pushes * valuesPerPush);
  server.clock.advance(600_000);
  assert.equal((await server.call('owner', 'PUT', '/devices/kept/name', { text: 'Kept' })).status, 204);
});

test('records are neither made nor enlarged, by users and admins', async () => {
  const rule = { condition: { devices: ['kept'], sensors: ['s'], expression: '' } };
  for (const [method, path, json] of [
    ['POST', '/devices', { id: 'more' }],
    ['POST', '/devices/kept/sensors', { id: 'more' }],
    ['PUT', '/devices/kept/meta', { more: 'more' }],
    ['POST', '/gateways', { id: 'more' }],
    ['POST', '/projects', { name: 'more' }],
    ['POST', '/notifications', { ...rule, action: { usernames: ['owner'], channels: ['none'], message: 'm' } }],
    ['POST', '/auth/keys', { name: 'more' }],
    ['POST', '/users', { username: 'more', password: 'talking drum' }],
  ] as const) {
    for (const as of path === '/users' ? ['admin'] : ['owner', 'admin']) {
      const answer = await server.call(as, method, path, { json });
      assert.equal(answer.status, 507, `${method} ${path} as ${as}: ${answer.text}`);
      assertProblem(answer, path);
    }
  }
});

test('a restart does not lift it', async () => {
  // It may give back what the write-ahead log had taken.
  await server.restart({ DUNDUN_DATA_MAX_BYTES: '70MB' });
  assert.equal((await fill()).status, 507);
  assert.equal((await push('kept', [{ value: 4 }])).status, 507);
  assert.equal((await push('kept', [])).status, 204);
});

test('when something was removed, datapoints are taken again', async () => {
  assert.equal((await server.call('owner', 'DELETE', '/devices/large')).status, 204);
  // The storage quota is no longer reached: datapoints are accepted.
  await until(async () => (await status()) === 'ok', { everyMs: 50, msMax: 60_000 });
  assert.equal((await server.call('owner', 'POST', '/devices', { json: { id: 'more' } })).status, 204);
  assert.equal((await push('kept', [{ value: 5 }])).status, 204);
  const { body } = await server.call('owner', 'GET', '/devices/kept/sensors/s/values');
  assert.deepEqual(
    body.map((point: { value: number }) => point.value),
    [1, 2, 5],
  );
});
