// API keys as passwords over MQTT (contract 2): what they allow, and what ends when they are revoked.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { connectByKey, type MadeKey, makeKeyOn } from '../../support/keys.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { connectBytes, RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd1', sensors: [{ id: 's' }] } });
});
after(() => server.stop());

const makeKey = (as: string, json: object = {}) => makeKeyOn(server, as, json);

const connectBy = (made: MadeKey, username = '') => connectByKey(server, made, username);

suite('over MQTT a key', () => {
  const codeOf = async (login: { username?: string; password?: string }): Promise<number> => {
    const client = await RawClient.open(server);
    client.send(connectBytes({ clientId: 'by-key', ...login }));
    const { returnCode = -1 } = await client.next('connack');
    await (returnCode === 0 ? client.end() : client.closed);
    return returnCode;
  };

  test('is taken as the password of its owner, or without a name', async () => {
    const { key } = await makeKey('owner');
    assert.equal(await codeOf({ username: 'owner', password: key }), 0);
    assert.equal(await codeOf({ username: '', password: key }), 0);
    for (const username of ['stranger', 'guest', 'Owner', 'nobody']) {
      assert.equal(await codeOf({ username, password: key }), 4, username);
    }
    assert.equal(await codeOf({ username: '', password: `dundun_${'A'.repeat(43)}` }), 4);
    assert.equal(await codeOf({ username: 'owner', password: `dundun_${'A'.repeat(43)}` }), 4);
    assert.equal(await codeOf({ username: key, password: '' }), 4);
  });

  test('and a password of its form is a password still', async () => {
    const secret = `dundun_${'B'.repeat(43)}`;
    await server.call('admin', 'POST', '/users', { json: { username: 'odd', password: secret } });
    assert.equal(await codeOf({ username: 'odd', password: secret }), 0);
    assert.equal(await codeOf({ username: '', password: secret }), 4);
  });

  test('that is revoked cuts who is in by it at once, and nobody else', async () => {
    const [first, second] = [await makeKey('owner'), await makeKey('owner')];
    const [gone, stays, byPassword] = [
      await connectBy(first),
      await connectBy(second),
      await Client.connect(server, 'owner'),
    ];
    await gone.subscribe('devices/#');
    await server.call('owner', 'DELETE', `/auth/keys/${first.id}`);
    // Without a turn of the clock, and without a packet of its own.
    await gone.closed;
    await stays.roundTrip();
    await byPassword.roundTrip();
    assert.equal(await codeOf({ username: 'owner', password: first.key }), 4);
    await Promise.all([stays.end(), byPassword.end()]);
  });

  test('that expires passes nothing more', async () => {
    const made = await makeKey('owner', { expires: new Date(server.clock.now() + 5_000).toISOString() });
    const client = await connectBy(made);
    await client.subscribe('devices/#');
    server.clock.advance(5_000);
    await server.call('owner', 'POST', '/devices/d1/sensors/s/values', { json: { value: 'late' } });
    await client.closed;
    assert.deepEqual(client.received, []);
  });

  test('that loses a device, because it is handed over, hears nothing of it any more', async () => {
    const json = { id: 'given', visibility: 'public', sensors: [{ id: 's' }] };
    await server.call('owner', 'POST', '/devices', { json });
    const client = await connectBy(await makeKey('owner', { devices: ['given'] }));
    await client.subscribe('devices/given/#');
    const heard = async () => {
      await server.call('stranger', 'POST', '/devices/given/sensors/s/values', { json: { value: 1 } });
      return (await takeAll(server, client))[0]?.length;
    };
    assert.equal(await heard(), 1);
    await server.call('owner', 'PUT', '/devices/given/owner', { text: 'stranger' });
    server.clock.advance(limits.userFreshMs);
    await until(async () => (await heard()) === 0);
    await client.end();
  });

  test('leaves no will that may more than the key', async () => {
    const made = await makeKey('owner', { scopes: ['devices:view'] });
    const revoked = await makeKey('owner');
    for (const key of [made, revoked]) {
      const will = { topic: 'devices/d1/sensors/s/value', payload: Buffer.from('{"value":"will"}'), qos: 1 as const };
      const client = await Client.connect(server, '', { password: key.key, will: { ...will, retain: false } });
      if (key === revoked) await server.call('owner', 'DELETE', `/auth/keys/${key.id}`);
      else await client.cut();
      await client.closed;
    }
    await server.running.idle();
    const { text } = await server.call('owner', 'GET', '/devices/d1/sensors/s/values?lastN=100');
    assert.doesNotMatch(text, /will/);
  });

  test('that is narrowed hears nothing of what its owner’s other clients tell each other', async () => {
    const [narrow, whole, other] = [
      await connectBy(await makeKey('owner', { scopes: ['devices:view', 'devices-data:view'] })),
      await connectBy(await makeKey('owner')),
      await Client.connect(server, 'owner'),
    ];
    for (const client of [narrow, whole]) await client.subscribe(['users/owner/#', '#']);
    await other.publish('users/owner/secret', 'x', { qos: 1 });
    const [none, one] = await takeAll(server, narrow, whole);
    assert.deepEqual([none?.length, (one?.length ?? 0) > 0], [0, true]);
    await Promise.all([narrow.end(), whole.end(), other.end()]);
  });

  test('a new password and a removal end the connections and sessions of a user at once', async () => {
    await addUsers(server.folder, ['mqtt-user'], server.clock);
    server.clock.advance(limits.userFreshMs);
    const { body } = await server.call('admin', 'GET', '/users?username=mqtt-user');
    const who = `/users/${body[0].id}`;
    const made = await makeKey('mqtt-user');
    const [byPassword, byKey] = [await Client.connect(server, 'mqtt-user'), await connectBy(made)];
    await server.call('mqtt-user', 'PUT', `${who}/password`, { json: { current: password, password: 'another drum' } });
    await byPassword.closed;
    await byKey.roundTrip();
    const kept = await Client.connect(server, '', { password: made.key, clientId: 'kept', clean: false });
    await kept.subscribe('users/mqtt-user/#', 1);
    await server.call('admin', 'DELETE', who);
    await Promise.all([byKey.closed, kept.closed]);
    assert.doesNotMatch(JSON.stringify((await server.rows())['mqtt_session']), /kept/);
    // Who comes after under that name finds nothing of it.
    await server.call('admin', 'POST', '/users', { json: { username: 'mqtt-user', password } });
    const next = await Client.connect(server, 'mqtt-user', { clientId: 'kept', clean: false });
    assert.equal(next.sessionPresent, false);
    await next.end();
  });
});
