// Who may connect over MQTT and under which client id: sign-in, guests, protocol versions, and client ids that are in
// use or have a stored session (contract 2 and 8).
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { generate, type IConnectPacket } from 'mqtt-packet';
import { limits } from '../../../src/config/limits.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { connectBytes, RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { addUsers, password, removeUser, setPassword } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', {
    json: { id: 'open', visibility: 'public', sensors: [{ id: 's1' }] },
  });
});
after(() => server.stop());

/** CONNACK's code; a refused connection must be closed by the server. */
async function codeOf(bytes: Buffer): Promise<number> {
  const client = await RawClient.open(server);
  client.send(bytes);
  const { returnCode = -1, sessionPresent } = await client.next('connack');
  assert.equal(sessionPresent, false);
  if (returnCode === 0) await client.end();
  else await client.closed;
  return returnCode;
}

suite('the login', () => {
  const rows: Record<string, [login: { username?: string; password?: string | Buffer }, code: number, as?: string]> = {
    none: [{}, 0, 'guest'],
    'an empty username': [{ username: '' }, 0, 'guest'],
    'an empty username with a password': [{ username: '', password: 'whatever' }, 0, 'guest'],
    'the right password': [{ username: 'stranger', password }, 0, 'stranger'],
    'a wrong password': [{ username: 'stranger', password: 'wrong' }, 4],
    'no password': [{ username: 'stranger' }, 4],
    'an empty password': [{ username: 'stranger', password: '' }, 4],
    'a password with more behind': [{ username: 'stranger', password: `${password}\0` }, 4],
    'the password in another case': [{ username: 'stranger', password: password.toUpperCase() }, 4],
    'an unknown user': [{ username: 'nobody', password }, 4],
    'a user in another case': [{ username: 'Stranger', password }, 4],
    'guest by name': [{ username: 'guest', password: '' }, 4],
    'guest by name with a password': [{ username: 'guest', password }, 4],
    'a password that is no UTF-8': [{ username: 'stranger', password: Buffer.from([0xff, 0xfe]) }, 4],
    'a password too long to be one': [{ username: 'stranger', password: 'x'.repeat(60_000) }, 4],
    'a name of every object': [{ username: '__proto__', password: 'x' }, 4],
  };
  for (const [name, [login, code, as]] of Object.entries(rows)) {
    test(`${name}: CONNACK ${code}${as === undefined ? '' : `, as ${as}`}`, async () => {
      assert.equal(await codeOf(connectBytes({ clientId: 'login', ...login })), code);
      if (as === undefined) return;
      const client = await RawClient.open(server);
      client.send(connectBytes({ clientId: 'login', ...login }));
      await client.next('connack');
      client.publish({ topic: 'devices/open/sensors/none/value', payload: '{"value":1}' });
      await client.next('puback');
      await server.running.idle();
      assert.equal((await server.call('owner', 'GET', '/devices/open/drops')).body[0].username, as);
      await client.end();
    });
  }

  test('is slowed down after failures, at this door and at the other, for this name alone', async () => {
    for (let n = 0; n < limits.loginFailuresMax; n++) {
      assert.equal(await codeOf(connectBytes({ clientId: 'login', username: 'sharer', password: `${n}` })), 4);
    }
    assert.equal(await codeOf(connectBytes({ clientId: 'login', username: 'sharer', password })), 4);
    const rest = await server.send('POST', '/api/v2/auth/token', { json: { username: 'sharer', password } });
    assert.equal(rest.status, 429);
    assert.equal(await codeOf(connectBytes({ clientId: 'login', username: 'owner', password })), 0);
    assert.equal(await codeOf(connectBytes({ clientId: 'login' })), 0);
    server.clock.advance(60_000);
    assert.equal(await codeOf(connectBytes({ clientId: 'login', username: 'sharer', password })), 0);
  });

  test('ends with the password, and with the user, at the next packet', async () => {
    await addUsers(server.folder, ['fleeting', 'leaving'], server.clock);
    for (const [name, change] of [
      ['fleeting', () => setPassword(server.folder, 'fleeting', 'another password')],
      ['leaving', () => removeUser(server.folder, 'leaving')],
    ] as const) {
      const client = await Client.connect(server, name);
      await client.subscribe('#');
      await client.roundTrip();
      await change();
      server.clock.advance(limits.userFreshMs);
      await client.publish('nobody/asked', '', { qos: 0 });
      await client.closed;
      assert.equal(await codeOf(connectBytes({ clientId: 'login', username: name, password })), 4);
    }
  });
});

suite('guests', () => {
  test('are turned away where guest access is none, with CONNACK 5', async () => {
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
    assert.equal(await codeOf(connectBytes({ clientId: 'login' })), 5);
    assert.equal(await codeOf(connectBytes({ clientId: 'login', username: '' })), 5);
    assert.equal(await codeOf(connectBytes({ clientId: 'login', username: 'stranger', password })), 0);
  });

  test('may push and listen to what is public where it is push, and no more', async () => {
    await server.restart({ DUNDUN_GUEST_ACCESS: 'push' });
    const device = { id: 'of-guest', sensors: [{ id: 's1' }], actuators: [{ id: 'a1' }] };
    await server.call('guest', 'POST', '/devices', { json: device });
    const guest = await Client.connect(server, 'guest');
    await guest.subscribe('devices/of-guest/#');
    await guest.publish('devices/of-guest/sensors/s1/value', { value: 1 }, { qos: 1 });
    await guest.publish('devices/of-guest/actuators/a1/value', '1', { qos: 1 });
    const [seen = []] = await takeAll(server, guest);
    assert.deepEqual(
      seen.map(({ topic }) => topic),
      ['devices/of-guest/sensors/s1/value'],
    );
    await guest.end();
    await server.restart({ DUNDUN_GUEST_ACCESS: 'full' });
    const full = await Client.connect(server, 'guest');
    await full.subscribe('devices/of-guest/#');
    await full.publish('devices/of-guest/actuators/a1/value', '2', { qos: 1 });
    assert.deepEqual(
      (await takeAll(server, full))[0]?.map(({ payload }) => payload),
      ['2'],
    );
    await full.end();
  });
});

suite('the protocol', () => {
  const rows: [protocol: Partial<IConnectPacket>, code: number | 'closed'][] = [
    [{ protocolId: 'MQTT', protocolVersion: 4 }, 0],
    [{ protocolId: 'MQIsdp', protocolVersion: 3 }, 0],
    // The rest is in letter/refused-packets.ts.
    [{ protocolId: 'MQTT', protocolVersion: 5 }, 0],
  ];
  for (const [protocol, code] of rows) {
    test(`${protocol.protocolId} ${protocol.protocolVersion}: CONNACK ${code}`, async () => {
      const client = await RawClient.open(server);
      assert.equal((await client.signIn('guest', { clientId: 'protocol', ...protocol })).returnCode, code);
      if (code !== 0) await client.closed;
      else await client.roundTrip();
      await client.cut();
    });
  }
});

test('who is refused and publishes all the same has no acknowledgement, and nothing is stored', async () => {
  const refused: Partial<IConnectPacket>[] = [
    { protocolId: 'MQTT', protocolVersion: 5, clientId: 'x'.repeat(limits.clientIdCharsMax + 1) },
    { protocolId: 'MQIsdp', protocolVersion: 3, clientId: 'x'.repeat(limits.clientIdCharsMax + 1) },
    // Nobody's name: too many failures slow down who has it.
    { username: 'refused', password: Buffer.from('wrong') },
  ];
  for (const options of refused) {
    for (const qos of [0, 1, 2] as const) {
      // However far the refusal has come.
      for (let turns = 1; turns < 12; turns++) {
        const client = await RawClient.open(server);
        const answer = client.signIn('guest', { clientId: 'refused', ...options });
        for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
        const topic = 'devices/open/sensors/s1/value';
        const messageId = qos === 0 ? {} : { messageId: 9 };
        client.send(
          generate(
            { cmd: 'publish', topic, payload: '{"value":4711}', qos, dup: false, retain: false, ...messageId },
            { protocolVersion: options.protocolVersion ?? 4 },
          ),
        );
        assert.notEqual((await answer).returnCode, 0);
        await client.closed;
        assert.deepEqual(client.packets, []);
      }
    }
  }
  const { body } = await server.call('owner', 'GET', '/devices/open/sensors/s1/values');
  assert.deepEqual(body, []);
});

suite('a client id', () => {
  let clientId: string;
  let number = 0;
  beforeEach(() => {
    clientId = `id-${++number}`;
  });

  test('in use by another user is refused with CONNACK 2, and the first connection is untouched', async () => {
    for (const first of ['owner', 'admin']) {
      const holder = await RawClient.connect(server, first, { clientId, clean: true });
      await holder.subscribe('devices/open/#', 1);
      for (const second of ['owner', 'stranger', 'guest', 'admin'].filter((name) => name !== first)) {
        for (const clean of [true, false]) {
          const other = await RawClient.open(server);
          assert.equal((await other.signIn(second, { clientId, clean })).returnCode, 2);
          await other.closed;
        }
      }
      await server.call('guest', 'POST', '/devices/open/sensors/s1/value', { json: { value: 1 } });
      await holder.next('publish');
      await holder.roundTrip();
      await holder.end();
    }
  });

  test('is free again once its holder has gone, and not before', async () => {
    const holder = await RawClient.connect(server, 'owner', { clientId });
    assert.equal(await codeOf(connectBytes({ clientId })), 2);
    await holder.cut();
    // The server learns of it when the end of the connection arrives.
    let code: number | undefined;
    await until(async () => {
      code = await codeOf(connectBytes({ clientId }));
      return code !== 2;
    });
    assert.equal(code, 0);
    assert.equal(await codeOf(connectBytes({ clientId, username: 'stranger', password })), 0);
  });

  test('of a stored session belongs to its user, until that user ends it', async () => {
    const first = await RawClient.connect(server, 'owner', { clientId, clean: false });
    await first.subscribe('devices/open/#', 1);
    await first.end();
    for (const restart of [false, true]) {
      if (restart) await server.restart();
      for (const clean of [true, false]) {
        assert.equal(await codeOf(connectBytes({ clientId, clean })), 2);
        assert.equal(await codeOf(connectBytes({ clientId, clean, username: 'admin', password })), 2);
      }
    }
    const again = await RawClient.open(server);
    assert.equal((await again.signIn('owner', { clientId, clean: false })).sessionPresent, true);
    await again.end();
    assert.equal(await codeOf(connectBytes({ clientId, clean: true, username: 'owner', password })), 0);
    assert.equal(await codeOf(connectBytes({ clientId, clean: false })), 0);
  });

  test('is taken over by the same user, who is cut on the other connection', async () => {
    for (const name of ['owner', 'guest']) {
      for (const clean of [true, false]) {
        const first = await RawClient.connect(server, name, { clientId: `${clientId}-${name}`, clean });
        const second = await RawClient.connect(server, name, { clientId: `${clientId}-${name}`, clean });
        await first.closed;
        await second.roundTrip();
        const third = await RawClient.open(server);
        // A guest leaves it to who signs in; see client-ids.test.ts.
        const other = name === 'guest' ? 'guest' : 'stranger';
        const { returnCode } = await third.signIn(other, { clientId: `${clientId}-${name}` });
        assert.equal(returnCode, other === 'guest' ? 0 : 2);
        if (returnCode === 0) {
          await second.closed;
          await third.end();
          continue;
        }
        await second.end();
      }
    }
  });

  test('goes to one of two users who ask at the same moment', async () => {
    for (const clean of [true, false]) {
      for (let n = 0; n < 10; n++) {
        const id = `${clientId}-${clean}-${n}`;
        const names = ['owner', 'stranger', 'admin'];
        const clients = await Promise.all(names.map(() => RawClient.open(server)));
        const codes = await Promise.all(
          clients.map(
            async (client, index) => (await client.signIn(names[index] ?? '', { clientId: id, clean })).returnCode,
          ),
        );
        assert.deepEqual(codes.sort(), [0, 2, 2]);
        for (const client of clients) await client.cut();
      }
    }
  });

  test('does not slip from who has it when a take-over breaks off', async () => {
    const will = { topic: 'users/owner/will', payload: Buffer.from('gone'), qos: 1 as const, retain: false };
    for (let n = 0; n < 60; n++) {
      const id = `${clientId}-${n}`;
      const first = await RawClient.connect(server, 'owner', { clientId: id, clean: n % 2 === 0 });
      let isCut = false;
      void first.closed.then(() => {
        isCut = true;
      });
      const second = await RawClient.open(server);
      second.signIn('owner', { clientId: id, clean: n % 2 === 0, will }).catch(() => {});
      // Some break off while the server is about to let them in.
      for (let turns = n; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
      second.socket.resetAndDestroy();
      await second.closed;
      const third = await RawClient.open(server);
      const { returnCode } = await third.signIn('stranger', { clientId: id });
      if (!isCut) await first.roundTrip().catch(() => {});
      assert.ok(isCut || returnCode === 2, 'two users hold one client id');
      await first.cut();
      await third.cut();
    }
  });

  const rows: Record<string, [clientId: string, clean: boolean, code: number]> = {
    'empty, of a clean session': ['', true, 0],
    'empty, of a session to be kept': ['', false, 2],
    'of the longest kind': ['x'.repeat(limits.clientIdCharsMax), false, 0],
    'longer than that': ['x'.repeat(limits.clientIdCharsMax + 1), true, 2],
    'far longer': ['x'.repeat(60_000), false, 2],
    'beyond ASCII': ['ü€😀 /+#$', false, 0],
    'a name of every object': ['__proto__', false, 0],
    'another of those': ['constructor', true, 0],
  };
  for (const [name, [id, clean, code]] of Object.entries(rows)) {
    test(`${name}: CONNACK ${code}`, async () => {
      assert.equal(await codeOf(connectBytes({ clientId: id, clean })), code);
      if (code === 0) assert.equal(await codeOf(connectBytes({ clientId: id, clean: true })), 0);
    });
  }

  test('that is empty makes everybody a session of their own', async () => {
    const clients = await Promise.all([1, 2, 3].map(() => RawClient.connect(server, 'guest', { clientId: '' })));
    for (const client of clients) await client.roundTrip();
    for (const client of clients) await client.end();
  });
});
