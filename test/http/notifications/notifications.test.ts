// Notifications over REST as records (spec 2.5, 3, 4.1; contract 7). How they fire: firing.test.ts.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { action, addRule, condition, rule } from '../../support/api/example-rule.ts';
import { openRegistryOf } from '../../support/data.ts';
import { addUsers, removeUser } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const as = 'owner';
let id = '';
let path = '';

const add = (who: string, json: unknown) => addRule(server, who, json);

async function read(of = path, who = as) {
  return (await make(server, { as: who, call: `GET ${of}`, expect: 200 })).body;
}

beforeEach(async () => {
  id = await add(as, rule);
  path = `/notifications/${id}`;
});

describe('a notification', () => {
  test('is read back as it was given, with what the service knows of it', async () => {
    assert.deepEqual(await read(), {
      id,
      owner: 'owner',
      description: 'Cold',
      condition,
      action,
      throttling: 3600,
      expires: '2026-06-08T18:20:27.500Z',
      status: 'active',
      times_sent: 0,
    });
  });

  test('has defaults, and no key without content', async () => {
    const bare = { condition: {}, action: { usernames: [], channels: [], message: '' } };
    const nulls = { description: null, expires: null, throttling: null, status: null };
    const more = {
      condition: { expression: null },
      action: { ...bare.action, type: null },
      times_sent: 9,
      id: 'x',
      owner: 'admin',
    };
    for (const json of [bare, { ...bare, ...nulls }, { ...nulls, ...more }]) {
      const made = await add(as, json);
      const record = await read(`/notifications/${made}`);
      assert.deepEqual(record, { id: made, owner: 'owner', ...bare, throttling: 0, status: 'active', times_sent: 0 });
    }
  });

  test('is answered with its id as text, or as JSON where Accept prefers that, and with Location', async () => {
    for (const [accept, type] of [
      [undefined, 'text/plain;charset=utf-8'],
      ['*/*', 'text/plain;charset=utf-8'],
      ['text/plain, application/json;q=0.9', 'text/plain;charset=utf-8'],
      ['application/json', 'application/json; charset=utf-8'],
    ]) {
      const headers = accept === undefined ? {} : { accept };
      const answer = await make(server, { as, call: 'POST /notifications', json: rule, headers, expect: 200 });
      assert.equal(answer.headers['content-type'], type);
      const made = answer.body ?? answer.text;
      assert.match(made, /^[0-9a-f]{24}$/);
      assert.equal(answer.headers.location, `/api/v2/notifications/${made}`);
    }
  });

  test('comes whole where the create prefers the record', async () => {
    const headers = { prefer: 'return=representation' };
    const answer = await make(server, { as, call: 'POST /notifications', json: rule, headers, expect: 201 });
    assert.equal(answer.headers.location, `/api/v2/notifications/${answer.body.id}`);
    assert.deepEqual(answer.body, { ...(await read()), id: answer.body.id });
  });

  test('takes both forms of action, and every channel', async () => {
    const actions = [
      { type: 'SocialAction', value: action },
      {
        type: 'ActuationAction',
        value: { device_id: 'd1', actuator_id: 'v', actuator_value: { on: [null, 'TC {TC}'] } },
      },
      { type: 'ActuationAction', value: { device_id: 'd1', actuator_id: 'v', actuator_value: null } },
      { ...action, channels: ['sms', 'voice', 'twitter', 'none', 'email', 'webhook', 'telegram'] },
    ];
    for (const given of actions) {
      const made = await add(as, { ...rule, action: given });
      assert.deepEqual((await read(`/notifications/${made}`)).action, given);
    }
  });

  test('with a malformed id is 400 to a read and 404 to a removal, in both versions', async () => {
    for (const id of ['1', 'x'.repeat(24), 'undefined']) {
      for (const base of ['/api/v2', '/api/v1']) {
        assert.equal((await server.request(as, 'GET', `${base}/notifications/${id}`)).status, 400);
        for (const who of ['guest', as, 'admin'])
          assert.equal((await server.request(who, 'DELETE', `${base}/notifications/${id}`)).status, 404, who);
      }
    }
  });

  test('past its expiry keeps its status and says that it has expired', async () => {
    const expires = new Date(server.clock.now() + 1000).toISOString();
    const made = `/notifications/${await add(as, { ...rule, expires })}`;
    assert.equal('expired' in (await read(made)), false);
    server.clock.advance(1000);
    const { expired, status } = await read(made);
    assert.deepEqual([expired, status], [true, 'active']);
    const old = await read(`/notifications/${await add(as, { ...rule, expires: '2001-01-01' + 'T00:00:00Z' })}`);
    assert.equal(old.expired, true);
  });

  test('shows what became of its last sendings, once there were some', async () => {
    const { registry, close } = await openRegistryOf(server.folder);
    const facts = { times_sent: 3, last_notification: 1000, last_success: 2000, last_success_code: 201 };
    const failure = { last_failure: 1500, last_failure_code: 401, last_failure_reason: 'bad login' };
    await registry.write([
      registry.read
        .updateTable('notification')
        .set({ ...facts, ...failure })
        .where('id', '=', id),
    ]);
    await close();
    const { times_sent, last_notification, last_notif, last_success, last_success_code, ...rest } = await read();
    assert.deepEqual([times_sent, last_notification, last_notif], [3, '1970-01-01T00:00:01Z', '1970-01-01T00:00:01Z']);
    assert.deepEqual([last_success, last_success_code], ['1970-01-01T00:00:02Z', 201]);
    const { last_failure, last_failure_code, last_failure_reason } = rest;
    assert.deepEqual(
      [last_failure, last_failure_code, last_failure_reason],
      ['1970-01-01T00:00:01.500Z', 401, 'bad login'],
    );
  });

  test('survives a restart', async () => {
    const before = await read();
    await server.restart();
    assert.deepEqual(await read(), before);
  });

  test('goes with its author, and with nobody else', async () => {
    await addUsers(server.folder, ['leaver'], server.clock);
    const gone = await add('leaver', rule);
    await removeUser(server.folder, 'leaver');
    await make(server, { as: 'admin', call: `GET /notifications/${gone}`, expect: 404 });
    await read();
  });
});

describe('the status', () => {
  test('is set by text or by a JSON string', async () => {
    for (const [carries, status] of [
      [{ text: 'inactive' }, 'inactive'],
      [{ text: 'active\n' }, 'active'],
      [{ json: 'inactive' }, 'inactive'],
      [{ body: 'active', headers: { 'content-type': 'text/plain; charset=utf-8' } }, 'active'],
    ] as const) {
      await make(server, { as, call: `PUT ${path}/status`, ...carries, expect: 204 });
      assert.deepEqual(await read(), { ...(await read()), status });
    }
  });

  test('is nothing else than active or inactive', async () => {
    for (const carries of [{ text: 'paused' }, { text: '' }, { json: { status: 'active' } }, { json: null }, {}]) {
      await make(server, { as, call: `PUT ${path}/status`, ...carries, expect: 400 });
    }
  });
});

describe('a change', () => {
  const patch = (json: unknown, expect = 204) => make(server, { as, call: `PATCH ${path}`, json, expect });

  test('leaves what it does not name, in the condition and the action too', async () => {
    const before = await read();
    await patch({ description: 'Colder', condition: { expression: 'TC<30' }, action: { message: 'now' } });
    const expected = {
      ...before,
      description: 'Colder',
      condition: { ...condition, expression: 'TC<30' },
      action: { ...action, message: 'now' },
    };
    assert.deepEqual(await read(), expected);
    await patch({});
    await patch({ id: 'x', owner: 'admin', times_sent: 5, last_notification: '2026-01-01T00:00:00Z', expired: true });
    assert.deepEqual(await read(), expected);
    await patch({ throttling: 5, status: 'inactive', expires: '2027-01-01T00:00:00Z' });
    assert.deepEqual(await read(), { ...expected, throttling: 5, status: 'inactive', expires: '2027-01-01T00:00:00Z' });
  });

  test('takes away what is null, so that the default holds', async () => {
    await patch({ hysteresis: 'TC>2', recovery_message: 'over', for: 60, silence: 60 });
    await patch({ hysteresis: null, recovery_message: null, for: null, silence: null });
    await patch({ status: 'inactive' });
    await patch({ description: null, expires: null, throttling: null, status: null, condition: { expression: null } });
    const { expression: _, ...rest } = condition;
    assert.deepEqual(await read(), {
      id,
      owner: 'owner',
      condition: rest,
      action,
      throttling: 0,
      status: 'active',
      times_sent: 0,
    });
  });

  test('to another form or type of action replaces the whole', async () => {
    const social = { type: 'SocialAction', value: action };
    const actuation = {
      type: 'ActuationAction',
      value: { device_id: 'd', actuator_id: 'a', actuator_value: { on: 1 } },
    };
    for (const given of [social, actuation]) {
      await patch({ action: given });
      assert.deepEqual((await read()).action, given);
    }
    for (const actuator_value of [null, { off: null }, 'x']) {
      await patch({ action: { value: { actuator_value } } });
      assert.deepEqual((await read()).action, { ...actuation, value: { ...actuation.value, actuator_value } });
    }
    const flat = { usernames: ['awa'], channels: ['none'], message: 'flat' };
    for (const given of [actuation, social]) {
      await patch({ action: given });
      await patch({ action: flat });
      assert.deepEqual((await read()).action, flat);
    }
  });

  test('that leaves no good rule changes nothing', async () => {
    const rows: readonly (readonly [json: unknown, pointer: string])[] = [
      [{ condition: { expression: 'TC<' } }, '/condition/expression'],
      [{ condition: { devices: 'd1' } }, '/condition/devices'],
      [{ action: { message: null } }, '/action/message'],
      [{ action: { type: 'Other' } }, '/action/type'],
      [{ action: { type: 'ActuationAction', value: { device_id: 'd' } } }, '/action/value/actuator_id'],
      [{ condition: null }, '/condition'],
      [{ action: [] }, '/action'],
      [{ throttling: -1 }, '/throttling'],
      [{ status: 'paused' }, '/status'],
      [{ expires: 'soon' }, '/expires'],
    ];
    for (const [json, pointer] of rows) {
      const { body } = await patch(json, 400);
      assert.equal(body.errors[0].pointer, pointer, JSON.stringify(json));
    }
    await patch([], 400);
    await make(server, { as, call: `PATCH ${path}`, text: '{}', expect: 415 });
  });

  test('cannot make a rule grow beyond its bound, bit by bit', async () => {
    await patch({ condition: { a: 'x'.repeat(20_000) } });
    await patch({ condition: { b: 'x'.repeat(20_000) } }, 413);
  });
});

describe('a bad notification is refused where it is bad:', () => {
  const { notificationEntriesMax: entriesMax, messageCharsMax, expressionCharsMax } = limits;
  const many = (count: number) => Array.from({ length: count }, (_, n) => `d${n}`);
  const rows: readonly (readonly [json: object, pointer: string, expect?: number])[] = [
    [{ condition: undefined }, '/condition'],
    [{ action: null }, '/action'],
    [{ condition: 'TC<4' }, '/condition'],
    [{ action: [] }, '/action'],
    [{ description: 5 }, '/description'],
    [{ description: 'x'.repeat(limits.descriptionBytesMax + 1) }, '/description', 413],
    [{ status: 'paused' }, '/status'],
    [{ throttling: '60' }, '/throttling'],
    [{ throttling: 1.5 }, '/throttling'],
    [{ throttling: -1 }, '/throttling'],
    [{ throttling: 1e13 }, '/throttling'],
    [{ expires: 'tomorrow' }, '/expires'],
    [{ expires: '' }, '/expires'],
    [{ expires: 5 }, '/expires'],
    [{ condition: { devices: 'd1' } }, '/condition/devices'],
    [{ condition: { devices: [5] } }, '/condition/devices/0'],
    [{ condition: { sensors: many(entriesMax + 1) } }, '/condition/sensors'],
    [{ condition: { sensors: ['x'.repeat(257)] } }, '/condition/sensors/0', 413],
    [{ condition: { expression: 5 } }, '/condition/expression'],
    [{ condition: { expression: 'x'.repeat(expressionCharsMax + 1) } }, '/condition/expression', 413],
    [{ condition: { note: 'x'.repeat(32_768) } }, '/condition', 413],
    [{ action: {} }, '/action/usernames'],
    [{ action: { ...action, usernames: 'awa' } }, '/action/usernames'],
    [{ action: { ...action, usernames: many(entriesMax + 1) } }, '/action/usernames'],
    [{ action: { ...action, channels: undefined } }, '/action/channels'],
    [{ action: { ...action, channels: ['sms', 'pigeon'] } }, '/action/channels/1'],
    [{ action: { ...action, channels: Array(11).fill('sms') } }, '/action/channels'],
    [{ action: { ...action, message: 'x'.repeat(messageCharsMax + 1) } }, '/action/message', 413],
    [{ action: { ...action, message: undefined } }, '/action/message'],
    [{ action: { type: 'SocialAction', ...action } }, '/action/value'],
    [{ action: { type: 'SocialAction', value: { ...action, message: 5 } } }, '/action/value/message'],
    [{ action: { type: 'Action', value: action } }, '/action/type'],
    [
      { action: { type: 'ActuationAction', value: { actuator_id: 'a', actuator_value: 1 } } },
      '/action/value/device_id',
    ],
    [
      { action: { type: 'ActuationAction', value: { device_id: 'd', actuator_id: 'a' } } },
      '/action/value/actuator_value',
    ],
  ];
  for (const [change, pointer, expect = 400] of rows) {
    test(`${pointer} of ${JSON.stringify(change).slice(0, 80)}`, async () => {
      const { body } = await make(server, { as, call: 'POST /notifications', json: { ...rule, ...change }, expect });
      assert.deepEqual([body.errors.length, body.errors[0].pointer], [1, pointer]);
    });
  }

  test('an expression at its column', async () => {
    const json = { ...rule, condition: { ...condition, expression: 'TC<40;TC1>hot' } };
    const { body } = await make(server, { as, call: 'POST /notifications', json, expect: 400 });
    assert.match(body.detail, /at column 11: expected a number/);
    assert.equal(body.errors[0].pointer, '/condition/expression');
  });
});
