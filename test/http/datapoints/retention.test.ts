// Datapoints are removed when they are older than the retention of their sensor, device or the service (contract 10),
// and no others.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { findingsIn } from '../../support/data.ts';
import { TestServer } from '../../support/test-server.ts';

const dayMs = 24 * 3_600_000;
let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

/** Makes a device whose sensors have a datapoint for each of the last hundred days, the oldest first. */
async function makeFilled(id: string, fields: object, sensors: Readonly<Record<string, object>>): Promise<void> {
  const parts = Object.entries(sensors).map(([sensor, more]) => ({ id: sensor, ...more }));
  const made = await server.call('owner', 'POST', '/devices', { json: { id, ...fields, sensors: parts } });
  assert.equal(made.status, 204);
  for (const sensor of Object.keys(sensors)) await push(id, sensor, 99, 0);
}

/** Pushes a value for each day, from so many days ago to so many; each value is the age in days then. */
async function push(device: string, sensor: string, from: number, to: number): Promise<void> {
  const nowMs = server.clock.now();
  const json = Array.from({ length: from - to + 1 }, (_, i) => ({
    value: from - i,
    timestamp: new Date(nowMs - (from - i) * dayMs).toISOString(),
  }));
  const { status } = await server.call('owner', 'POST', `/devices/${device}/sensors/${sensor}/values`, { json });
  assert.equal(status, 204);
}

async function count(device: string, sensor: string): Promise<number> {
  const { text } = await server.call('owner', 'GET', `/devices/${device}/sensors/${sensor}/values?format=ndjson`);
  return text.split('\n').filter((line) => line !== '').length;
}

/** Lets the next round come, with all that has been pushed sealed. */
async function round(): Promise<void> {
  await server.running.engine.seal();
  server.clock.advance(3_600_000);
  await server.running.idle();
}

const put = (path: string, json: unknown) => server.call('owner', 'PUT', path, { json });

test('what a sensor says comes before what its device says, and 0 is for ever', async () => {
  await makeFilled(
    'd',
    { retention_days: 30 },
    { own: { retention_days: 7 }, device: {}, ever: { retention_days: 0 } },
  );
  await makeFilled('unset', {}, { s: {} });
  await round();
  assert.deepEqual(
    [await count('d', 'own'), await count('d', 'device'), await count('d', 'ever'), await count('unset', 's')],
    [7, 30, 100, 100],
  );
  const { body } = await server.call('owner', 'GET', '/devices/d');
  assert.deepEqual(
    [body.retention_days, ...body.sensors.map((sensor: { retention_days?: number }) => sensor.retention_days)],
    [30, 7, undefined, 0],
  );
});

test('the oldest go, day by day, and the last value stays when all have gone', async () => {
  const path = '/devices/d/sensors/own';
  const { body } = await server.call('owner', 'GET', `${path}/values`);
  assert.deepEqual(
    body.map((point: { value: number }) => point.value),
    [6, 5, 4, 3, 2, 1, 0],
  );
  server.clock.advance(3 * dayMs);
  await round();
  assert.equal(await count('d', 'own'), 4);
  server.clock.advance(30 * dayMs);
  await round();
  assert.deepEqual([await count('d', 'own'), await count('d', 'device')], [0, 0]);
  assert.equal((await server.call('owner', 'GET', path)).body.last_value.value, 0);
  assert.deepEqual((await server.call('owner', 'GET', `${path}/values?lastN=1`)).body, []);
});

test('data that is too old when it comes is taken in and goes in the next round', async () => {
  await push('d', 'own', 20, 6);
  assert.equal(await count('d', 'own'), 15);
  await round();
  assert.equal(await count('d', 'own'), 1);
});

test('a change counts from the next round on: longer brings nothing back, none keeps', async () => {
  await makeFilled('changed', { retention_days: 50 }, { s: {} });
  await round();
  assert.equal(await count('changed', 's'), 50);
  assert.equal((await put('/devices/changed/retention_days', 80)).status, 204);
  await round();
  assert.equal(await count('changed', 's'), 50);
  assert.equal((await put('/devices/changed/sensors/s/retention_days', 10)).status, 204);
  await round();
  assert.equal(await count('changed', 's'), 10);
  for (const path of ['/devices/changed/sensors/s/retention_days', '/devices/changed/retention_days']) {
    assert.equal((await put(path, null)).status, 204);
  }
  server.clock.advance(20 * dayMs);
  await round();
  assert.equal(await count('changed', 's'), 10);
});

test('a sensor that is described anew keeps its retention', async () => {
  await makeFilled('anew', {}, { s: { retention_days: 5 } });
  await server.call('owner', 'POST', '/devices/anew/sensors', { json: { id: 's', name: 'Described anew' } });
  const { body } = await server.call('owner', 'GET', '/devices/anew/sensors/s');
  assert.deepEqual([body.name, body.retention_days], ['Described anew', 5]);
});

test('devices are found by it', async () => {
  const ids = async (q: string) =>
    (await server.call('owner', 'GET', `/devices?q=${encodeURIComponent(q)}`)).body.map(({ id }: { id: string }) => id);
  assert.deepEqual(await ids('retention_days==30'), ['d']);
  assert.deepEqual(await ids('retention_days>=10'), ['d']);
  assert.deepEqual(await ids('sensors.retention_days==5'), ['anew']);
});

test('version 1 neither shows nor takes it', async () => {
  const v1 = (method: string, path: string, json?: object) =>
    server.request('owner', method, `/api/v1${path}`, json === undefined ? {} : { json });
  const { body } = await v1('GET', '/sensors/d');
  assert.equal(JSON.stringify(body).includes('retention'), false);
  assert.equal((await v1('PUT', '/sensors/d/retention_days', {})).status, 404);
  const measurements = [{ id: 'm', retention_days: 1 }];
  assert.equal((await v1('POST', '/sensors', { id: 'old', retention_days: 1, measurements })).status, 200);
  assert.equal((await v1('POST', '/sensors/old/measurements', { id: 'n', retention_days: 1 })).status, 200);
  const newer = (await server.call('owner', 'GET', '/devices/old')).body;
  assert.equal(JSON.stringify(newer).includes('retention'), false);
});

test('the setting counts where nobody says otherwise; a metric counts what went; the folder is whole after', async () => {
  await server.restart({ DUNDUN_RETENTION_DAYS: '365' });
  server.clock.advance(310 * dayMs);
  assert.equal(await count('unset', 's'), 100);
  await round();
  const left = await count('unset', 's');
  assert.ok(left > 0 && left < 100, `${left} are left`);
  assert.equal(await count('d', 'ever'), 100);
  const { text } = await server.request('admin', 'GET', '/metrics');
  assert.ok(Number(/^dundun_datapoints_expired_total (\d+)$/m.exec(text)?.[1]) >= 100 - left);
  assert.deepEqual(await findingsIn(server.folder), []);
});
