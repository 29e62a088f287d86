// Alarms of rules: what is wrong now, listed and followed live.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { alarmField } from '../../support/alarm-field.ts';
import { make } from '../../support/api/calls.ts';
import { setLimits } from '../../support/limits.ts';
import { EventStream } from '../../support/peers/event-stream.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const minuteMs = 60_000;
const field = alarmField();
const { push, addRule, list, raise } = field;

suite('an alarm of a rule', () => {
  test('names the gateway of its device to who may see that gateway too, and to nobody else', async () => {
    const id = `mast-${field.device}`;
    const json = { id, name: 'Mast by the river', visibility: 'private' };
    await make(field.server, { as: 'owner', call: 'POST /gateways', json, expect: 200 });
    await make(field.server, { as: 'owner', call: `PUT /devices/${field.device}/gateway_id`, json: id, expect: 204 });
    await raise();
    await field.share('viewer', 'devices:view', 'device-data:view');
    await field.share('reader', 'device-data:view');
    const named = async (as: string) => {
      const [{ gateway_id: gateway, gateway_name: name }] = await list(as);
      return [gateway, name];
    };
    assert.deepEqual(await named('owner'), [id, 'Mast by the river']);
    assert.deepEqual(await named('admin'), [id, 'Mast by the river']);
    assert.deepEqual(await named('viewer'), [id, undefined]);
    assert.deepEqual(await named('reader'), [undefined, undefined]);
  });

  test('is open as long as the condition holds, and history afterwards', async () => {
    const rule = await addRule();
    await push(39);
    assert.deepEqual(await list(), []);
    const since = new Date(field.server.clock.now()).toISOString().replace('.000', '');
    await push(41.5);
    field.server.clock.advance(minuteMs);
    await push(42);
    const [alarm, ...others] = await list();
    assert.deepEqual(others, []);
    const { id, ...rest } = alarm;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      ...{ kind: 'rule', state: 'active', since, times: 1, value: 41.5, threshold: 40, condition: 's>40' },
      ...{
        device_id: field.device,
        device_name: 'Field',
        sensor_id: 's',
        sensor_name: 'Temperature',
        unit: 'degree Celsius',
      },
      ...{ location: { latitude: 1, longitude: 2 }, gateway_id: 'gw' },
      ...{ notification_id: rule, notification_description: 'Too hot', may_update: true },
    });
    await push(40);
    assert.deepEqual(await list(), []);
    const [over] = await list('owner', '&state=cleared');
    assert.equal(over.id, id);
    assert.equal(over.cleared, new Date(field.server.clock.now()).toISOString().replace('.000', ''));
  });

  test('is open where the rule may not send again yet', async () => {
    await addRule({ throttling: 3600 });
    await push(41);
    await push(1);
    assert.equal((await list()).length, 0);
    field.server.clock.advance(20 * minuteMs);
    await push(41);
    assert.equal((await list()).length, 1);
    await push(1);
    assert.equal((await list()).length, 0);
    assert.equal((await list('owner', '&state=all')).length, 2);
  });

  for (const [what, fields, up, down] of [
    ['with `for` once it has lasted', { for: 60 }, 41, 1],
    ['with hysteresis until that holds', { hysteresis: 's<30' }, 41, 29],
    ['with a recovery message', { recovery_message: 'well' }, 41, 1],
  ] as const) {
    test(`${what} begins and ends`, async () => {
      await addRule(fields);
      await push(up);
      field.server.clock.advance(2 * minuteMs);
      await field.server.running.idle();
      assert.equal((await list()).length, 1);
      if ('hysteresis' in fields) {
        await push(35);
        assert.equal((await list()).length, 1);
      }
      await push(down);
      assert.equal((await list()).length, 0);
    });
  }

  test('on silence ends when the sensor has sent', async () => {
    await addRule({ silence: 600 }, { expression: '' });
    await push(1);
    field.server.clock.advance(11 * minuteMs);
    await field.server.running.idle();
    const [alarm] = await list();
    assert.deepEqual([alarm.kind, alarm.threshold, alarm.sensor_id], ['rule', 600, 's']);
    await push(1);
    assert.deepEqual(await list(), []);
  });

  test('outlives a restart and a crash, and ends after them', async () => {
    const id = await raise();
    await field.server.restart();
    assert.deepEqual(
      (await list()).map((alarm) => alarm.id),
      [id],
    );
    await field.server.crash();
    await push(42);
    assert.deepEqual(
      (await list()).map((alarm) => alarm.id),
      [id],
    );
    await field.server.crash();
    await push(1);
    assert.deepEqual(await list(), []);
  });

  test('ends when the rule gets another condition, is stopped, or its time is over', async () => {
    const rule = await addRule({ expires: new Date(field.server.clock.now() + 60 * minuteMs).toISOString() });
    const change = (json: object) =>
      make(field.server, { as: 'owner', call: `PATCH /notifications/${rule}`, json, expect: 204 });
    await push(41);
    await change({ condition: { devices: [field.device], sensors: ['s'], expression: 's>50' } });
    assert.deepEqual(await list(), []);
    await push(51);
    assert.equal((await list()).length, 1);
    await change({ description: 'other words' });
    assert.equal((await list())[0].notification_description, 'other words');
    await change({ status: 'inactive' });
    assert.deepEqual(await list(), []);
    await change({ status: 'active' });
    await push(52);
    assert.equal((await list()).length, 1);
    field.server.clock.advance(61 * minuteMs);
    await field.server.running.idle();
    assert.deepEqual(await list(), []);
  });

  test('goes with its rule', async () => {
    const id = await raise();
    const [{ notification_id }] = await list();
    await make(field.server, { as: 'owner', call: `DELETE /notifications/${notification_id}`, expect: 204 });
    assert.deepEqual(await list('owner', '&state=all'), []);
    await make(field.server, { as: 'owner', call: `GET /alarms/${id}`, expect: 404 });
    await raise();
  });

  test('follows its device to another id and owner, and its sensor to another id and device', async () => {
    const id = await raise();
    await make(field.server, {
      as: 'owner',
      call: `PUT /devices/${field.device}/id`,
      text: `${field.device}-new`,
      expect: 204,
    });
    field.device = `${field.device}-new`;
    await make(field.server, {
      as: 'owner',
      call: `PUT /devices/${field.device}/sensors/s/id`,
      text: 's2',
      expect: 204,
    });
    assert.deepEqual(
      (await list()).map((alarm) => [alarm.id, alarm.device_id, alarm.sensor_id]),
      [[id, field.device, 's2']],
    );
    await make(field.server, {
      as: 'owner',
      call: `PUT /devices/${field.device}/owner`,
      text: 'stranger',
      expect: 204,
    });
    assert.deepEqual(await list(), []);
    assert.equal((await list('stranger'))[0].id, id);
    assert.equal((await list('stranger'))[0].value, 41);
    await make(field.server, { as: 'stranger', call: `DELETE /devices/${field.device}`, expect: 204 });
    await make(field.server, { as: 'admin', call: `GET /alarms/${id}`, expect: 404 });
  });
});

test('a list of alarms has pages, newest first', async () => {
  for (const expression of ['s>1', 's>2', 's>3']) {
    await addRule({}, { expression });
    await push(41);
    field.server.clock.advance(1000);
  }
  const { body, headers } = await make(field.server, {
    as: 'owner',
    call: `GET /alarms?device=${field.device}&limit=2`,
    expect: 200,
  });
  assert.deepEqual(
    body.map(({ condition }: { condition: string }) => condition),
    ['s>3', 's>2'],
  );
  assert.equal(headers['x-total-count'], '3');
  assert.match(String(headers['link']), /offset=2.*rel="next"/);
});

suite('a live stream of alarms', () => {
  const open = async (as: string, headers: Readonly<Record<string, string>> = {}) => {
    const stream = await EventStream.open(field.server, as, '/alarms/live', headers);
    field.streams.push(stream);
    return stream;
  };

  test('tells what begins, what people do about it, and what ends; and to who returns what they missed', async () => {
    const stream = await open('owner');
    const id = await raise();
    const begun = await stream.next();
    assert.deepEqual([begun?.event, begun?.data.id, begun?.data.state], ['alarm', id, 'active']);
    await make(field.server, {
      as: 'owner',
      call: `PUT /alarms/${id}/acknowledgement`,
      json: { note: 'mine' },
      expect: 204,
    });
    assert.equal((await stream.next())?.data.acknowledged.note, 'mine');
    stream.close();
    await push(1);
    const again = await open('owner', { 'last-event-id': begun?.id ?? '' });
    const missed = await again.next();
    assert.deepEqual([missed?.data.id, missed?.data.state], [id, 'cleared']);
  });

  test('tells who was away for long all of it, a step at a time with pauses', async () => {
    const usual = { step: limits.alarmChangesStep, pause: limits.alarmStreamBehindMs };
    await raise();
    for (let n = 0; n < 5; n++) await addRule({ description: `rule ${n}` });
    await push(42);
    assert.equal((await list()).length, 6);
    Object.assign(limits, { alarmChangesStep: 1, alarmStreamBehindMs: 60 });
    const beganMs = performance.now();
    const stream = await EventStream.open(field.server, 'owner', '/alarms/live', { 'last-event-id': '0-0' });
    field.streams.push(stream);
    const told = new Set<string>();
    while (told.size < 6) {
      const { data } = (await stream.next()) ?? {};
      if (data?.device_id === field.device) told.add(data.id);
    }
    assert.ok(performance.now() - beganMs >= 5 * 60, 'there are pauses between the steps');
    Object.assign(limits, { alarmChangesStep: usual.step, alarmStreamBehindMs: usual.pause });
    await push(1);
    assert.equal((await stream.next())?.data.state, 'cleared');
  });

  test('tells nobody of what they may not see', async () => {
    const stranger = await open('stranger');
    const owner = await open('owner');
    const id = await raise();
    assert.equal((await owner.next())?.data.id, id);
    await make(field.server, {
      as: 'owner',
      call: `PUT /devices/${field.device}/owner`,
      text: 'stranger',
      expect: 204,
    });
    await make(field.server, { as: 'stranger', call: `PUT /alarms/${id}/acknowledgement`, json: {}, expect: 204 });
    const first = await stranger.next();
    assert.equal(first?.data.acknowledged.by, 'stranger', 'the first that the stranger was told');
  });
});

test('a stranger who has a rule flap costs one row, and the owner sees nothing of it', async () => {
  await make(field.server, {
    as: 'owner',
    call: `PUT /devices/${field.device}/visibility`,
    text: 'public',
    expect: 204,
  });
  await addRule({ throttling: 3600 }, { as: 'stranger' });
  const before = await field.server.call('stranger', 'GET', '/alarms?state=all');
  for (let n = 0; n < 20; n++) {
    const json = Array.from({ length: 1000 }, (_, at) => ({ value: at % 2 === 0 ? 41 : 1 }));
    await field.server.call('stranger', 'POST', `/devices/${field.device}/sensors/s/values`, { json });
  }
  await field.server.running.idle();
  const made = await list('stranger', '&state=all');
  assert.equal(made.length, 1);
  assert.equal(made[0].times, 10_000);
  assert.equal(
    Number(before.headers['x-total-count']) + 1,
    (await field.server.call('stranger', 'GET', '/alarms?state=all')).body.length,
  );
  assert.deepEqual(await list('owner', '&state=all'), []);
});

suite('when some have as many open alarms as they may', () => {
  setLimits({ alarmsOpenMax: 4, ruleAlarmsOpenAllMax: 8 });
  let own: TestServer;
  before(async () => {
    own = await TestServer.start();
    await addUsers(own.folder, ['reader'], own.clock);
  });
  after(() => own.stop());

  test('others have theirs all the same', async () => {
    const json = { id: 'full', visibility: 'public', sensors: [{ id: 's' }] };
    await make(own, { as: 'owner', call: 'POST /devices', json, expect: 204 });
    const action = { usernames: ['guest'], channels: ['none'], message: 'm' };
    const raiseAll = async (as: string, count: number): Promise<number> => {
      for (let n = 0; n < count; n++) {
        const condition = { devices: ['full'], sensors: ['s'], expression: `s>${n}` };
        await make(own, { as, call: 'POST /notifications', json: { condition, action }, expect: 200 });
      }
      await make(own, { as: 'owner', call: 'POST /devices/full/sensors/s/values', json: { value: 41 }, expect: 204 });
      await own.running.idle();
      return (await make(own, { as, call: 'GET /alarms', expect: 200 })).body.length;
    };
    const counts = [await raiseAll('stranger', 5), await raiseAll('reader', 5), await raiseAll('owner', 1)];
    assert.deepEqual(counts, [4, 2, 1]);
  });
});
