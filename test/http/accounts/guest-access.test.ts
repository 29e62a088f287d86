// Guest access as an admin sets it at run time: who may set it, that it applies at once over HTTP and MQTT and after a
// restart, and that DUNDUN_GUEST_ACCESS overrides it.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { connectBytes, RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

const path = '/settings/guest-access';

let server: TestServer;

const choose = (access: string, expect = 204) =>
  make(server, { as: 'admin', call: `PUT ${path}`, json: { guest_access: access }, expect });
const state = async () => (await make(server, { as: 'admin', call: `GET ${path}`, expect: 200 })).body;

before(async () => {
  server = await TestServer.start();
  const json = { id: 'open', visibility: 'public', sensors: [{ id: 's1' }] };
  await server.call('owner', 'POST', '/devices', { json });
  await server.call('guest', 'POST', '/devices', { json: { ...json, id: 'of-guest', actuators: [{ id: 'a' }] } });
});
after(() => server.stop());

suite('what strangers may do', () => {
  test('is everything until somebody has chosen', async () => {
    assert.deepEqual(await state(), { guest_access: 'full', fixed: false, answered: false });
  });

  test('is read and chosen by admins who signed in, and by nobody else', async () => {
    const { key } = (await server.call('admin', 'POST', '/auth/keys', { json: { name: 'k', scopes: ['admin'] } })).body;
    const byKey = { headers: { authorization: `Bearer ${key}` } };
    const json = { guest_access: 'none' };
    for (const [as, expect] of [
      ['guest', 403],
      ['stranger', 403],
      ['owner', 403],
    ] as const) {
      await make(server, { as, call: `GET ${path}`, expect });
      await make(server, { as, call: `PUT ${path}`, json, expect });
    }
    await make(server, { call: `GET ${path}`, ...byKey, expect: 403 });
    await make(server, { call: `PUT ${path}`, json, ...byKey, expect: 403 });
    assert.deepEqual(await state(), { guest_access: 'full', fixed: false, answered: false });
    for (const bad of [{}, { guest_access: 'some' }, { guest_access: null }, [], 'none', { guest_access: ['none'] }])
      await make(server, { as: 'admin', call: `PUT ${path}`, json: bad, expect: 400 });
    assert.equal((await state()).answered, false);
  });
});

/** What a guest is answered at each door. */
async function doors() {
  const status = async (method: string, call: string, json?: unknown) =>
    (await server.call('guest', method, call, json === undefined ? {} : { json })).status;
  const raw = await RawClient.open(server);
  raw.send(connectBytes({ clientId: 'door' }));
  const { returnCode } = await raw.next('connack');
  raw.socket.destroy();
  return {
    read: await status('GET', '/devices/open'),
    list: await status('GET', '/devices'),
    push: await status('POST', '/devices/open/sensors/s1/values', { value: 1 }),
    change: await status('PUT', '/devices/of-guest/actuators/a/value', 1),
    v1: (await server.request('guest', 'GET', '/api/v1/sensors/open')).status,
    mqtt: returnCode,
    told: (await server.request('guest', 'GET', '/dashboard.json')).body.guestAccess,
  };
}

const answers = {
  full: { read: 200, list: 200, push: 204, change: 204, v1: 200, mqtt: 0, told: 'full' },
  push: { read: 200, list: 200, push: 204, change: 403, v1: 200, mqtt: 0, told: 'push' },
  none: { read: 401, list: 401, push: 401, change: 401, v1: 401, mqtt: 5, told: 'none' },
} as const;

suite('a choice', () => {
  beforeEach(() => choose('full'));

  for (const access of ['push', 'none', 'full'] as const) {
    test(`${access} holds at once at every door, and over a restart`, async () => {
      // The second push of a connection takes the fast path; it must hold there too.
      await doors();
      await choose(access);
      assert.deepEqual(await doors(), answers[access]);
      await server.restart();
      assert.deepEqual(await doors(), answers[access]);
      assert.deepEqual(await state(), { guest_access: access, fixed: false, answered: true });
    });
  }

  test('of none cuts the guests who are connected over MQTT, and nobody else', async () => {
    const guest = await Client.connect(server, 'guest');
    const owner = await Client.connect(server, 'owner');
    for (const client of [guest, owner]) await client.subscribe('devices/open/#');
    await choose('push');
    await guest.roundTrip();
    await choose('none');
    await guest.closed;
    await owner.roundTrip();
    await owner.end();
    await assert.rejects(Client.connect(server, 'guest'));
  });

  test('of none ends what a guest is shown live', async () => {
    const stream = await fetch(`${server.url}/api/v2/devices/open/live`);
    assert.equal(stream.status, 200);
    const shown = stream.text();
    await choose('none');
    await server.call('owner', 'POST', '/devices/open/sensors/s1/values', { json: { value: 4711 } });
    assert.doesNotMatch(await shown, /4711/);
  });

  test('yields to DUNDUN_GUEST_ACCESS, which cannot be changed here, and holds again without it', async () => {
    await choose('push');
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
    assert.deepEqual(await state(), { guest_access: 'none', fixed: true, answered: true });
    const { body } = await choose('full', 422);
    assert.match(body.detail, /operator of this service has fixed guest access to none \(DUNDUN_GUEST_ACCESS\)/);
    assert.deepEqual(await doors(), answers.none);
    await server.restart({ DUNDUN_GUEST_ACCESS: '' });
    assert.deepEqual(await doors(), answers.push);
  });
});
