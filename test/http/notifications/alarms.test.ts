// Alarms of rules: what is wrong now, who sees it, and what people do about it.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { makeKeyOn } from '../../support/keys.ts';
import { setLimits } from '../../support/limits.ts';
import { EventStream } from '../../support/peers/event-stream.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const minuteMs = 60_000;
let server: TestServer;
let devices = 0;
let d = '';
const streams: EventStream[] = [];

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['viewer', 'reader', 'updater'], server.clock);
});
after(() => server.stop());

beforeEach(async () => {
  devices += 1;
  d = `alarms-${devices}`;
  const sensors = [{ id: 's', name: 'Temperature', unit: 'degree Celsius' }, { id: 't' }];
  const json = { id: d, name: 'Field', gateway_id: 'gw', location: { latitude: 1, longitude: 2 }, sensors };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
});
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
});

const push = async (value: unknown, { sensor = 's', as = 'owner' } = {}) => {
  await make(server, { as, call: `POST /devices/${d}/sensors/${sensor}/values`, json: { value }, expect: 204 });
  await server.running.idle();
};
const addRule = async (fields: object = {}, { as = 'owner', expression = 's>40' } = {}): Promise<string> => {
  const condition = { devices: [d], sensors: ['s'], expression };
  const action = { usernames: [as], channels: ['none'], message: '{s}' };
  const json = { description: 'Too hot', condition, action, ...fields };
  return (await make(server, { as, call: 'POST /notifications', json, expect: 200 })).text;
};
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of the body.
const list = async (as = 'owner', query = ''): Promise<any[]> =>
  (await make(server, { as, call: `GET /alarms?device=${d}${query}`, expect: 200 })).body;
const share = (username: string, ...scopes: string[]) =>
  make(server, { as: 'owner', call: `PUT /devices/${d}/shares/${username}`, json: { scopes }, expect: 204 });
const raise = async (as = 'owner'): Promise<string> => {
  await addRule({}, { as });
  await push(41);
  return (await list(as))[0].id;
};

suite('an alarm of a rule', () => {
  test('is open as long as the condition holds, and history afterwards', async () => {
    const rule = await addRule();
    await push(39);
    assert.deepEqual(await list(), []);
    const since = new Date(server.clock.now()).toISOString().replace('.000', '');
    await push(41.5);
    server.clock.advance(minuteMs);
    await push(42);
    const [alarm, ...others] = await list();
    assert.deepEqual(others, []);
    const { id, ...rest } = alarm;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      ...{ kind: 'rule', state: 'active', since, times: 1, value: 41.5, threshold: 40, condition: 's>40' },
      ...{ device_id: d, device_name: 'Field', sensor_id: 's', sensor_name: 'Temperature', unit: 'degree Celsius' },
      ...{ location: { latitude: 1, longitude: 2 }, gateway_id: 'gw' },
      ...{ notification_id: rule, notification_description: 'Too hot', may_update: true },
    });
    await push(40);
    assert.deepEqual(await list(), []);
    const [over] = await list('owner', '&state=cleared');
    assert.equal(over.id, id);
    assert.equal(over.cleared, new Date(server.clock.now()).toISOString().replace('.000', ''));
  });

  test('is open where the rule may not send again yet', async () => {
    await addRule({ throttling: 3600 });
    await push(41);
    await push(1);
    assert.equal((await list()).length, 0);
    server.clock.advance(20 * minuteMs);
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
      server.clock.advance(2 * minuteMs);
      await server.running.idle();
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
    server.clock.advance(11 * minuteMs);
    await server.running.idle();
    const [alarm] = await list();
    assert.deepEqual([alarm.kind, alarm.threshold, alarm.sensor_id], ['rule', 600, 's']);
    await push(1);
    assert.deepEqual(await list(), []);
  });

  test('outlives a restart and a crash, and ends after them', async () => {
    const id = await raise();
    await server.restart();
    assert.deepEqual(
      (await list()).map((alarm) => alarm.id),
      [id],
    );
    await server.crash();
    await push(42);
    assert.deepEqual(
      (await list()).map((alarm) => alarm.id),
      [id],
    );
    await server.crash();
    await push(1);
    assert.deepEqual(await list(), []);
  });

  test('ends when the rule gets another condition, is stopped, or its time is over', async () => {
    const rule = await addRule({ expires: new Date(server.clock.now() + 60 * minuteMs).toISOString() });
    const change = (json: object) =>
      make(server, { as: 'owner', call: `PATCH /notifications/${rule}`, json, expect: 204 });
    await push(41);
    await change({ condition: { devices: [d], sensors: ['s'], expression: 's>50' } });
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
    server.clock.advance(61 * minuteMs);
    await server.running.idle();
    assert.deepEqual(await list(), []);
  });

  test('goes with its rule', async () => {
    const id = await raise();
    const [{ notification_id }] = await list();
    await make(server, { as: 'owner', call: `DELETE /notifications/${notification_id}`, expect: 204 });
    assert.deepEqual(await list('owner', '&state=all'), []);
    await make(server, { as: 'owner', call: `GET /alarms/${id}`, expect: 404 });
    await raise();
  });

  test('follows its device to another id and owner, and its sensor to another id and device', async () => {
    const id = await raise();
    await make(server, { as: 'owner', call: `PUT /devices/${d}/id`, text: `${d}-new`, expect: 204 });
    d = `${d}-new`;
    await make(server, { as: 'owner', call: `PUT /devices/${d}/sensors/s/id`, text: 's2', expect: 204 });
    assert.deepEqual(
      (await list()).map((alarm) => [alarm.id, alarm.device_id, alarm.sensor_id]),
      [[id, d, 's2']],
    );
    await make(server, { as: 'owner', call: `PUT /devices/${d}/owner`, text: 'stranger', expect: 204 });
    assert.deepEqual(await list(), []);
    assert.equal((await list('stranger'))[0].id, id);
    assert.equal((await list('stranger'))[0].value, 41);
    await make(server, { as: 'stranger', call: `DELETE /devices/${d}`, expect: 204 });
    await make(server, { as: 'admin', call: `GET /alarms/${id}`, expect: 404 });
  });
});

test('who gets a device gets what was wrong with it, but not what its former owner wrote', async () => {
  const id = await raise();
  const path = `/alarms/${id}`;
  const note = 'The neighbour has the key: 4711';
  await make(server, { as: 'owner', call: `PUT ${path}/acknowledgement`, json: { note }, expect: 204 });
  const until = new Date(server.clock.now() + 60 * minuteMs).toISOString();
  await make(server, { as: 'owner', call: `PUT ${path}/snooze`, json: { until }, expect: 204 });
  const stream = await EventStream.open(server, 'stranger', '/alarms/live', { 'last-event-id': '0-0' });
  streams.push(stream);
  await make(server, { as: 'owner', call: `PUT /devices/${d}/owner`, text: 'stranger', expect: 204 });
  const [open] = await list('stranger');
  const shown = { id, kind: 'rule', state: 'active', value: 41, device_id: d, may_update: true };
  assert.partialDeepStrictEqual(open, shown);
  const rulesWords = ['notification_id', 'notification_description', 'condition', 'threshold'];
  for (const field of ['acknowledged', 'snoozed_until', 'assigned_to', ...rulesWords])
    assert.ok(!(field in open), field);
  const one = (await make(server, { as: 'stranger', call: `GET ${path}`, expect: 200 })).body;
  const history = (await make(server, { as: 'stranger', call: `GET /devices/${d}/alarms`, expect: 200 })).body;
  assert.deepEqual([one, history[0]], [open, open]);
  const event = await stream.next();
  assert.doesNotMatch(JSON.stringify(event?.data), /Too hot|4711|s>40/);
  // Admins see the rule, and its author as long as they may see the device.
  assert.equal((await list('admin'))[0].notification_description, 'Too hot');
  assert.deepEqual(await list('owner'), []);
  await make(server, { as: 'stranger', call: `PUT /devices/${d}/shares/owner`, json: { scopes: ['devices-data:view'] }, expect: 204 }); // biome-ignore format: one line
  assert.equal((await list('owner'))[0].notification_description, 'Too hot');
  assert.ok(!('acknowledged' in (await list('owner'))[0]));
  // What the new owner writes goes, too, when the device goes back.
  await make(server, { as: 'stranger', call: `PUT ${path}/acknowledgement`, json: { note: 'mine' }, expect: 204 });
  await make(server, { as: 'stranger', call: `DELETE /users/me/received/${d}`, expect: 204 });
  const [back] = await list('owner');
  assert.deepEqual([back.notification_description, back.acknowledged], ['Too hot', undefined]);
});

test('who gets a sensor gets its history, but not what the owner of its former device wrote', async () => {
  const id = await raise();
  const path = `/alarms/${id}`;
  await share('viewer', 'devices-data:view');
  await make(server, { as: 'owner', call: `PUT ${path}/acknowledgement`, json: { note: 'Key 4711' }, expect: 204 });
  await make(server, { as: 'owner', call: `PUT ${path}/assignee`, json: { username: 'viewer' }, expect: 204 });
  await push(1);
  const json = { id: `${d}-own`, sensors: [] };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
  const move = (from: string, to: string) =>
    make(server, { as: 'admin', call: `PUT /devices/${from}/sensors/s/device`, text: to, expect: 204 });
  const kept = async (as: string, device: string) => {
    const call = `GET /devices/${device}/alarms`;
    const [alarm] = (await make(server, { as, call, expect: 200 })).body;
    return [alarm.id, alarm.acknowledged?.note, alarm.assigned_to];
  };
  await move(d, `${d}-own`);
  assert.deepEqual(await kept('owner', `${d}-own`), [id, 'Key 4711', 'viewer']);
  const theirs = { id: `${d}-theirs`, sensors: [] };
  await make(server, { as: 'stranger', call: 'POST /devices', json: theirs, expect: 204 });
  await move(`${d}-own`, `${d}-theirs`);
  assert.deepEqual(await kept('stranger', `${d}-theirs`), [id, undefined, undefined]);
});

suite('who sees alarms', () => {
  test('guests none, strangers none, sharers those of values they may view, admins all', async () => {
    await share('viewer', 'device:view');
    await share('reader', 'device-data:view');
    await share('updater', 'device-data:view', 'device:update');
    const id = await raise();
    const expected = { stranger: false, viewer: false, reader: true, updater: true, owner: true, admin: true };
    for (const call of ['GET /alarms', `GET /alarms/${id}`, `GET /devices/${d}/alarms`, 'GET /alarms/live'])
      await make(server, { call, expect: call === `GET /devices/${d}/alarms` ? 403 : 401 });
    for (const [as, sees] of Object.entries(expected)) {
      assert.equal((await list(as)).length, sees ? 1 : 0, as);
      await make(server, { as, call: `GET /alarms/${id}`, expect: sees ? 200 : 404 });
      await make(server, { as, call: `GET /devices/${d}/alarms`, expect: sees ? 200 : 403 });
    }
    await make(server, { as: 'owner', call: `PUT /devices/${d}/visibility`, text: 'public', expect: 204 });
    assert.equal((await list('stranger')).length, 0, 'being public shows no alarms');
    await make(server, { as: 'guest', call: `GET /devices/${d}/alarms`, expect: 401 });
  });

  test('of a rule of somebody who may not change the device its author alone, and admins', async () => {
    await share('reader', 'device-data:view');
    const id = await raise('reader');
    assert.equal((await list()).length, 0);
    assert.deepEqual(
      (await list('admin')).map((alarm) => alarm.id),
      [id],
    );
    await make(server, { as: 'reader', call: `PUT /alarms/${id}/acknowledgement`, json: {}, expect: 204 });
    await make(server, { as: 'owner', call: `DELETE /devices/${d}/shares/reader`, expect: 204 });
    assert.equal((await list('reader')).length, 0);
  });

  test('of a rule of somebody who has the device by its gateway, with the words of the rule', async () => {
    await make(server, { as: 'owner', call: 'POST /gateways', json: { id: 'gw' }, expect: 200 });
    const scopes = ['devices:update', 'devices-data:view'];
    await make(server, { as: 'owner', call: 'PUT /gateways/gw/shares/updater', json: { scopes, with_devices: true }, expect: 204 }); // biome-ignore format: one line
    await raise('updater');
    for (const as of ['owner', 'updater']) {
      const [{ condition, notification_description: words }] = await list(as);
      assert.deepEqual([condition, words], ['s>40', 'Too hot'], as);
    }
    await make(server, { as: 'owner', call: 'DELETE /gateways/gw', expect: 204 });
  });

  test('by an API key what its scopes and devices leave', async () => {
    const id = await raise();
    const counts: number[] = [];
    for (const json of [
      {},
      { scopes: ['devices-data:view'] },
      { scopes: ['devices:view'] },
      { devices: ['other'] },
      { devices: [d] },
    ]) {
      const { key } = await makeKeyOn(server, 'owner', json);
      const headers = { authorization: `Bearer ${key}` };
      const { body, status } = await server.send('GET', `/api/v2/alarms?device=${d}`, { headers });
      assert.equal(status, 200);
      counts.push(body.length);
      const put = await server.send('PUT', `/api/v2/alarms/${id}/acknowledgement`, { headers, json: {} });
      counts.push(put.status);
    }
    assert.deepEqual(counts, [1, 204, 1, 403, 0, 404, 0, 404, 1, 204]);
  });

  test('without the description of a device of which they may view the values alone', async () => {
    await share('reader', 'device-data:view');
    await share('updater', 'device:view', 'device-data:view');
    await raise();
    const described = ['device_name', 'location', 'gateway_id', 'sensor_name', 'unit'];
    const shownTo = ([alarm]: object[]) => Object.keys(alarm ?? {}).filter((field) => described.includes(field));
    assert.deepEqual(shownTo(await list('updater')).sort(), described.toSorted());
    assert.deepEqual(shownTo(await list('reader')), []);
    assert.equal((await list('reader'))[0].device_id, d);
    assert.deepEqual(await list('reader', '&gateway=gw'), [], 'nor is it found by that');
    assert.equal((await list('updater', '&gateway=gw')).length, 1);
    const { key } = await makeKeyOn(server, 'owner', { scopes: ['devices-data:view'] });
    const headers = { authorization: `Bearer ${key}` };
    assert.deepEqual(shownTo((await server.send('GET', `/api/v2/alarms?device=${d}`, { headers })).body), []);
  });
});

suite('what people do about an alarm', () => {
  test('is for the owner, admins and who may change the device', async () => {
    await share('reader', 'device-data:view');
    await share('updater', 'device-data:view', 'device:update');
    const id = await raise();
    const until = new Date(server.clock.now() + minuteMs).toISOString();
    const statuses = { guest: 401, stranger: 404, reader: 403, updater: 204, owner: 204, admin: 204 };
    for (const [as, expect] of Object.entries(statuses))
      for (const call of [
        { call: `PUT /alarms/${id}/acknowledgement`, json: { note: `by ${as}` } },
        { call: `DELETE /alarms/${id}/acknowledgement` },
        { call: `PUT /alarms/${id}/snooze`, json: { until } },
        { call: `DELETE /alarms/${id}/snooze` },
        { call: `PUT /alarms/${id}/assignee`, json: { username: 'reader' } },
        { call: `DELETE /alarms/${id}/assignee` },
      ])
        await make(server, { as, ...call, expect });
  });

  test('takes of a key the right to change devices, also about a rule of its own user', async () => {
    await share('reader', 'device-data:view');
    const id = await raise('reader');
    for (const [scopes, expected, mayUpdate] of [
      [['devices-data:view'], 403, false],
      [['devices-data:view', 'devices:update'], 204, true],
    ] as const) {
      const { key } = await makeKeyOn(server, 'reader', { scopes });
      const headers = { authorization: `Bearer ${key}` };
      const { body } = await server.send('GET', `/api/v2/alarms/${id}`, { headers });
      assert.equal(body.may_update, mayUpdate);
      for (const [field, json] of [
        ['acknowledgement', {}],
        ['assignee', { username: 'reader' }],
      ] as const) {
        const { status } = await server.send('PUT', `/api/v2/alarms/${id}/${field}`, { headers, json });
        assert.equal(status, expected, `${scopes} ${field}`);
      }
    }
  });

  test('is shown to everybody who sees it, and filters by it', async () => {
    const id = await raise();
    const until = '2026-01-15T18:00:00Z';
    await make(server, {
      as: 'owner',
      call: `PUT /alarms/${id}/acknowledgement`,
      json: { note: ' on my way ' },
      expect: 204,
    });
    await make(server, { as: 'owner', call: `PUT /alarms/${id}/assignee`, json: { username: 'admin' }, expect: 204 });
    const [alarm] = await list('admin', '&acknowledged=true&assigned_to=admin');
    assert.deepEqual(
      [alarm.acknowledged.by, alarm.acknowledged.note, alarm.assigned_to],
      ['owner', 'on my way', 'admin'],
    );
    assert.deepEqual(await list('owner', '&acknowledged=false'), []);
    assert.deepEqual(await list('owner', '&snoozed=true'), []);
    const soon = new Date(server.clock.now() + 2 * minuteMs).toISOString();
    await make(server, { as: 'owner', call: `PUT /alarms/${id}/snooze`, json: { until: soon }, expect: 204 });
    assert.equal((await list('owner', '&snoozed=true')).length, 1);
    server.clock.advance(3 * minuteMs);
    assert.equal((await list('owner', '&snoozed=false')).length, 1);
    for (const call of ['acknowledgement', 'assignee', 'snooze'])
      await make(server, { as: 'owner', call: `DELETE /alarms/${id}/${call}`, expect: 204 });
    const [plain] = await list();
    assert.deepEqual([plain.acknowledged, plain.assigned_to, plain.snoozed_until], [undefined, undefined, undefined]);
    assert.ok(until);
  });

  test('stays with one that begins again soon, which is the same alarm', async () => {
    const id = await raise();
    await make(server, { as: 'owner', call: `PUT /alarms/${id}/acknowledgement`, json: {}, expect: 204 });
    await push(1);
    server.clock.advance(limits.alarmReopenMs - 1);
    await push(41);
    const [alarm] = await list();
    assert.deepEqual([alarm.id, alarm.times, alarm.acknowledged.by], [id, 2, 'owner']);
    await push(1);
    server.clock.advance(limits.alarmReopenMs + 1);
    await push(41);
    const [other] = await list();
    assert.deepEqual([other.id === id, other.times, other.acknowledged], [false, 1, undefined]);
  });

  test('takes no note that is too long, no time that is over, no user who may not see it', async () => {
    const id = await raise();
    const bad = [
      { call: 'acknowledgement', json: { note: 'x'.repeat(limits.alarmNoteCharsMax + 1) } },
      { call: 'acknowledgement', json: { note: 'a\u0000b' } },
      { call: 'acknowledgement', json: { note: 1 } },
      { call: 'snooze', json: { until: '2026-01-01T00:00:00Z' } },
      { call: 'snooze', json: { until: '2036-01-01T00:00:00Z' } },
      { call: 'snooze', json: { until: 'tomorrow' } },
      { call: 'snooze', json: {} },
      { call: 'assignee', json: { username: 'stranger' } },
      { call: 'assignee', json: { username: 'nobody' } },
      { call: 'assignee', json: { username: 'guest' } },
    ];
    for (const { call, json } of bad)
      await make(server, { as: 'owner', call: `PUT /alarms/${id}/${call}`, json, expect: 400 });
    for (const query of ['state=x', 'kind=x', 'limit=0', 'acknowledged=x'])
      await make(server, { as: 'owner', call: `GET /alarms?${query}`, expect: 400 });
  });
});

test('a list of alarms has pages, newest first', async () => {
  for (const expression of ['s>1', 's>2', 's>3']) {
    await addRule({}, { expression });
    await push(41);
    server.clock.advance(1000);
  }
  const { body, headers } = await make(server, { as: 'owner', call: `GET /alarms?device=${d}&limit=2`, expect: 200 });
  assert.deepEqual(
    body.map(({ condition }: { condition: string }) => condition),
    ['s>3', 's>2'],
  );
  assert.equal(headers['x-total-count'], '3');
  assert.match(String(headers['link']), /offset=2.*rel="next"/);
});

suite('a live stream of alarms', () => {
  const open = async (as: string, headers: Readonly<Record<string, string>> = {}) => {
    const stream = await EventStream.open(server, as, '/alarms/live', headers);
    streams.push(stream);
    return stream;
  };

  test('tells what begins, what people do about it, and what ends; and to who returns what they missed', async () => {
    const stream = await open('owner');
    const id = await raise();
    const begun = await stream.next();
    assert.deepEqual([begun?.event, begun?.data.id, begun?.data.state], ['alarm', id, 'active']);
    await make(server, { as: 'owner', call: `PUT /alarms/${id}/acknowledgement`, json: { note: 'mine' }, expect: 204 });
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
    const stream = await EventStream.open(server, 'owner', '/alarms/live', { 'last-event-id': '0-0' });
    streams.push(stream);
    const told = new Set<string>();
    while (told.size < 6) {
      const { data } = (await stream.next()) ?? {};
      if (data?.device_id === d) told.add(data.id);
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
    await make(server, { as: 'owner', call: `PUT /devices/${d}/owner`, text: 'stranger', expect: 204 });
    await make(server, { as: 'stranger', call: `PUT /alarms/${id}/acknowledgement`, json: {}, expect: 204 });
    const first = await stranger.next();
    assert.equal(first?.data.acknowledged.by, 'stranger', 'the first that the stranger was told');
  });
});

test('a stranger who has a rule flap costs one row, and the owner sees nothing of it', async () => {
  await make(server, { as: 'owner', call: `PUT /devices/${d}/visibility`, text: 'public', expect: 204 });
  await addRule({ throttling: 3600 }, { as: 'stranger' });
  const before = await server.call('stranger', 'GET', '/alarms?state=all');
  for (let n = 0; n < 20; n++) {
    const json = Array.from({ length: 1000 }, (_, at) => ({ value: at % 2 === 0 ? 41 : 1 }));
    await server.call('stranger', 'POST', `/devices/${d}/sensors/s/values`, { json });
  }
  await server.running.idle();
  const made = await list('stranger', '&state=all');
  assert.equal(made.length, 1);
  assert.equal(made[0].times, 10_000);
  assert.equal(
    Number(before.headers['x-total-count']) + 1,
    (await server.call('stranger', 'GET', '/alarms?state=all')).body.length,
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
