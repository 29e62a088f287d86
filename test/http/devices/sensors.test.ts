// Sensors of a device over REST: adding, replacing, reading, deleting (spec 4.1, contract 4).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { countStored } from '../../support/data.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

let count = 0;
let d = '';
beforeEach(async () => {
  count += 1;
  d = `/devices/device-${count}`;
  const sensors = [{ id: 's1', name: 'One', unit: 'K', sensor_kind: 'probe', meta: { a: 1 } }, { id: 's2' }];
  await server.call('owner', 'POST', '/devices', { json: { id: `device-${count}`, sensors } });
  server.clock.advance(60_000);
});

const as = 'owner';

test('a sensor is added after the device, and the device has changed then', async () => {
  const { body: before } = await server.call(as, 'GET', d);
  const json = { id: 's3', name: 'Three', sensing_device: 'thermometer', quantity_kind: 'temperature', unit: '°C' };
  await make(server, { as, call: `POST ${d}/sensors`, json, expect: 204 });
  const [one, all, device] = await makeAll(server, [
    { as, call: `GET ${d}/sensors/s3`, expect: 200 },
    { as, call: `GET ${d}/sensors`, expect: 200 },
    { as, call: `GET ${d}`, expect: 200 },
  ]);
  assert.deepEqual(one?.body, json);
  assert.deepEqual(
    all?.body.map((sensor: { id: string }) => sensor.id),
    ['s1', 's2', 's3'],
  );
  assert.deepEqual(device?.body.sensors, all?.body);
  assert.ok(device?.body.date_modified > before.date_modified);
  assert.equal(device?.body.date_created, before.date_created);
});

test('a sensor posted again has the new description alone, its place and its datapoints', async () => {
  await makeAll(server, [
    { as, call: `POST ${d}/sensors/s1/value`, json: [{ value: 1 }, { value: 2 }], expect: 204 },
    { as, call: `POST ${d}/sensors`, json: { id: 's1', quantity_kind: 'pressure' }, expect: 204 },
  ]);
  const [sensors, values] = await makeAll(server, [
    { as, call: `GET ${d}/sensors`, expect: 200 },
    { as, call: `GET ${d}/sensors/s1/values`, expect: 200 },
  ]);
  const [first] = sensors?.body ?? [];
  assert.deepEqual(Object.keys(first), ['id', 'quantity_kind', 'last_value', 'value']);
  assert.equal(first.last_value.value, 2);
  assert.equal(values?.body.length, 2);
});

test('the kind is read back under the name it was given by last', async () => {
  const kinds = async () => {
    const { body } = await server.call(as, 'GET', `${d}/sensors/s1`);
    return [body.sensing_device, body.sensor_kind];
  };
  assert.deepEqual(await kinds(), [undefined, 'probe']);
  await make(server, { as, call: `PUT ${d}/sensors/s1/sensing_device`, text: 'thermometer', expect: 204 });
  assert.deepEqual(await kinds(), ['thermometer', undefined]);
  await make(server, { as, call: `PUT ${d}/sensors/s1/sensor_kind`, text: 'probe', expect: 204 });
  assert.deepEqual(await kinds(), [undefined, 'probe']);
  await make(server, { as, call: `POST ${d}/sensors`, json: { id: 's1', sensing_device: 'x' }, expect: 204 });
  assert.deepEqual(await kinds(), ['x', undefined]);
});

test('a deleted sensor takes its datapoints along; one of its id begins empty', async () => {
  const stored = await countStored(server.folder);
  const readings = Array.from({ length: 50 }, (_, value) => ({ value }));
  await makeAll(server, [
    { as, call: `POST ${d}/sensors/s1/values`, json: readings, expect: 204 },
    { as, call: `POST ${d}/sensors/s2/values`, json: { value: 'stays' }, expect: 204 },
    { as, call: `DELETE ${d}/sensors/s1`, expect: 204 },
    { as, call: `GET ${d}/sensors/s1`, expect: 404 },
    { as, call: `GET ${d}/sensors/s1/values`, expect: 404 },
    { as, call: `POST ${d}/sensors/s1/value`, json: { value: 1 }, expect: 404 },
    { as, call: `PUT ${d}/sensors/s1/name`, text: 'x', expect: 404 },
    { as, call: `DELETE ${d}/sensors/s1`, expect: 404 },
    { as, call: `POST ${d}/sensors`, json: { id: 's1' }, expect: 204 },
  ]);
  const [again, values, other] = await makeAll(server, [
    { as, call: `GET ${d}/sensors/s1`, expect: 200 },
    { as, call: `GET ${d}/sensors/s1/values`, expect: 200 },
    { as, call: `GET ${d}/sensors/s2`, expect: 200 },
  ]);
  assert.deepEqual(again?.body, { id: 's1' });
  assert.deepEqual(values?.body, []);
  assert.equal(other?.body.last_value.value, 'stays');
  await purged(stored + 1);
});

test('datapoints of a removed sensor leave the disk, sealed or not, and after a restart too', async () => {
  const stored = await countStored(server.folder);
  const readings = Array.from({ length: 6000 }, (_, value) => ({ value }));
  await make(server, { as, call: `POST ${d}/sensors/s1/values`, json: readings, expect: 204 });
  await server.running.engine.seal();
  await make(server, { as, call: `POST ${d}/sensors/s1/values`, json: readings, expect: 204 });
  assert.equal(await countStored(server.folder), stored + 12_000);
  await make(server, { as, call: `DELETE ${d}`, expect: 204 });
  await server.restart();
  await purged(stored);
  await server.restart();
  assert.equal(await countStored(server.folder), stored);
});

test('an unknown sensor is 404 and tells nothing more than its device does', async () => {
  await makeAll(server, [
    { as, call: `GET ${d}/sensors/none`, expect: 404 },
    { as, call: `GET ${d}/sensors/none/values`, expect: 404 },
    { as, call: `POST ${d}/sensors/none/values`, json: { value: 1 }, expect: 404 },
    { as, call: `DELETE ${d}/sensors/none`, expect: 404 },
    { as: 'stranger', call: `GET ${d}/sensors/none`, expect: 403 },
    { as: 'stranger', call: `GET ${d}/sensors/none/values`, expect: 403 },
    { as: 'stranger', call: `POST ${d}/sensors/none/values`, json: { value: 1 }, expect: 403 },
    { as: 'stranger', call: `DELETE ${d}/sensors/none`, expect: 403 },
    { as, call: 'GET /devices/none/sensors', expect: 404 },
    { as, call: 'POST /devices/none/sensors', json: { id: 's' }, expect: 404 },
  ]);
});

test('a sensor that is no good is refused, with the place named', async () => {
  const rows: readonly (readonly [json: unknown, pointer: string])[] = [
    [{}, '/id'],
    [{ id: 5 }, '/id'],
    [{ id: 's', name: 5 }, '/name'],
    [{ id: 's', unit: ['K'] }, '/unit'],
    [{ id: 's', meta: [] }, '/meta'],
    [{ id: 's', meta: 'text' }, '/meta'],
    [{ id: 's', calib: { linear: {} } }, '/calib/linear/enabled'],
    [{ id: 's', calib: { linear: { enabled: true } } }, '/calib/linear/value_min'],
    [[], ''],
    ['s', ''],
  ];
  for (const [json, pointer] of rows) {
    const { body } = await make(server, { as, call: `POST ${d}/sensors`, json, expect: 400 });
    assert.equal(body.errors[0].pointer, pointer);
  }
  const { body } = await make(server, {
    ...{ as, call: 'POST /devices', expect: 400 },
    json: { id: 'twins', sensors: [{ id: 'a' }, { id: 'b' }, { id: 'a' }] },
  });
  assert.equal(body.errors[0].pointer, '/sensors/2/id');
});

/** Waits until housekeeping has left `expected` datapoints on disk; each round gives it one more turn. */
async function purged(expected: number): Promise<void> {
  for (let round = 0; round < 500 && (await countStored(server.folder)) !== expected; round++) {
    await server.running.engine.seal();
  }
  assert.equal(await countStored(server.folder), expected);
}
