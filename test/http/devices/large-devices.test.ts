// Devices with thousands of sensors: lists of them are read a few at a time, so that others are answered between, and
// several are created at once.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const ids = Array.from({ length: 8 }, (_, n) => `large-${n}`);
const sensors = Array.from({ length: 7_000 }, (_, n) => ({ id: `s${n}`, unit: 'K', meta: { slot: n } }));

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

/** The longest time without a turn of the event loop while it is asked for, as a share of the whole time. */
async function longestShareOf(ask: () => Promise<unknown>): Promise<number> {
  let [longestMs, lastMs, isOver] = [0, performance.now(), false];
  const look = () => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  const beganMs = performance.now();
  await ask();
  isOver = true;
  return longestMs / (performance.now() - beganMs);
}

suite('devices with thousands of sensors', () => {
  test('are created eight at once, each with its sensors in their order', async () => {
    const actuators = [{ id: 'valve', value_type: 'bool', value: false }, { id: 'lamp' }];
    const json = { gateway_id: 'gateway', visibility: 'public', sensors, actuators };
    const answers = await Promise.all(ids.map((id) => server.call(as, 'POST', '/devices', { json: { id, ...json } })));
    assert.deepEqual(
      answers.map(({ status }) => status),
      ids.map(() => 204),
    );
    const { body } = await server.call(as, 'GET', '/devices/large-3');
    assert.deepEqual(body.sensors, sensors);
    assert.deepEqual(body.actuators, [{ actuator_value_type: 'bool', value: false, id: 'valve' }, { id: 'lamp' }]);
  });

  test('are listed by every door in steps of one', async () => {
    await server.call(as, 'POST', '/gateways', { json: { id: 'gateway' } });
    await server.call(as, 'POST', '/projects', { json: { id: 'project', device_ids: [...ids, 'none'] } });
    for (const path of ['/devices?limit=20', '/gateways/gateway?full=true', '/projects/project?full=true']) {
      let listed: { readonly id: string }[] = [];
      const ask = async () => {
        const { body } = await server.call(as, 'GET', path);
        listed = Array.isArray(body) ? body : body.devices;
      };
      // The best of some, because the machine has other work too.
      const shares: number[] = [];
      for (let n = 0; n < 5; n++) shares.push(await longestShareOf(ask));
      assert.deepEqual(listed.map(({ id }) => id).sort(), ids);
      assert.ok(Math.min(...shares) < 0.4, `${path}: without a pause for ${shares} of the whole time`);
    }
  });

  test('are read again one by one when all of them are changed at once', async () => {
    for (const id of ids) await server.call(as, 'GET', `/devices/${id}`);
    const change = () =>
      Promise.all(ids.map((id) => server.call(as, 'PUT', `/devices/${id}/name`, { json: `name of ${id}` })));
    const shares: number[] = [];
    for (let n = 0; n < 5; n++) shares.push(await longestShareOf(change));
    const names = await Promise.all(ids.map(async (id) => (await server.call(as, 'GET', `/devices/${id}`)).body.name));
    assert.deepEqual(
      names,
      ids.map((id) => `name of ${id}`),
    );
    assert.ok(Math.min(...shares) < 0.4, `without a pause for ${shares} of the whole time`);
  });

  test('are removed with their sensors', async () => {
    const answers = await Promise.all(ids.map((id) => server.call(as, 'DELETE', `/devices/${id}`)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      ids.map(() => 204),
    );
    assert.deepEqual((await server.call(as, 'GET', '/devices')).body, []);
  });
});
