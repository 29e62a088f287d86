// Rules (spec 6, contract 7): which datapoints make them fire, over HTTP and MQTT, and which must not.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { runSql } from '../../support/data.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let devices = 0;
let d = '';

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

beforeEach(async () => {
  devices += 1;
  d = `f${devices}`;
  await server.call('owner', 'POST', '/devices', { json: { id: d, sensors: [{ id: 'TC' }, { id: 'RH' }] } });
});

const action = { usernames: ['owner'], channels: ['none'], message: `{id} {TC} $\{RH} {nothing}` };

/** What a rule says where RH has no value: what names nothing stays as it is. */
const said = (sensor: string, value: unknown) => `${sensor} ${value} $\{RH} {nothing}`;

interface Rule {
  readonly as?: string;
  readonly expression?: string;
  readonly [field: string]: unknown;
}

async function add({ as = 'owner', expression = 'TC<40', ...fields }: Rule = {}): Promise<string> {
  const condition = { devices: [d], sensors: ['TC'], expression };
  const json = { condition, action, ...fields };
  return (await make(server, { as, call: 'POST /notifications', json, expect: 200 })).text;
}

async function push(value: unknown, { sensor = 'TC', as = 'owner', headers = {} } = {}): Promise<void> {
  const path = `/devices/${d}/sensors/${sensor}/values`;
  const json = Array.isArray(value) ? value.map((one) => ({ value: one })) : { value };
  assert.equal((await server.call(as, 'POST', path, { json, headers })).status, 204);
}

async function read(id: string) {
  await server.running.idle();
  return (await server.call('admin', 'GET', `/notifications/${id}`)).body;
}

async function fired(id: string): Promise<number> {
  return (await read(id)).times_sent;
}

async function texts(id: string): Promise<unknown[]> {
  const rows = await runSql(
    server.folder,
    `SELECT text FROM message WHERE notification = (SELECT key FROM notification WHERE id = '${id}') ORDER BY key`,
  );
  return rows.map((row) => row['text']);
}

const forward = (seconds: number) => server.clock.advance(seconds * 1000);

describe('a rule', () => {
  test('fires with each datapoint that meets its condition, and says so', async () => {
    const id = await add();
    await push(50);
    assert.equal(await fired(id), 0);
    await push(39.5);
    await push([41, 12, 40, 7], {});
    await push(3, { sensor: 'RH' });
    const { times_sent, last_notification, last_notif } = await read(id);
    assert.equal(times_sent, 3);
    assert.equal(last_notification, new Date(server.clock.now()).toISOString().replace('.000Z', 'Z'));
    assert.equal(last_notif, last_notification);
    assert.deepEqual(await texts(id), [said('TC', 39.5), said('TC', 12), said('TC', 7)]);
  });

  test('uses the last values of sensors that are not in the datapoint', async () => {
    await push(10, { sensor: 'RH' });
    const id = await add({ expression: 'TC<40;RH>5' });
    await push(1);
    await push(4, { sensor: 'RH' });
    await push(2);
    await push('7', { sensor: 'RH' });
    assert.equal(await fired(id), 2);
    assert.deepEqual(await texts(id), ['TC 1 10 {nothing}', 'RH 2 7 {nothing}']);
  });

  test('does not look at what came before it was made or while it was paused', async () => {
    await push(1);
    const id = await add();
    const paused = await add({ status: 'inactive' });
    assert.equal(await fired(id), 0);
    await push(2);
    assert.equal(await fired(paused), 0);
    await server.call('owner', 'PUT', `/notifications/${paused}/status`, { text: 'active' });
    assert.equal(await fired(paused), 0);
    await server.call('owner', 'PUT', `/notifications/${id}/status`, { text: 'inactive' });
    await push(3);
    assert.deepEqual([await fired(id), await fired(paused)], [1, 1]);
  });

  test('keeps its distance, from firing to firing', async () => {
    const id = await add({ throttling: 60 });
    await push(1);
    forward(59.999);
    await push(2);
    assert.equal(await fired(id), 1);
    forward(0.001);
    await push([3, 3]);
    assert.equal(await fired(id), 2);
    await server.restart();
    forward(59);
    await push(4);
    assert.equal(await fired(id), 2);
    forward(1);
    await push(5);
    assert.equal(await fired(id), 3);
  });

  test('does not fire once it has expired', async () => {
    const expires = new Date(server.clock.now() + 10_000).toISOString();
    const id = await add({ expires });
    forward(9.999);
    await push(1);
    // Evaluated before its time is over.
    assert.equal(await fired(id), 1);
    forward(0.001);
    await push(1);
    assert.equal(await fired(id), 1);
  });

  test('goes by what reads show, and tells it in digits that mean something: calibrated values', async () => {
    const point = (sensor_value: number, real_value: number) => ({ sensor_value, real_value });
    const calib = { linear: { enabled: true, value_min: point(0, 0), value_max: point(1, 10.1) } };
    await server.call('owner', 'PUT', `/devices/${d}/sensors/TC/calib`, { json: calib });
    const id = await add();
    await push(5);
    await push(3);
    assert.deepEqual([await fired(id), await texts(id)], [1, [said('TC', 30.3)]]);
  });

  test('needs its author to see the device, at that moment', async () => {
    const id = await add({ as: 'stranger' });
    await push(1);
    assert.equal(await fired(id), 0);
    await server.call('owner', 'PUT', `/devices/${d}/shares/stranger`, { json: { scopes: ['device:view'] } });
    await push(1);
    assert.equal(await fired(id), 0);
    await server.call('owner', 'PUT', `/devices/${d}/shares/stranger`, { json: { scopes: ['device-data:view'] } });
    await push(1);
    assert.equal(await fired(id), 1);
    await server.call('owner', 'DELETE', `/devices/${d}/shares/stranger`);
    await push(1);
    assert.equal(await fired(id), 1);
  });

  test('looks at neither history nor what asks for silence', async () => {
    const id = await add();
    await push(1, { headers: { prefer: 'notify=none' } });
    const csv = `device_id,sensor_id,timestamp,value\n${d},TC,2020-01-01T00:00:00Z,3\n`;
    const bulk = (body: string, type: string, headers = {}) =>
      server.call('owner', 'POST', '/datapoints', { body, headers: { 'content-type': type, ...headers } });
    assert.equal((await bulk(csv, 'text/csv')).body.accepted, 1);
    const line = JSON.stringify({ device_id: d, sensor_id: 'TC', value: 4 });
    assert.equal((await bulk(line, 'application/x-ndjson', { prefer: 'notify=none' })).body.accepted, 1);
    assert.equal(await fired(id), 0);
    assert.equal((await bulk(line, 'application/x-ndjson')).body.accepted, 1);
    assert.equal(await fired(id), 1);
  });

  test('sees what comes over MQTT', async () => {
    const id = await add();
    const publisher = await Client.connect(server, 'owner');
    for (const value of [1, 50, 2]) await publisher.publish(`devices/${d}/sensors/TC/value`, { value }, { qos: 1 });
    await publisher.end();
    assert.equal(await fired(id), 2);
  });

  test('knows a sensor that was removed and made again, and a device that comes late', async () => {
    const condition = { devices: [d, `${d}-late`], sensors: ['TC'], expression: '' };
    const id = await add({ condition });
    await server.call('owner', 'DELETE', `/devices/${d}/sensors/TC`);
    await server.call('owner', 'POST', `/devices/${d}/sensors`, { json: { id: 'TC' } });
    await push(1);
    await server.call('owner', 'POST', '/devices', { json: { id: `${d}-late`, sensors: [{ id: 'TC' }] } });
    await server.call('owner', 'POST', `/devices/${d}-late/sensors/TC/values`, { json: { value: 2 } });
    assert.equal(await fired(id), 2);
  });

  test('is gone for good when it is removed', async () => {
    const id = await add();
    await server.call('owner', 'DELETE', `/notifications/${id}`);
    await push(1);
    await server.running.idle();
    assert.deepEqual(await texts(id), []);
  });
});

describe('beyond the specification', () => {
  test('with a hysteresis it fires once until that was true', async () => {
    const id = await add({ expression: 'TC>40', hysteresis: 'TC<35', recovery_message: 'well: {TC}' });
    for (const value of [41, 42, 39, 43]) await push(value);
    assert.equal(await fired(id), 1);
    await server.restart();
    for (const value of [44, 34, 33, 45]) await push(value);
    assert.equal(await fired(id), 2);
    assert.deepEqual(await texts(id), [said('TC', 41), 'well: 34', said('TC', 45)]);
  });

  test('with `for` it waits, over a restart too, and fires though nothing more comes', async () => {
    const id = await add({ for: 60 });
    await push(1);
    forward(30);
    await push(50);
    await push(2);
    forward(59);
    assert.equal(await fired(id), 0);
    await server.restart();
    forward(1);
    assert.equal(await fired(id), 1);
    assert.deepEqual(await texts(id), [said('TC', 2)]);
    await push(50);
    forward(100);
    assert.equal(await fired(id), 1);
  });

  test('with `silence` it tells once of a sensor that sends nothing, and of its return', async () => {
    const id = await add({ expression: '', silence: 60, recovery_message: '{id} is back' });
    await push(1);
    forward(59);
    await push(1);
    forward(59);
    assert.equal(await fired(id), 0);
    forward(1);
    assert.equal(await fired(id), 1);
    forward(600);
    await server.restart();
    assert.equal(await fired(id), 1);
    await push(1);
    forward(60);
    assert.equal(await fired(id), 2);
    assert.deepEqual(await texts(id), [said('TC', 1), 'TC is back', said('TC', 1)]);
  });
});

describe('a rule that has changed while a firing was decided is loaded again', () => {
  /** Sets its firings to five, as one who changes it in the store might, so that the next decided here is not stored. */
  async function countElsewhere(id: string): Promise<void> {
    await server.running.idle();
    await runSql(server.folder, `UPDATE notification SET times_sent = 5 WHERE id = '${id}'`);
  }

  test('and with `silence` it tells of sensors that send nothing from then on', async () => {
    const id = await add({ silence: 60 });
    await push(50);
    await countElsewhere(id);
    await push(1);
    assert.equal(await fired(id), 5);
    forward(60);
    assert.equal(await fired(id), 6);
    await server.restart();
    forward(60);
    assert.equal(await fired(id), 6);
    assert.deepEqual(await texts(id), [said('TC', 1)]);
  });

  test('and with `for` it fires on the other devices whose condition had begun', async () => {
    const other = `${d}-other`;
    await server.call('owner', 'POST', '/devices', { json: { id: other, sensors: [{ id: 'TC' }] } });
    const id = await add({ condition: { devices: [d, other], sensors: ['TC'], expression: 'TC<40' }, for: 60 });
    await push(1);
    forward(30);
    assert.equal(
      (await server.call('owner', 'POST', `/devices/${other}/sensors/TC/value`, { json: { value: 2 } })).status,
      204,
    );
    await countElsewhere(id);
    forward(30);
    assert.equal(await fired(id), 5);
    forward(30);
    assert.equal(await fired(id), 6);
    assert.deepEqual(await texts(id), [said('TC', 2)]);
  });
});
