// Alarms that nobody made a rule for: sensors silent beyond their habit, gateways offline, a storage that refuses.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { confirmClock } from '../../support/clock.ts';
import { engineWith } from '../../support/engine-with.ts';
import { setLimits } from '../../support/limits.ts';
import { TestServer } from '../../support/test-server.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
let server: TestServer;
let refuses: string | undefined;
let count = 0;
let d = '';

before(async () => {
  server = await TestServer.start(
    {},
    {
      replaceEngine: (engine) => ({
        ...engineWith(engine, {}),
        figures: new Proxy(engine.figures, {
          get: (figures, name) =>
            name === 'refusesBecause' && refuses !== undefined ? refuses : Reflect.get(figures, name),
        }),
      }),
    },
  );
});
after(() => server.stop());

beforeEach(async () => {
  await confirmClock(server);
  count += 1;
  d = `silent-${count}`;
  await make(server, {
    as: 'owner',
    call: 'POST /devices',
    json: { id: d, sensors: [{ id: 's' }, { id: 't' }] },
    expect: 204,
  });
});

const push = (sensor = 's', headers: Readonly<Record<string, string>> = {}) =>
  make(server, {
    as: 'owner',
    call: `POST /devices/${d}/sensors/${sensor}/values`,
    json: { value: 1 },
    headers,
    expect: 204,
  });
const pushEvery = async (ms: number, times: number, sensor = 's') => {
  for (let n = 0; n < times; n++) {
    await push(sensor);
    server.clock.advance(ms);
  }
};
const later = async (ms: number) => {
  server.clock.advance(ms);
  await server.running.idle();
};
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of the body.
const list = async (query = `device=${d}`, as = 'owner'): Promise<any[]> =>
  (await make(server, { as, call: `GET /alarms?${query}`, expect: 200 })).body;

suite('a sensor', () => {
  test('that sends every ten minutes is silent after five times as long, and well when it sends again', async () => {
    await pushEvery(10 * minuteMs, 6);
    const heard = new Date(server.clock.now() - 10 * minuteMs).toISOString().replace('.000', '');
    await later(39 * minuteMs);
    assert.deepEqual(await list(), []);
    await later(3 * minuteMs);
    const [alarm, ...others] = await list();
    assert.deepEqual(others, []);
    assert.deepEqual(
      [alarm.kind, alarm.since, alarm.usual_interval, alarm.threshold, alarm.sensor_id, alarm.may_update],
      ['silence', heard, 600, 3000, 's', true],
    );
    await push();
    await server.running.idle();
    assert.deepEqual(await list(), []);
    const [over] = await list(`device=${d}&state=cleared`);
    assert.equal(over.id, alarm.id);
  });

  test('has its usual interval in its record once it is known, for who may view its values', async () => {
    await pushEvery(10 * minuteMs, 4);
    const location = { latitude: 1, longitude: 2 };
    await make(server, { as: 'owner', call: `PUT /devices/${d}/location`, json: location, expect: 204 });
    for (const [user, scopes] of [
      ['sharer', ['devices:view', 'device-data:view']],
      ['stranger', ['devices:view']],
    ] as const)
      await make(server, { as: 'owner', call: `PUT /devices/${d}/shares/${user}`, json: { scopes }, expect: 204 });
    await make(server, { as: 'owner', call: `PUT /devices/${d}/visibility`, text: 'private', expect: 204 });
    const usual = async (as: string) => {
      const read = async (path: string) => (await make(server, { as, call: `GET ${path}` as never, expect: 200 })).body;
      const one = await read(`/devices/${d}`);
      const [listed] = await read(`/devices?q=id==${d}`);
      const sensors = await read(`/devices/${d}/sensors`);
      const sensor = await read(`/devices/${d}/sensors/s`);
      const [position] = await read(`/device_positions?q=id==${d}`);
      const records = [one.sensors[0], listed.sensors[0], sensors[0], sensor, position, one.sensors[1]];
      return records.map(({ usual_interval: seconds }) => seconds);
    };
    const none = Array.from({ length: 6 }, () => undefined);
    assert.deepEqual(await usual('owner'), none);
    await pushEvery(10 * minuteMs, 1);
    for (const as of ['owner', 'sharer', 'admin'])
      assert.deepEqual(await usual(as), [600, 600, 600, 600, 600, undefined], as);
    assert.deepEqual(await usual('stranger'), none);
    await make(server, { as: 'owner', call: `DELETE /devices/${d}/shares/sharer`, expect: 204 });
  });

  test('that was heard a few times only, or by imports, has no habit', async () => {
    await pushEvery(10 * minuteMs, 3);
    for (let n = 0; n < 8; n++) {
      await push('t', { prefer: 'notify=none' });
      server.clock.advance(minuteMs);
    }
    await later(48 * hourMs);
    assert.deepEqual(await list(), []);
  });

  test('that is heard at odd times is silent only after twice its longest usual gap', async () => {
    for (const minutes of [1, 90, 2, 120, 3, 60, 120, 5]) {
      await push();
      server.clock.advance(minutes * minuteMs);
    }
    await later(3 * hourMs);
    assert.deepEqual(await list(), []);
    await later(24 * hourMs);
    assert.equal((await list()).length, 1);
  });

  test('is known by its habit after a restart, and not called silent for the time of a stop', async () => {
    await pushEvery(10 * minuteMs, 6);
    await server.restart({}, { whileStopped: () => server.clock.advance(5 * hourMs) });
    await confirmClock(server);
    await later(minuteMs);
    assert.deepEqual(await list(), []);
    await later(2 * hourMs);
    const [alarm] = await list();
    assert.equal(alarm.kind, 'silence');
    await server.crash();
    await confirmClock(server);
    await later(minuteMs);
    assert.deepEqual(
      (await list()).map(({ id }) => id),
      [alarm.id],
    );
    await push();
    await later(minuteMs);
    assert.deepEqual(await list(), []);
  });

  test('is not called silent because the clock has jumped', async () => {
    await pushEvery(10 * minuteMs, 6);
    server.jump(365 * 24 * hourMs);
    await later(minuteMs);
    assert.deepEqual(await list(), []);
    await confirmClock(server);
    await later(minuteMs);
    assert.deepEqual(await list(), []);
    await later(2 * hourMs);
    assert.equal((await list()).length, 1);
    server.jump(-365 * 24 * hourMs);
    await confirmClock(server);
  });

  test('takes its alarms along to another device, and with it when it is removed', async () => {
    await pushEvery(10 * minuteMs, 6);
    await later(hourMs);
    const [{ id }] = await list();
    const to = `${d}-to`;
    await make(server, { as: 'owner', call: 'POST /devices', json: { id: to }, expect: 204 });
    await make(server, { as: 'owner', call: `PUT /devices/${d}/sensors/s/device`, text: to, expect: 204 });
    assert.deepEqual(await list(), []);
    assert.deepEqual(
      (await list(`device=${to}`)).map((alarm) => alarm.id),
      [id],
    );
    await make(server, { as: 'owner', call: `DELETE /devices/${to}/sensors/s`, expect: 204 });
    await make(server, { as: 'owner', call: `GET /alarms/${id}`, expect: 404 });
    await later(hourMs);
    assert.deepEqual(await list(`device=${to}&state=all`), []);
  });
});

suite('a gateway', () => {
  const beat = () => make(server, { as: 'owner', call: `PUT /gateways/${d}/health`, expect: 204 });

  test('that sends no heartbeat is offline after its usual time, for who may see the gateway', async () => {
    await make(server, {
      as: 'owner',
      call: 'POST /gateways',
      json: { id: d, name: 'Roof', visibility: 'private' },
      expect: 200,
    });
    await later(3 * hourMs);
    assert.deepEqual(await list(`gateway=${d}`), [], 'it was never heard');
    for (let n = 0; n < 6; n++) {
      await beat();
      await later(5 * minuteMs);
    }
    await later(30 * minuteMs);
    const [alarm] = await list(`gateway=${d}`);
    assert.deepEqual([alarm.kind, alarm.gateway_name, alarm.threshold], ['gateway', 'Roof', 1500]);
    assert.deepEqual(await list(`gateway=${d}`, 'stranger'), []);
    assert.equal((await list(`gateway=${d}`, 'admin')).length, 1);
    await beat();
    await later(minuteMs);
    assert.deepEqual(await list(`gateway=${d}`), []);
  });

  test('that gets another owner leaves behind what was written to its alarms', async () => {
    await make(server, { as: 'owner', call: 'POST /gateways', json: { id: d }, expect: 200 });
    await beat();
    await later(59 * minuteMs);
    await later(2 * minuteMs);
    const [{ id }] = await list(`gateway=${d}`);
    const json = { note: 'the key is 4711' };
    await make(server, { as: 'owner', call: `PUT /alarms/${id}/acknowledgement`, json, expect: 204 });
    await make(server, { as: 'owner', call: `PUT /gateways/${d}/owner`, text: 'stranger', expect: 204 });
    const [alarm] = await list(`gateway=${d}`, 'stranger');
    assert.deepEqual([alarm.id, alarm.acknowledged], [id, undefined]);
  });

  test('whose habit is not known is offline after an hour', async () => {
    await make(server, { as: 'owner', call: 'POST /gateways', json: { id: d }, expect: 200 });
    await beat();
    await later(59 * minuteMs);
    assert.deepEqual(await list(`gateway=${d}`), []);
    await later(2 * minuteMs);
    assert.equal((await list(`gateway=${d}`)).length, 1);
  });
});

test('a storage that refuses is an alarm for admins, also before it can be stored', async () => {
  refuses = 'the disk is full';
  await later(minuteMs);
  const [alarm] = await list('kind=storage', 'admin');
  assert.deepEqual([alarm.kind, alarm.state, alarm.condition], ['storage', 'active', 'the disk is full']);
  assert.deepEqual(await list('kind=storage'), []);
  await make(server, { as: 'owner', call: `GET /alarms/${alarm.id}`, expect: 404 });
  refuses = undefined;
  await later(minuteMs);
  assert.deepEqual(await list('kind=storage', 'admin'), []);
  const [over] = await list('kind=storage&state=cleared', 'admin');
  assert.deepEqual([over.id, over.times], [alarm.id, 1]);
});

suite('bounds', () => {
  setLimits({ alarmsOpenMax: 2, alarmsPerDeviceMax: 2 });

  test('keep as many open alarms of silence for one owner as named, and no more', async () => {
    const sensors = ['a', 'b', 'c', 'e'].map((id) => ({ id }));
    await make(server, { as: 'sharer', call: 'POST /devices', json: { id: `${d}-many`, sensors }, expect: 204 });
    for (let n = 0; n < 6; n++) {
      for (const { id } of sensors)
        await server.call('sharer', 'POST', `/devices/${d}-many/sensors/${id}/values`, { json: { value: 1 } });
      server.clock.advance(10 * minuteMs);
    }
    await later(2 * hourMs);
    await later(2 * hourMs);
    assert.equal((await list('kind=silence', 'sharer')).length, 2);
  });

  test('keep as much history of a device as named', async () => {
    const of = `${d}-history`;
    await make(server, {
      as: 'stranger',
      call: 'POST /devices',
      json: { id: of, sensors: [{ id: 's' }] },
      expect: 204,
    });
    const send = () => server.call('stranger', 'POST', `/devices/${of}/sensors/s/values`, { json: { value: 1 } });
    for (let n = 0; n < 6; n++) {
      await send();
      server.clock.advance(10 * minuteMs);
    }
    for (let n = 0; n < 4; n++) {
      await later(20 * hourMs);
      await send();
      await later(minuteMs);
    }
    await later(limits.alarmTrimMs + minuteMs);
    assert.equal((await list(`device=${of}&state=cleared`, 'stranger')).length, 2);
  });
});

suite('where one owner has more silent sensors than open alarms', () => {
  setLimits({ alarmsOpenMax: 2, alarmsOpenedMax: 3 });

  test('those of others do not wait for them', async () => {
    const own = await TestServer.start();
    try {
      const sensors = Array.from({ length: 12 }, (_, n) => ({ id: `s${n}` }));
      await make(own, { as: 'stranger', call: 'POST /devices', json: { id: 'crowd', sensors }, expect: 204 });
      await make(own, { as: 'owner', call: 'POST /devices', json: { id: 'one', sensors: [{ id: 's' }] }, expect: 204 });
      for (let n = 0; n < 6; n++) {
        for (const { id } of sensors)
          await own.call('stranger', 'POST', `/devices/crowd/sensors/${id}/values`, { json: { value: 1 } });
        await own.call('owner', 'POST', '/devices/one/sensors/s/values', { json: { value: 1 } });
        own.clock.advance(10 * minuteMs);
        await own.running.idle();
      }
      own.clock.advance(2 * hourMs);
      await own.running.idle();
      const counts = await Promise.all(
        ['stranger', 'owner'].map(async (as) => (await own.call(as, 'GET', '/alarms?kind=silence')).body.length),
      );
      assert.deepEqual(counts, [2, 1]);
    } finally {
      await own.stop();
    }
  });
});
