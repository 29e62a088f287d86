// What was pushed last is not what a sensor shows now where something later was measured, such as by a gateway that sends late
// what it could not send before: a record says both.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { setLimits } from '../../support/limits.ts';
import { TestServer } from '../../support/test-server.ts';

const as = 'owner';
let server: TestServer;
let id = '';
let devices = 0;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

beforeEach(async () => {
  devices += 1;
  id = `d${devices}`;
  const calib = { linear: { enabled: true, value_min: { sensor_value: 0, real_value: 100 }, value_max: { sensor_value: 1, real_value: 101 } } }; // biome-ignore format: one line
  const sensors = [{ id: 's' }, { id: 'c', calib }];
  await make(server, { as, call: 'POST /devices', json: { id, visibility: 'private', sensors }, expect: 204 });
});

const push = async (json: unknown, sensor = 's') => {
  await make(server, { as, call: `POST /devices/${id}/sensors/${sensor}/values` as never, json, expect: 204 });
};
const at = (minutes: number, value: unknown = minutes) => ({
  value,
  timestamp: new Date(server.clock.now() + minutes * 60_000).toISOString().replace('.000Z', 'Z'),
});
const sensorOf = async (sensor = 's') =>
  (await server.call(as, 'GET', `/devices/${id}/sensors/${sensor}`)).body as {
    last_value?: { value: unknown };
    newest_value?: { value: unknown; timestamp?: string };
  };

suite('a sensor whose values come late', () => {
  test('has a newest value beside the one pushed last, wherever its record is read', async () => {
    await push(at(-2, 'now'));
    assert.equal((await sensorOf()).newest_value, undefined);
    await push(at(-60, 'late'));
    const expected = ['late', { ...at(-2, 'now'), date_received: '2026-01-15T12:00:00Z' }];
    const list = await server.call(as, 'GET', `/devices?q=id==${id}`);
    const one = await server.call(as, 'GET', `/devices/${id}`);
    const inner = await server.call(as, 'GET', `/devices/${id}/sensors`);
    for (const sensor of [list.body[0].sensors[0], one.body.sensors[0], inner.body[0], await sensorOf()]) {
      assert.deepEqual([sensor.last_value.value, sensor.newest_value], expected);
      assert.deepEqual(sensor.value, sensor.last_value);
    }
    // The one pushed last is the one measured last again.
    await push(at(-1, 'newer'));
    assert.deepEqual([(await sensorOf()).last_value?.value, (await sensorOf()).newest_value], ['newer', undefined]);
  });

  test('whatever lies in chunks, in the log, or in both', async () => {
    await push(Array.from({ length: 50 }, (_, n) => at(-100 + n)));
    await server.running.engine.seal();
    await push(at(-200, 'late'));
    const isNewest = async () => assert.deepEqual((await sensorOf()).newest_value?.value, -51);
    await isNewest();
    await server.running.engine.seal();
    await isNewest();
    await push(at(-210, 'later still'));
    await isNewest();
    await push(at(-50, 'newer'));
    assert.equal((await sensorOf()).newest_value, undefined);
  });

  test('is calibrated in both', async () => {
    await push(at(-2, 7), 'c');
    await push(at(-60, 5), 'c');
    const { last_value, newest_value } = await sensorOf('c');
    assert.deepEqual([last_value?.value, newest_value?.value], [105, 107]);
  });

  test('counts one without a time as measured when it was received', async () => {
    await push({ value: 'no clock' });
    await push(at(-60, 'late'));
    const { newest_value } = await sensorOf();
    assert.deepEqual([newest_value?.value, newest_value?.timestamp], ['no clock', undefined]);
  });

  test('does not take what lies in the future for now', async () => {
    await push(at(-5, 'true'));
    await push(at(60 * 24 * 365, 'in a year'));
    await push(at(-60, 'late'));
    assert.equal((await sensorOf()).newest_value?.value, 'true');
    // A clock that is a little fast is none.
    await push(at(2, 'fast'));
    await push(at(-60, 'late'));
    assert.equal((await sensorOf()).newest_value?.value, 'fast');
  });

  test('loses it with a removal, and follows a correction', async () => {
    const newest = at(-2, 1);
    await push(newest);
    await push(at(-60, 2));
    const path = `/devices/${id}/sensors/s/values`;
    await server.call(as, 'PUT', `${path}/${newest.timestamp}`, { json: { value: 9 } });
    assert.equal((await sensorOf()).newest_value?.value, 9);
    const removed = await server.call(as, 'DELETE', `${path}?timestamp=${newest.timestamp}`);
    assert.equal(removed.body.removed, 1);
    assert.deepEqual([(await sensorOf()).last_value?.value, (await sensorOf()).newest_value], [2, undefined]);
  });

  test('is looked for in so many sensors of a list, whatever somebody has pushed', async () => {
    for (const sensor of ['s', 'c']) {
      await push(at(-2, 1), sensor);
      await push(at(-60, 0), sensor);
    }
    const newestOf = async () => {
      const { body } = await server.call(as, 'GET', `/devices?q=id==${id}`);
      return body[0].sensors.map((sensor: { newest_value?: { value: unknown } }) => sensor.newest_value?.value);
    };
    assert.deepEqual(await newestOf(), [1, 101]);
    setLimits({ newestReadsMax: 1 });
    assert.deepEqual(await newestOf(), [1, undefined]);
  });

  test('shows neither to who may view the device but not its values', async () => {
    await push(at(-2));
    await push(at(-60));
    await server.call(as, 'PUT', `/devices/${id}/shares/stranger`, { json: { scopes: ['device:view'] } });
    const { status, body } = await server.call('stranger', 'GET', `/devices/${id}`);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body.sensors[0]), ['id']);
  });

  test('is heard when a value was last received, on the map as in filters', async () => {
    const location = { latitude: 1, longitude: 2 };
    await server.call(as, 'PUT', `/devices/${id}/location`, { json: location });
    await push(at(-2));
    server.clock.advance(3_600_000);
    await push(at(-60 * 24));
    const heard = new Date(server.clock.now()).toISOString().replace('.000', '');
    const { body } = await server.call(as, 'GET', `/device_positions?q=id==${id};last_heard>=${heard}`);
    assert.equal(Date.parse(body[0].heard), server.clock.now());
  });
});
