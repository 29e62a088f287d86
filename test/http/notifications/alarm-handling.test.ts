// Who sees alarms of rules, and what people do about them.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { alarmField } from '../../support/alarm-field.ts';
import { make } from '../../support/api/calls.ts';
import { makeKeyOn } from '../../support/keys.ts';
import { EventStream } from '../../support/peers/event-stream.ts';

const minuteMs = 60_000;
const field = alarmField();
const { push, list, share, raise } = field;

test('who gets a device gets what was wrong with it, but not what its former owner wrote', async () => {
  const id = await raise();
  const path = `/alarms/${id}`;
  const note = 'The neighbour has the key: 4711';
  await make(field.server, { as: 'owner', call: `PUT ${path}/acknowledgement`, json: { note }, expect: 204 });
  const until = new Date(field.server.clock.now() + 60 * minuteMs).toISOString();
  await make(field.server, { as: 'owner', call: `PUT ${path}/snooze`, json: { until }, expect: 204 });
  const stream = await EventStream.open(field.server, 'stranger', '/alarms/live', { 'last-event-id': '0-0' });
  field.streams.push(stream);
  await make(field.server, { as: 'owner', call: `PUT /devices/${field.device}/owner`, text: 'stranger', expect: 204 });
  const [open] = await list('stranger');
  const shown = { id, kind: 'rule', state: 'active', value: 41, device_id: field.device, may_update: true };
  assert.partialDeepStrictEqual(open, shown);
  const rulesWords = ['notification_id', 'notification_description', 'condition', 'threshold'];
  for (const field of ['acknowledged', 'snoozed_until', 'assigned_to', ...rulesWords])
    assert.ok(!(field in open), field);
  const one = (await make(field.server, { as: 'stranger', call: `GET ${path}`, expect: 200 })).body;
  const history = (
    await make(field.server, { as: 'stranger', call: `GET /devices/${field.device}/alarms`, expect: 200 })
  ).body;
  assert.deepEqual([one, history[0]], [open, open]);
  const event = await stream.next();
  assert.doesNotMatch(JSON.stringify(event?.data), /Too hot|4711|s>40/);
  // Admins see the rule, and its author as long as they may see the device.
  assert.equal((await list('admin'))[0].notification_description, 'Too hot');
  assert.deepEqual(await list('owner'), []);
  await make(field.server, { as: 'stranger', call: `PUT /devices/${field.device}/shares/owner`, json: { scopes: ['devices-data:view'] }, expect: 204 }); // biome-ignore format: one line
  assert.equal((await list('owner'))[0].notification_description, 'Too hot');
  assert.ok(!('acknowledged' in (await list('owner'))[0]));
  // What the new owner writes goes, too, when the device goes back.
  await make(field.server, {
    as: 'stranger',
    call: `PUT ${path}/acknowledgement`,
    json: { note: 'mine' },
    expect: 204,
  });
  await make(field.server, { as: 'stranger', call: `DELETE /users/me/received/${field.device}`, expect: 204 });
  const [back] = await list('owner');
  assert.deepEqual([back.notification_description, back.acknowledged], ['Too hot', undefined]);
});

test('who gets a sensor gets its history, but not what the owner of its former device wrote', async () => {
  const id = await raise();
  const path = `/alarms/${id}`;
  await share('viewer', 'devices-data:view');
  await make(field.server, {
    as: 'owner',
    call: `PUT ${path}/acknowledgement`,
    json: { note: 'Key 4711' },
    expect: 204,
  });
  await make(field.server, { as: 'owner', call: `PUT ${path}/assignee`, json: { username: 'viewer' }, expect: 204 });
  await push(1);
  const json = { id: `${field.device}-own`, sensors: [] };
  await make(field.server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
  const move = (from: string, to: string) =>
    make(field.server, { as: 'admin', call: `PUT /devices/${from}/sensors/s/device`, text: to, expect: 204 });
  const kept = async (as: string, device: string) => {
    const call = `GET /devices/${device}/alarms`;
    const [alarm] = (await make(field.server, { as, call, expect: 200 })).body;
    return [alarm.id, alarm.acknowledged?.note, alarm.assigned_to];
  };
  await move(field.device, `${field.device}-own`);
  assert.deepEqual(await kept('owner', `${field.device}-own`), [id, 'Key 4711', 'viewer']);
  const theirs = { id: `${field.device}-theirs`, sensors: [] };
  await make(field.server, { as: 'stranger', call: 'POST /devices', json: theirs, expect: 204 });
  await move(`${field.device}-own`, `${field.device}-theirs`);
  assert.deepEqual(await kept('stranger', `${field.device}-theirs`), [id, undefined, undefined]);
});

suite('who sees alarms', () => {
  test('guests none, strangers none, sharers those of values they may view, admins all', async () => {
    await share('viewer', 'device:view');
    await share('reader', 'device-data:view');
    await share('updater', 'device-data:view', 'device:update');
    const id = await raise();
    const expected = { stranger: false, viewer: false, reader: true, updater: true, owner: true, admin: true };
    for (const call of ['GET /alarms', `GET /alarms/${id}`, `GET /devices/${field.device}/alarms`, 'GET /alarms/live'])
      await make(field.server, { call, expect: call === `GET /devices/${field.device}/alarms` ? 403 : 401 });
    for (const [as, sees] of Object.entries(expected)) {
      assert.equal((await list(as)).length, sees ? 1 : 0, as);
      await make(field.server, { as, call: `GET /alarms/${id}`, expect: sees ? 200 : 404 });
      await make(field.server, { as, call: `GET /devices/${field.device}/alarms`, expect: sees ? 200 : 403 });
    }
    await make(field.server, {
      as: 'owner',
      call: `PUT /devices/${field.device}/visibility`,
      text: 'public',
      expect: 204,
    });
    assert.equal((await list('stranger')).length, 0, 'being public shows no alarms');
    await make(field.server, { as: 'guest', call: `GET /devices/${field.device}/alarms`, expect: 401 });
  });

  test('of a rule of somebody who may not change the device its author alone, and admins', async () => {
    await share('reader', 'device-data:view');
    const id = await raise('reader');
    assert.equal((await list()).length, 0);
    assert.deepEqual(
      (await list('admin')).map((alarm) => alarm.id),
      [id],
    );
    await make(field.server, { as: 'reader', call: `PUT /alarms/${id}/acknowledgement`, json: {}, expect: 204 });
    await make(field.server, { as: 'owner', call: `DELETE /devices/${field.device}/shares/reader`, expect: 204 });
    assert.equal((await list('reader')).length, 0);
  });

  test('of a rule of somebody who has the device by its gateway, with the words of the rule', async () => {
    await make(field.server, { as: 'owner', call: 'POST /gateways', json: { id: 'gw' }, expect: 200 });
    const scopes = ['devices:update', 'devices-data:view'];
    await make(field.server, { as: 'owner', call: 'PUT /gateways/gw/shares/updater', json: { scopes, with_devices: true }, expect: 204 }); // biome-ignore format: one line
    await raise('updater');
    for (const as of ['owner', 'updater']) {
      const [{ condition, notification_description: words }] = await list(as);
      assert.deepEqual([condition, words], ['s>40', 'Too hot'], as);
    }
    await make(field.server, { as: 'owner', call: 'DELETE /gateways/gw', expect: 204 });
  });

  test('by an API key what its scopes and devices leave', async () => {
    const id = await raise();
    const counts: number[] = [];
    for (const json of [
      {},
      { scopes: ['devices-data:view'] },
      { scopes: ['devices:view'] },
      { devices: ['other'] },
      { devices: [field.device] },
    ]) {
      const { key } = await makeKeyOn(field.server, 'owner', json);
      const headers = { authorization: `Bearer ${key}` };
      const { body, status } = await field.server.send('GET', `/api/v2/alarms?device=${field.device}`, { headers });
      assert.equal(status, 200);
      counts.push(body.length);
      const put = await field.server.send('PUT', `/api/v2/alarms/${id}/acknowledgement`, { headers, json: {} });
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
    assert.equal((await list('reader'))[0].device_id, field.device);
    assert.deepEqual(await list('reader', '&gateway=gw'), [], 'nor is it found by that');
    assert.equal((await list('updater', '&gateway=gw')).length, 1);
    const { key } = await makeKeyOn(field.server, 'owner', { scopes: ['devices-data:view'] });
    const headers = { authorization: `Bearer ${key}` };
    assert.deepEqual(
      shownTo((await field.server.send('GET', `/api/v2/alarms?device=${field.device}`, { headers })).body),
      [],
    );
  });
});

suite('what people do about an alarm', () => {
  test('is for the owner, admins and who may change the device', async () => {
    await share('reader', 'device-data:view');
    await share('updater', 'device-data:view', 'device:update');
    const id = await raise();
    const until = new Date(field.server.clock.now() + minuteMs).toISOString();
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
        await make(field.server, { as, ...call, expect });
  });

  test('takes of a key the right to change devices, also about a rule of its own user', async () => {
    await share('reader', 'device-data:view');
    const id = await raise('reader');
    for (const [scopes, expected, mayUpdate] of [
      [['devices-data:view'], 403, false],
      [['devices-data:view', 'devices:update'], 204, true],
    ] as const) {
      const { key } = await makeKeyOn(field.server, 'reader', { scopes });
      const headers = { authorization: `Bearer ${key}` };
      const { body } = await field.server.send('GET', `/api/v2/alarms/${id}`, { headers });
      assert.equal(body.may_update, mayUpdate);
      for (const [what, json] of [
        ['acknowledgement', {}],
        ['assignee', { username: 'reader' }],
      ] as const) {
        const { status } = await field.server.send('PUT', `/api/v2/alarms/${id}/${what}`, { headers, json });
        assert.equal(status, expected, `${scopes} ${what}`);
      }
    }
  });

  test('is shown to everybody who sees it, and filters by it', async () => {
    const id = await raise();
    const until = '2026-01-15T18:00:00Z';
    await make(field.server, {
      as: 'owner',
      call: `PUT /alarms/${id}/acknowledgement`,
      json: { note: ' on my way ' },
      expect: 204,
    });
    await make(field.server, {
      as: 'owner',
      call: `PUT /alarms/${id}/assignee`,
      json: { username: 'admin' },
      expect: 204,
    });
    const [alarm] = await list('admin', '&acknowledged=true&assigned_to=admin');
    assert.deepEqual(
      [alarm.acknowledged.by, alarm.acknowledged.note, alarm.assigned_to],
      ['owner', 'on my way', 'admin'],
    );
    assert.deepEqual(await list('owner', '&acknowledged=false'), []);
    assert.deepEqual(await list('owner', '&snoozed=true'), []);
    const soon = new Date(field.server.clock.now() + 2 * minuteMs).toISOString();
    await make(field.server, { as: 'owner', call: `PUT /alarms/${id}/snooze`, json: { until: soon }, expect: 204 });
    assert.equal((await list('owner', '&snoozed=true')).length, 1);
    field.server.clock.advance(3 * minuteMs);
    assert.equal((await list('owner', '&snoozed=false')).length, 1);
    for (const call of ['acknowledgement', 'assignee', 'snooze'])
      await make(field.server, { as: 'owner', call: `DELETE /alarms/${id}/${call}`, expect: 204 });
    const [plain] = await list();
    assert.deepEqual([plain.acknowledged, plain.assigned_to, plain.snoozed_until], [undefined, undefined, undefined]);
    assert.ok(until);
  });

  test('stays with one that begins again soon, which is the same alarm', async () => {
    const id = await raise();
    await make(field.server, { as: 'owner', call: `PUT /alarms/${id}/acknowledgement`, json: {}, expect: 204 });
    await push(1);
    field.server.clock.advance(limits.alarmReopenMs - 1);
    await push(41);
    const [alarm] = await list();
    assert.deepEqual([alarm.id, alarm.times, alarm.acknowledged.by], [id, 2, 'owner']);
    await push(1);
    field.server.clock.advance(limits.alarmReopenMs + 1);
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
      await make(field.server, { as: 'owner', call: `PUT /alarms/${id}/${call}`, json, expect: 400 });
    for (const query of ['state=x', 'kind=x', 'limit=0', 'acknowledged=x'])
      await make(field.server, { as: 'owner', call: `GET /alarms?${query}`, expect: 400 });
  });
});
