// The history of actuators over REST and MQTT: who set what by which door, who sees that, and what the device confirms
// (contract 4).
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { addUsers } from '../../support/people.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let count = 0;
let id = '';
let path = '';

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, sharers, server.clock);
});
after(() => server.stop());
beforeEach(async () => {
  count += 1;
  id = `device-${count}`;
  path = `/devices/${id}/actuators/valve`;
  await makeDevice('owner', id);
});

async function makeDevice(as: string, name: string, visibility?: string): Promise<void> {
  const json = { id: name, visibility, sensors: [{ id: 's' }], actuators: [{ id: 'valve' }] };
  await make(server, { as, call: 'POST /devices', json, expect: 204 });
}

const set = (as: string, value: unknown, expect = 204) =>
  make(server, { as, call: `PUT ${path}/value`, json: value, expect });

interface Shown {
  readonly value: unknown;
  readonly timestamp: string;
  readonly door: string;
  readonly username?: string;
  readonly key?: string;
  readonly rule?: string;
  readonly delivered: boolean;
  readonly date_delivered?: string;
  readonly confirmed: boolean;
  readonly date_confirmed?: string;
  readonly ack?: unknown;
}

async function values(as = 'owner', query = 'lastN=100'): Promise<Shown[]> {
  await server.running.idle();
  return (await make(server, { as, call: `GET ${path}/values?${query}`, expect: 200 })).body;
}

suite('a setting', () => {
  test('says who set it, when, and by which door', async () => {
    const at = () => new Date(server.clock.now()).toISOString().replace('.000', '');
    await set('owner', { on: [null] });
    const first = at();
    server.clock.advance(1_000);
    const client = await Client.connect(server, 'admin');
    await client.publish(`/devices/${id}/actuators/valve/value`, '2', { qos: 1 });
    await client.end();
    const { body } = await make(server, {
      ...{
        as: 'owner',
        call: 'POST /auth/keys',
        json: { name: 'gateway key', scopes: ['devices:update'] },
        expect: 200,
      },
    });
    const authorization = `Bearer ${body.key}`;
    const keyed = { json: 3, headers: { authorization } };
    assert.equal((await server.send('PUT', `/api/v2${path}/value`, keyed)).status, 204);
    const credentials = { username: 'owner', password: 'talking drum' };
    const session = await server.send('POST', '/api/v2/auth/session', { json: credentials });
    const headers = { authorization: `Bearer ${session.body?.token ?? session.text.replaceAll('"', '')}` };
    assert.equal((await server.send('PUT', `/api/v2${path}/value`, { json: 4, headers })).status, 204);
    const rule = {
      ...{ description: 'opens', condition: { devices: [id], sensors: ['s'], expression: 's > 1' }, throttling: 0 },
      action: { type: 'ActuationAction', value: { device_id: id, actuator_id: 'valve', actuator_value: '5' } },
    };
    const { text: ruleId } = await make(server, { as: 'owner', call: 'POST /notifications', json: rule, expect: 200 });
    await make(server, { as: 'owner', call: `POST /devices/${id}/sensors/s/value`, json: { value: 2 }, expect: 204 });
    await make(server, {
      as: 'owner',
      call: `POST /devices/${id}/actuators`,
      json: { id: 'valve', value: 6 },
      expect: 204,
    });
    const shown = (await values()).map(({ value, door, username, key, rule }) => [value, door, username, key, rule]);
    assert.deepEqual(shown, [
      [6, 'rest', 'owner', undefined, undefined],
      ['5', 'rule', 'owner', undefined, ruleId],
      [4, 'dashboard', 'owner', undefined, undefined],
      [3, 'rest', 'owner', 'gateway key', undefined],
      [2, 'mqtt', 'admin', undefined, undefined],
      [{ on: [null] }, 'rest', 'owner', undefined, undefined],
    ]);
    const oldest = (await values()).at(-1);
    assert.deepEqual([oldest?.timestamp, oldest?.delivered, oldest?.confirmed], [first, false, false]);
  });

  test('that is refused leaves no trace', async () => {
    await set('stranger', 1, 403);
    await set('owner', 'x'.repeat(limits.valueBytesMax), 413);
    assert.deepEqual(await values(), []);
  });

  test('is delivered where a client of a user who may set the device has it, not where a reader has', async () => {
    await make(server, { as: 'owner', call: `PUT /devices/${id}/visibility`, text: 'public', expect: 204 });
    const reader = await Client.connect(server, 'stranger');
    await reader.subscribe('devices/#');
    await set('owner', 1);
    assert.equal((await values())[0]?.delivered, false);
    const own = await Client.connect(server, 'owner');
    await own.subscribe(['devices/#', '/devices/#'], 1);
    server.clock.advance(500);
    await set('owner', 2);
    const [newest] = await values();
    assert.equal(newest?.delivered, true);
    assert.equal(Date.parse(newest?.date_delivered ?? ''), server.clock.now());
    await own.end();
    await reader.end();
  });
});

suite('a history', () => {
  test('is paged, bounded in time, and in either order, as datapoints are', async () => {
    const startMs = server.clock.now();
    for (let n = 0; n < 25; n++) {
      await set('owner', n);
      server.clock.advance(1_000);
    }
    const at = (n: number) => new Date(startMs + n * 1_000).toISOString();
    const numbers = async (query: string) => (await values('owner', query)).map(({ value }) => value);
    const from = (first: number, last: number) => {
      const step = first <= last ? 1 : -1;
      return Array.from({ length: Math.abs(last - first) + 1 }, (_, n) => first + n * step);
    };
    const rows: readonly (readonly [query: string, numbers: readonly number[]])[] = [
      ['', from(0, 19)],
      ['offset=20', from(20, 24)],
      ['limit=3&offset=4', from(4, 6)],
      ['lastN=3', from(24, 22)],
      ['lastN=10&limit=3&offset=2', from(22, 20)],
      ['sort=desc&limit=2', [24, 23]],
      [`dateFrom=${at(4)}&dateTo=${at(6)}`, from(4, 6)],
      [`dateTo=${at(6)}&lastN=2`, [6, 5]],
      [`dateFrom=${at(100)}`, []],
    ];
    for (const [query, expected] of rows) assert.deepEqual(await numbers(query), expected, query);
    const { headers } = await make(server, { as: 'owner', call: `GET ${path}/values?limit=5&offset=5`, expect: 200 });
    assert.match(String(headers['link']), /offset=10>; rel="next", <[^>]*offset=0>; rel="prev"/);
    const bad = [
      'limit=0',
      `limit=${limits.settingsPerActuatorMax + 1}`,
      'lastN=0',
      'dateFrom=soon',
      'sort=up',
      'offset=-1',
    ];
    await makeAll(
      server,
      bad.map((query) => ({ as: 'owner', call: `GET ${path}/values?${query}`, expect: 400 })),
    );
  });

  test('has the last value as JSON, and none before the first', async () => {
    await make(server, { as: 'owner', call: `GET ${path}/value`, expect: 404 });
    for (const value of [null, false, 0, 'on', [1, [2]], { on: { at: [1, null] } }]) {
      await set('owner', value);
      const { text } = await make(server, { as: 'owner', call: `GET ${path}/value`, expect: 200 });
      assert.equal(text, JSON.stringify(value));
    }
    await make(server, { as: 'owner', call: `GET /devices/${id}/actuators/none/value`, expect: 404 });
    await make(server, { as: 'owner', call: `GET /devices/${id}/actuators/none/values`, expect: 404 });
  });

  test('goes with its actuator, and begins anew with one of the same id', async () => {
    await set('owner', 1);
    await make(server, { as: 'owner', call: `DELETE ${path}`, expect: 204 });
    await make(server, { as: 'owner', call: `POST /devices/${id}/actuators`, json: { id: 'valve' }, expect: 204 });
    assert.deepEqual(await values(), []);
  });

  test('shows the new owner of a device what was set, and not by whom', async () => {
    await set('owner', 1);
    await make(server, { as: 'owner', call: `PUT /devices/${id}/owner`, text: 'sharer', expect: 204 });
    await set('sharer', 2);
    const shown = (await values('sharer')).map(({ value, username }) => [value, username]);
    assert.deepEqual(shown, [
      [2, 'sharer'],
      [1, undefined],
    ]);
  });
});

/** Who may read the history and the last value, who may confirm, and whose names each sees, on a private device. */
const rights: Readonly<Record<string, readonly [read: number, acknowledge: number]>> = {
  guest: [403, 403],
  stranger: [403, 403],
  viewer: [403, 403],
  updater: [403, 403],
  deleter: [403, 403],
  reader: [200, 403],
  pusher: [403, 204],
  owner: [200, 204],
  admin: [200, 204],
};

suite('who may', () => {
  for (const visibility of ['private', 'public']) {
    test(`read and confirm settings of a ${visibility} device`, async () => {
      await make(server, { as: 'owner', call: `PUT /devices/${id}/visibility`, text: visibility, expect: 204 });
      await shareWithAll(server, id);
      await set('pusher', 'by pusher');
      await set('owner', 'by owner');
      assert.deepEqual(Object.keys(rights), everybody);
      for (const [as, [read, acknowledge]] of Object.entries(rights)) {
        const seen = visibility === 'public' ? 200 : read;
        const [answer] = await makeAll(server, [
          { as, call: `GET ${path}/values?lastN=9`, expect: seen },
          { as, call: `GET ${path}/value`, expect: seen },
          { as, call: `POST ${path}/ack`, expect: acknowledge },
        ]);
        if (seen !== 200) continue;
        const body = (answer as unknown as { body: Shown[] }).body;
        const names = body.map(({ username }) => username);
        const all = as === 'owner' || as === 'admin';
        const own = visibility === 'public' && as === 'pusher' ? [undefined, 'pusher'] : [undefined, undefined];
        assert.deepEqual(names, all ? ['owner', 'pusher'] : own, as);
        const others = body.flatMap(({ key, rule }) => [key, rule]);
        assert.deepEqual(new Set(others), new Set([undefined]));
      }
    });
  }

  test('set and read valid_for: who may change the device', async () => {
    await shareWithAll(server, id);
    for (const as of everybody) {
      const expect = ['updater', 'owner', 'admin'].includes(as) ? 204 : 403;
      await make(server, { as, call: `PUT ${path}/valid_for`, json: 60, expect });
    }
    const read = async () => (await make(server, { as: 'owner', call: `GET ${path}`, expect: 200 })).text;
    assert.equal(await read(), '{"id":"valve","valid_for":60}');
    const bad = [-1, 1.5, '60', true, [], limits.actuatorValidForSMax + 1];
    await makeAll(
      server,
      bad.map((json) => ({ as: 'owner', call: `PUT ${path}/valid_for`, json, expect: 400 })),
    );
    await makeAll(server, bad.map((valid_for) => ({ as: 'owner', call: `POST /devices/${id}/actuators`, json: { id: 'x', valid_for }, expect: 400 }))); // biome-ignore format: one line
    for (const valid_for of [0, limits.actuatorValidForSMax]) {
      await make(server, {
        as: 'owner',
        call: `POST /devices/${id}/actuators`,
        json: { id: 'valve', valid_for },
        expect: 204,
      });
      assert.equal(await read(), `{"id":"valve","valid_for":${valid_for}}`);
    }
    await make(server, { as: 'owner', call: `PUT ${path}/valid_for`, text: 'null', expect: 204 });
    assert.equal(await read(), '{"id":"valve"}');
  });

  test('is asked of an API key by its scopes', async () => {
    const json = { name: 'device', scopes: ['devices-data:create'], devices: [id] };
    const { body } = await make(server, { as: 'owner', call: 'POST /auth/keys', json, expect: 200 });
    await set('owner', 1);
    const headers = { authorization: `Bearer ${body.key}` };
    assert.equal((await server.send('GET', `/api/v2${path}/values`, { headers })).status, 403);
    assert.equal((await server.send('POST', `/api/v2${path}/ack`, { headers })).status, 204);
    await makeDevice('owner', `${id}-x`);
    assert.equal((await server.send('POST', `/api/v2/devices/${id}-x/actuators/valve/ack`, { headers })).status, 403);
  });
});

suite('a confirmation', () => {
  const confirmed = async () => (await values()).map(({ value, confirmed, ack }) => [value, confirmed, ack]);

  for (const slash of ['', '/']) {
    test(`over MQTT on ${slash}devices/…/ack is any JSON or empty, and is kept`, async () => {
      const client = await Client.connect(server, 'owner');
      const rows: readonly (readonly [payload: string, ack: unknown])[] = [
        ['', undefined],
        ['true', true],
        ['"done"', 'done'],
        ['{"value":3,"took_ms":12}', { value: 3, took_ms: 12 }],
      ];
      for (const [n, [payload]] of rows.entries()) {
        await set('owner', n);
        server.clock.advance(1_000);
        await client.publish(`${slash}devices/${id}/actuators/valve/ack`, payload, { qos: 1 });
      }
      assert.deepEqual(await confirmed(), rows.map(([, ack], n) => [n, true, ack]).reverse());
      const [newest] = await values();
      assert.equal(Date.parse(newest?.date_confirmed ?? ''), server.clock.now());
      await client.end();
    });
  }

  test('with a value confirms the newest setting of that value; without one the newest that was delivered', async () => {
    const device = await Client.connect(server, 'owner');
    await device.subscribe(`devices/${id}/#`, 1);
    for (const value of [1, 2, 1, 3]) await set('owner', value);
    await server.running.idle();
    await device.end();
    await set('owner', 4);
    await make(server, { as: 'owner', call: `POST ${path}/ack`, json: { value: 1 }, expect: 204 });
    await make(server, { as: 'owner', call: `POST ${path}/ack`, expect: 204 });
    assert.deepEqual(await confirmed(), [
      [4, false, undefined],
      [3, true, undefined],
      [1, true, { value: 1 }],
      [2, false, undefined],
      [1, false, undefined],
    ]);
  });

  test('that is repeated changes nothing, and of nothing is refused', async () => {
    await make(server, { as: 'owner', call: `POST ${path}/ack`, expect: 422 });
    await set('owner', 1);
    await make(server, { as: 'owner', call: `POST ${path}/ack`, json: { value: 2 }, expect: 422 });
    for (const json of ['first', 'second'])
      await make(server, { as: 'owner', call: `POST ${path}/ack`, json, expect: 204 });
    assert.deepEqual(await confirmed(), [[1, true, 'first']]);
    await make(server, { as: 'owner', call: `POST /devices/${id}/actuators/none/ack`, expect: 404 });
    const json = 'x'.repeat(limits.settingAckBytesMax);
    await make(server, { as: 'owner', call: `POST ${path}/ack`, json, expect: 413 });
  });

  test('by a stranger, or of no setting, is dropped over MQTT, told to the owner, and passed to nobody', async () => {
    await make(server, { as: 'owner', call: `PUT /devices/${id}/visibility`, text: 'public', expect: 204 });
    const watcher = await Client.connect(server, 'owner');
    await watcher.subscribe('#');
    const topic = `devices/${id}/actuators/valve/ack`;
    await watcher.publish(topic, '', { qos: 1 });
    await set('owner', 1);
    for (const as of ['stranger', 'guest']) {
      const client = await Client.connect(server, as);
      await client.publish(topic, '1', { qos: 1 });
      await client.publish(topic, 'no JSON', { qos: 1 });
      await client.end();
    }
    await watcher.publish(topic, '{"value":', { qos: 1 });
    assert.deepEqual(await confirmed(), [[1, false, undefined]]);
    const { body } = await make(server, { as: 'owner', call: `GET /devices/${id}/drops`, expect: 200 });
    const reasons = (body as { reason: string; topic: string }[]).map(({ reason }) => reason);
    assert.equal(reasons.length, 6);
    assert.match(reasons.at(-1) ?? '', /No setting of actuator valve/);
    assert.equal((await watcher.takeAll()).filter((message) => message.topic.endsWith('/ack')).length, 0);
    await watcher.end();
  });

  test('of an actuator that there is not is a message of the gateway of that id, as before', async () => {
    await make(server, { as: 'owner', call: 'POST /gateways', json: { id: `g-${count}` }, expect: 200 });
    const client = await Client.connect(server, 'owner');
    await client.subscribe(`devices/g-${count}/#`);
    await client.publish(`devices/g-${count}/actuators/valve/ack`, 'any', { qos: 1 });
    await server.running.idle();
    assert.deepEqual(
      (await client.takeAll()).map(({ payload }) => payload),
      ['any'],
    );
    await client.end();
  });
});
