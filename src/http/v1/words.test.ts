// The word map between versions 1 and 2: nothing is translated twice, values of users are not translated, and
// translating back gives the original.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toNewerFields, toNewerFilter, toOlderFields, toOlderPath, toOlderProse } from './words.ts';

test('fields change their names once, and back', () => {
  const newer = { id: 'd', devices: 1, sensors: 2, action: 3, device_id: 4, sensor_id: 5 };
  const older = { id: 'd', sensors: 1, measurements: 2, notification: 3, sensor_id: 4, measurement_id: 5 };
  assert.deepEqual(toOlderFields(newer), older);
  assert.deepEqual(toNewerFields(older), newer);
});

test('a field that the other version has no word for is left out', () => {
  assert.deepEqual(toNewerFields({ devices: 1, action: 2, actuators: 3, name: 4 }), { name: 4 });
  assert.deepEqual(toOlderFields({ measurements: 1, notification: 2, actuators: 3, name: 4 }), { name: 4 });
});

test('names that every object has are names like others', () => {
  const record = JSON.parse('{"constructor": 1, "toString": 2}');
  assert.deepEqual(toNewerFields(record), record);
  assert.deepEqual(toOlderFields(record), record);
});

test('of a path, steps are translated and ids are not', () => {
  assert.equal(toOlderPath('/devices/devices/sensors/sensors/values'), '/sensors/devices/measurements/sensors/values');
  assert.equal(toOlderPath('/notifications/action'), '/notifications/action');
});

test('of a filter, fields are translated and values are not', () => {
  const first = { isDeep: false };
  assert.equal(toNewerFilter('measurements.unit==measurements;owner==x', first), 'sensors.unit==measurements;owner==x');
  assert.equal(toNewerFilter('meta.measurements>1', first), 'meta.measurements>1');
  assert.equal(toNewerFilter('sensors.id==a', first), 'devices.id==a');
  assert.equal(toNewerFilter('devices.id==a;actuators.id==a', first), '_devices.id==a;_actuators.id==a');
  assert.equal(toNewerFilter('condition.sensors==a', { isDeep: true }), 'condition.devices==a');
  assert.equal(toNewerFilter('measurements%3D%3Da', first), 'sensors%3D%3Da');
  assert.equal(toNewerFilter('measurements', first), 'measurements');
  assert.equal(toNewerFilter('measurements.id!%3Da', first), 'sensors.id!%3Da');
});

test('a condition of a filter that cannot be read stays as it was sent, for the refusal to show', () => {
  for (const q of [
    'measurements.id=a',
    'measurements.id===a',
    'measurements..id==a',
    'measurements.==a',
    'sensors!a',
  ]) {
    assert.equal(toNewerFilter(q, { isDeep: true }), q);
  }
});

test('of prose, whole words and pointers are translated, and ids are not', () => {
  const rows = [
    ['Device d1 has no sensor TC.', 'Sensor d1 has no measurement TC.'],
    ['/sensors/0/id is missing.', '/measurements/0/id is missing.'],
    ['/device must be an id', '/sensor must be an id'],
    ['There is nothing at /api/v1/devices.', 'There is nothing at /api/v1/devices.'],
    ['There is no device sensor-1.', 'There is no sensor sensor-1.'],
    ['There is no device device.', 'There is no sensor device.'],
    ['Device sensor has no sensor sensors.', 'Sensor sensor has no measurement sensors.'],
    ['the right devices-data:view on device d', 'the right sensors-data:view on sensor d'],
    ['`devices/{device}/sensors/{sensor}/value`', '`devices/{device}/sensors/{sensor}/value`'],
    ['Kind of physical sensor.', 'Kind of physical sensor.'],
    ['With its sensors and actuators.', 'With its measurements.'],
  ] as const;
  for (const [newer, older] of rows) assert.equal(toOlderProse(newer), older);
});

test('of prose, what a caller wrote is repeated as it was written', () => {
  const rows = [
    [
      'Not "device" and not "a \\"sensor\\" /sensors/0", device.',
      'Not "device" and not "a \\"sensor\\" /sensors/0", sensor.',
    ],
    ['The id device occurs twice.', 'The id device occurs twice.'],
    ['There is no user with the id sensor.', 'There is no user with the id sensor.'],
    ['There is a user device already.', 'There is a user device already.'],
    ['The name sensors looks like one that is taken.', 'The name sensors looks like one that is taken.'],
    ['device is the last admin.', 'device is the last admin.'],
    [
      'lacks the scope devices:update for device, which creating',
      'lacks the scope sensors:update for device, which creating',
    ],
    ['The devices cannot go to device.', 'The sensors cannot go to device.'],
    [
      'device owns devices (3): a, device, sensors and 2 more; gateways: sensor, b. Say what becomes of them.',
      'device owns sensors (3): a, device, sensors and 2 more; gateways: sensor, b. Say what becomes of them.',
    ],
  ] as const;
  for (const [newer, older] of rows) assert.equal(toOlderProse(newer), older);
});

test('prose that repeats a hostile text takes no longer than its length', () => {
  const hostile = `There is nothing at /api/v1/${'"\\'.repeat(50_000)}`;
  const before = performance.now();
  assert.equal(toOlderProse(hostile), hostile);
  // Squared, it would be several seconds.
  assert.ok(performance.now() - before < 1_000);
});
