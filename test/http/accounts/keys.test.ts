// API keys (contract 2): creating, listing, restricting and revoking them over HTTP and MQTT, and what a holder of a
// key cannot do.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { type Call, make, makeAll } from '../../support/api/calls.ts';
import { connectByKey, type MadeKey, makeKeyOn } from '../../support/keys.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['many', 'leaving'], server.clock);
  for (const id of ['d1', 'd2']) {
    await server.call('owner', 'POST', '/devices', { json: { id, sensors: [{ id: 's' }], actuators: [{ id: 'a' }] } });
  }
  await server.call('stranger', 'POST', '/devices', { json: { id: 'strange', sensors: [{ id: 's' }] } });
  await server.call('stranger', 'POST', '/devices', {
    json: { id: 'open', visibility: 'public', sensors: [{ id: 's' }] },
  });
});
after(() => server.stop());

const connectBy = (made: MadeKey, username = '') => connectByKey(server, made, username);
const makeKey = (as: string, json: object = {}) => makeKeyOn(server, as, json);

const by = ({ key }: MadeKey, call: string, expect: number, carries: Partial<Call> = {}): Call => ({
  ...carries,
  ...{ call, expect, headers: { authorization: `Bearer ${key}`, ...carries.headers } },
});

suite('a key', () => {
  test('is made, listed and revoked by its owner alone', async () => {
    const { id, key } = await makeKey('owner', { name: 'mine', devices: ['d1'], expires: '2099-01-01T01:00:00+01:00' });
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.match(key, /^dundun_[\w-]{43}$/);
    const list = await make(server, { as: 'owner', call: 'GET /auth/keys', expect: 200 });
    assert.deepEqual(list.body, [
      { id, name: 'mine', devices: ['d1'], expires: '2099-01-01T00:00:00Z', date_created: '2026-01-15T12:00:00Z' },
    ]);
    for (const as of ['stranger', 'admin']) {
      const { body } = await make(server, { as, call: 'GET /auth/keys', expect: 200 });
      assert.deepEqual(body, []);
    }
    await makeAll(server, [
      { call: 'GET /auth/keys', expect: 403 },
      { call: 'POST /auth/keys', json: { name: 'k' }, expect: 403 },
      { call: `DELETE /auth/keys/${id}`, expect: 403 },
      { as: 'stranger', call: `DELETE /auth/keys/${id}`, expect: 404 },
      { as: 'admin', call: `DELETE /auth/keys/${id}`, expect: 404 },
      by({ id, key }, 'GET /devices/d1', 200),
      { as: 'owner', call: `DELETE /auth/keys/${id}`, expect: 204 },
      by({ id, key }, 'GET /devices/d1', 401),
      by({ id, key }, 'GET /devices', 401),
      { as: 'owner', call: `DELETE /auth/keys/${id}`, expect: 404 },
      { as: 'owner', call: 'DELETE /auth/keys/nothing', expect: 404 },
    ]);
  });

  test('is not kept, and in no answer but the first', async () => {
    const made = await makeKey('owner');
    const secret = made.key.slice('dundun_'.length);
    assert.doesNotMatch(JSON.stringify(await server.rows()), new RegExp(secret));
    const list = await make(server, { as: 'owner', call: 'GET /auth/keys', expect: 200 });
    assert.doesNotMatch(list.text, new RegExp(`${secret}|hash`));
    for (const path of ['/users/me', '/auth/keys', '/nothing', '/devices/none']) {
      const { text } = await server.send('GET', `/api/v2${path}`, { headers: { authorization: `Bearer ${made.key}` } });
      assert.doesNotMatch(text, new RegExp(secret), path);
    }
    await server.call('owner', 'DELETE', `/auth/keys/${made.id}`);
    const { text } = await make(server, by(made, 'GET /devices', 401));
    assert.doesNotMatch(text, new RegExp(secret));
  });

  test('that is wrong by a letter is none', async () => {
    const { key } = await makeKey('owner');
    const last = key.at(-1) === 'A' ? 'E' : 'A';
    for (const wrong of [
      key.slice(0, -1) + last,
      key.slice(0, -1),
      `${key}A`,
      key.toUpperCase(),
      key.replace('dundun_', ''),
    ]) {
      await make(server, by({ id: '', key: wrong }, 'GET /devices', 401));
    }
    await make(server, { call: 'GET /devices/d1', headers: { authorization: `Bearer "${key}"` }, expect: 200 });
  });

  const bad: readonly (readonly [what: string, json: unknown])[] = [
    ['without a name', {}],
    ['with an empty name', { name: '' }],
    ['with a name without end', { name: 'x'.repeat(limits.nameCharsMax + 1) }],
    ['with an unknown scope', { name: 'k', scopes: ['devices:fly'] }],
    ['with a granting name for a scope', { name: 'k', scopes: ['device:view'] }],
    ['with no scope at all', { name: 'k', scopes: [] }],
    ['with no device at all', { name: 'k', devices: [] }],
    ['with a device that cannot be', { name: 'k', devices: ['a/b'] }],
    [
      'with too many devices',
      { name: 'k', devices: Array.from({ length: limits.keyDevicesMax + 1 }, (_, n) => `d${n}`) },
    ],
    ['with an end that is no time', { name: 'k', expires: 'tomorrow' }],
    ['with an end that is past', { name: 'k', expires: '2020-01-01T00:00:00Z' }],
    ['as a list', []],
  ];
  for (const [what, json] of bad) {
    test(`${what} is 400`, async () => {
      await make(server, { as: 'owner', call: 'POST /auth/keys', json, expect: 400 });
    });
  }

  test('is one of so many a user', async () => {
    for (let n = 0; n < 100; n++) await makeKey('many');
    await make(server, { as: 'many', call: 'POST /auth/keys', json: { name: 'k' }, expect: 403 });
    const page = await make(server, { as: 'many', call: 'GET /auth/keys?limit=10&offset=95', expect: 200 });
    assert.equal(page.body.length, 5);
  });

  test('expires to the millisecond, and shows when it was used last, to the minute', async () => {
    const expires = new Date(server.clock.now() + 120_000).toISOString();
    const made = await makeKey('sharer', { expires });
    const lastUsed = async () => {
      await server.running.idle();
      return (await server.call('sharer', 'GET', '/auth/keys')).body[0].last_used;
    };
    assert.equal(await lastUsed(), undefined);
    await make(server, by(made, 'GET /devices', 200));
    const first = await lastUsed();
    assert.equal(Date.parse(first), server.clock.now());
    server.clock.advance(limits.keyUseNotedMs - 1);
    await make(server, by(made, 'GET /devices', 200));
    assert.equal(await lastUsed(), first);
    server.clock.advance(1001);
    await make(server, by(made, 'GET /devices', 200));
    assert.equal(Date.parse(await lastUsed()), server.clock.now());
    server.clock.advance(120_000 - limits.keyUseNotedMs - 1001);
    await make(server, by(made, 'GET /devices', 200));
    server.clock.advance(1);
    await make(server, by(made, 'GET /devices', 401));
  });

  test('outlives a restart and goes with its owner', async () => {
    const made = await makeKey('leaving');
    const { body } = await server.call('admin', 'GET', '/users?username=leaving');
    const who = `/users/${body[0].id}`;
    await makeAll(server, [by(made, 'GET /devices', 200)]);
    await server.restart();
    await makeAll(server, [
      by(made, 'GET /devices', 200),
      { as: 'admin', call: `DELETE ${who}`, expect: 204 },
      by(made, 'GET /devices', 401),
    ]);
  });
});

suite('a key never manages', () => {
  test('keys, users, passwords, shares or owners, whoever made it and whatever its scopes', async () => {
    const { body } = await server.call('admin', 'GET', '/users');
    const id = (name: string) => body.find(({ username }: { username: string }) => username === name).id;
    const keys: readonly (readonly [owner: string, json: object])[] = [
      ['owner', {}],
      ['admin', { scopes: ['admin'] }],
      ['admin', {}],
    ];
    for (const [owner, json] of keys) {
      const made = await makeKey(owner, json);
      await makeAll(server, [
        by(made, 'GET /auth/keys', 403),
        by(made, 'POST /auth/keys', 403, { json: { name: 'k' } }),
        by(made, `DELETE /auth/keys/${made.id}`, 403),
        by(made, 'POST /users', 403, { json: { username: 'x', password } }),
        by(made, `PUT /users/${id(owner)}`, 403, { json: { firstName: 'x' } }),
        by(made, `PUT /users/${id(owner)}/admin`, 403, { json: true }),
        by(made, `PUT /users/${id(owner)}/password`, 403, { json: { current: password, password: 'another drum' } }),
        by(made, `DELETE /users/${id('sharer')}`, 403),
        by(made, 'GET /devices/d1/shares', 403),
        by(made, 'PUT /devices/d1/shares/sharer', 403, { json: { scopes: ['device:view'] } }),
        by(made, 'DELETE /devices/d1/shares/sharer', 403),
        by(made, 'PUT /devices/d1/owner', 403, { text: 'stranger' }),
      ]);
      // Nor is it a password by which one could get a token that does.
      await makeAll(server, [
        { call: 'POST /auth/token', json: { username: owner, password: made.key }, expect: 401 },
        { call: 'POST /auth/session', json: { username: owner, password: made.key }, expect: 401 },
      ]);
    }
  });

  test('and tells nobody what is private to a person, unless it acts as admin', async () => {
    await server.call('admin', 'PUT', `/users/${(await server.call('owner', 'GET', '/users/me')).body.id}`, {
      json: { email: 'owner@dundun.example' },
    });
    const plain = await make(server, by(await makeKey('owner'), 'GET /users/me', 200));
    assert.deepEqual(Object.keys(plain.body), ['id', 'createdTime', 'username']);
    const admins = await makeKey('admin', { scopes: ['admin'] });
    const { body } = await make(server, by(admins, 'GET /users?username=owner', 200));
    assert.equal(body[0].email, 'owner@dundun.example');
  });
});

suite('a key is narrowed', () => {
  /** What each key may do with d1, d2 (its owner's), strange (a stranger's, private) and open (a stranger's, public). */
  const rows: Readonly<
    Record<string, { owner?: string; json: object; may: (scope: string, device: string) => boolean }>
  > = {
    'not at all': { json: {}, may: (scope, device) => device.startsWith('d') || isOpen(scope, device) },
    'to seeing': {
      json: { scopes: ['devices:view'] },
      may: (scope, device) => scope === 'view' && device !== 'strange',
    },
    'to pushing': {
      json: { scopes: ['devices-data:create'] },
      may: (scope, device) => scope === 'push' && device !== 'strange',
    },
    'to one device': { json: { devices: ['d1'] }, may: (_, device) => device === 'd1' },
    'to one device and reading': {
      json: { devices: ['d1', 'open'], scopes: ['devices-data:view'] },
      may: (scope, device) => scope === 'read' && (device === 'd1' || device === 'open'),
    },
    'to a device of somebody else': { json: { devices: ['strange'] }, may: () => false },
    'to gateways': { json: { scopes: ['gateways:view', 'gateways:update', 'gateways:delete'] }, may: () => false },
    "to an admin's own": { owner: 'admin', json: {}, may: (scope, device) => isOpen(scope, device) },
    'to acting as admin': { owner: 'admin', json: { scopes: ['admin'] }, may: () => true },
    'to seeing as admin': {
      owner: 'admin',
      json: { scopes: ['admin', 'devices:view'] },
      may: (scope) => scope === 'view',
    },
    'to one device as admin': {
      owner: 'admin',
      json: { scopes: ['admin'], devices: ['strange'] },
      may: (_, device) => device === 'strange',
    },
  };
  const isOpen = (scope: string, device: string) => device === 'open' && scope !== 'update';

  for (const [how, { owner = 'owner', json, may }] of Object.entries(rows)) {
    test(`${how}, at every door`, async () => {
      const made = await makeKey(owner, json);
      const devices = ['d1', 'd2', 'strange', 'open'];
      for (const device of devices) {
        const status = (scope: string, good: number) => (may(scope, device) ? good : 403);
        await makeAll(server, [
          by(made, `GET /devices/${device}`, status('view', 200)),
          by(made, `GET /devices/${device}/sensors/s/values`, status('read', 200)),
          by(made, `GET /devices/${device}/sensors/s/values?format=csv`, status('read', 200)),
          by(made, `POST /devices/${device}/sensors/s/values`, status('push', 204), { json: [] }),
          by(made, `PUT /devices/${device}/name`, status('update', 204), { text: 'n' }),
        ]);
      }
      const list = await make(server, by(made, 'GET /devices', 200));
      const listed = list.body.map(({ id }: { id: string }) => id);
      assert.deepEqual(
        listed,
        devices.filter((device) => may('view', device)),
      );
      const held = await make(server, by(made, 'GET /auth/permissions/devices', 200));
      const names = {
        view: 'devices:view',
        update: 'devices:update',
        read: 'devices-data:view',
        push: 'devices-data:create',
      };
      for (const device of devices) {
        const scopes = held.body.find(({ resource }: { resource: string }) => resource === device)?.scopes ?? [];
        for (const [scope, name] of Object.entries(names)) {
          assert.equal(scopes.includes(name), may(scope, device), `${name} on ${device}`);
        }
      }
      await checkMqtt(made, devices, may);
    });
  }

  /** Publishes to and listens on each device by MQTT, with the key as the password. */
  async function checkMqtt(made: MadeKey, devices: readonly string[], may: (scope: string, device: string) => boolean) {
    const [mine, all] = await Promise.all([connectBy(made), Client.connect(server, 'admin')]);
    await mine.subscribe('devices/#');
    await all.subscribe('devices/#');
    for (const device of devices) await mine.publish(`devices/${device}/sensors/s/value`, { value: 1 }, { qos: 1 });
    const [, stored = []] = await takeAll(server, mine, all);
    const pushed = stored.map(({ topic }) => topic.split('/')[1]);
    assert.deepEqual(
      pushed,
      devices.filter((device) => may('push', device)),
    );
    mine.received.splice(0);
    for (const device of devices) await all.publish(`devices/${device}/sensors/s/value`, { value: 2 }, { qos: 1 });
    const [seen = []] = await takeAll(server, mine, all);
    assert.deepEqual(
      seen.map(({ topic }) => topic.split('/')[1]),
      devices.filter((device) => may('read', device)),
    );
    await Promise.all([mine.end(), all.end()]);
  }

  test('creates nothing outside of what it was made for', async () => {
    const json = { id: 'new', sensors: [] };
    await makeAll(server, [
      by(await makeKey('owner', { scopes: ['devices:view', 'devices-data:create'] }), 'POST /devices', 403, { json }),
      by(await makeKey('owner', { devices: ['d1'] }), 'POST /devices', 403, { json }),
      by(await makeKey('owner', { scopes: ['devices:update'], devices: ['new'] }), 'POST /devices', 204, { json }),
    ]);
  });

  test('opens no valve by the right to push', async () => {
    const made = await makeKey('owner', { scopes: ['devices-data:create'] });
    await make(server, by(made, 'PUT /devices/d1/actuators/a/value', 403, { json: 1 }));
    await make(server, by(await makeKey('owner'), 'PUT /devices/d1/actuators/a/value', 204, { json: 1 }));
  });

  test('and only an admin makes one that acts as admin, for as long as they are one', async () => {
    const json = { name: 'k', scopes: ['admin'] };
    await make(server, { as: 'owner', call: 'POST /auth/keys', json, expect: 403 });
    await addUsers(server.folder, ['admin-2'], server.clock);
    const made = await makeKey('admin-2', { scopes: ['admin'] });
    await make(server, by(made, 'GET /devices/strange', 200));
    const { body } = await server.call('admin', 'GET', '/users?username=admin-2');
    await server.call('admin', 'PUT', `/users/${body[0].id}/admin`, { json: false });
    await make(server, by(made, 'GET /devices/strange', 403));
  });
});
