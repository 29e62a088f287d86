// Topics that are nobody's record: `users/{username}/…` passes between that user's connections, `devices/{client id}/…`
// between those of a gateway client's user; guests relay nothing, and everything else reaches nobody (contract 8).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Client, takeAll } from './support/mqtt-client.ts';
import { TestServer } from './support/test-server.ts';

const everybody = ['guest', 'stranger', 'sharer', 'owner', 'admin'];

let server: TestServer;
/** A connection for each of everybody, subscribed to all there is in both forms. */
let as: Record<string, Client>;

before(async () => {
  server = await TestServer.start();
  const connect = async (name: string) => {
    const client = await Client.connect(server, name, { over: name === 'sharer' ? 'ws' : 'tcp' });
    await client.subscribe(['#', '/#', '$SYS/#'], 2);
    return [name, client] as const;
  };
  as = Object.fromEntries(await Promise.all(everybody.map(connect)));
});
after(() => server.stop());

suite('users/{username}/…', () => {
  for (const name of everybody) {
    test(`of ${name} reaches ${name === 'guest' ? 'nobody' : `${name} alone`}, in both forms, whoever else listens`, async () => {
      const before = await server.rows();
      for (const publisher of everybody) {
        for (const [qos, slash] of [
          [0, ''],
          [1, '/'],
          [2, ''],
        ] as const) {
          const sender = await Client.connect(server, publisher);
          await sender.publish(`${slash}users/${name}/a/b`, Buffer.from('any \0 bytes'), { qos });
          // What comes after it on the same way tells that it is through.
          await sender.publish(`users/${publisher}/marker`, 'marker', { qos });
          await sender.end();
          const relays = publisher === name && name !== 'guest';
          for (const listener of everybody) {
            const own =
              listener === publisher && listener !== 'guest'
                ? [`users/${listener}/marker`, `/users/${listener}/marker`]
                : [];
            const expected = relays && listener === name ? [`users/${name}/a/b`, `/users/${name}/a/b`, ...own] : own;
            const client = as[listener] as Client;
            const seen = expected.length > 0 ? await client.take(expected.length) : await client.takeAll();
            assert.deepEqual(
              seen.map(({ topic }) => topic),
              expected,
              `${publisher} to ${name}, seen by ${listener}`,
            );
            for (const message of seen.slice(0, -2)) {
              assert.deepEqual([message.payload, message.qos, message.retain], ['any \0 bytes', qos, false]);
            }
          }
        }
      }
      assert.deepEqual(
        await takeAll(server, ...Object.values(as)),
        everybody.map(() => []),
      );
      assert.deepEqual(await server.rows(), before);
    });
  }

  test('is kept for who is away, and retained, for that user alone', async () => {
    const away = await Client.connect(server, 'stranger', { clientId: 'relay-away', clean: false });
    await away.subscribe('users/stranger/#', 1);
    await away.end();
    await as['stranger']?.publish('users/stranger/kept', 'kept', { qos: 1 });
    await as['stranger']?.publish('users/stranger/retained', 'retained', { qos: 0, retain: true });
    await as['stranger']?.roundTrip();
    await as['owner']?.publish('users/stranger/retained', 'forged', { qos: 1, retain: true });
    await server.restart();
    const back = await Client.connect(server, 'stranger', { clientId: 'relay-away', clean: false });
    assert.deepEqual(
      (await back.take(1)).map(({ topic, payload }) => [topic, payload]),
      [['users/stranger/kept', 'kept']],
    );
    await back.subscribe('/users/stranger/#', 1);
    const [retained] = await back.take(1);
    assert.deepEqual(
      [retained?.topic, retained?.payload, retained?.retain],
      ['/users/stranger/retained', 'retained', true],
    );
    for (const name of ['owner', 'guest', 'admin']) {
      const other = await Client.connect(server, name);
      await other.subscribe(['#', '/#', 'users/stranger/retained']);
      assert.deepEqual(await takeAll(server, other), [[]]);
      await other.end();
    }
    // Here an empty message is one like any other, and takes away what is retained.
    await back.publish('users/stranger/retained', '', { qos: 1, retain: true });
    assert.deepEqual(
      (await back.take(1)).map(({ payload, retain }) => [payload, retain]),
      [['', false]],
    );
    const late = await Client.connect(server, 'stranger');
    await late.subscribe('users/#', 1);
    assert.deepEqual(await takeAll(server, late), [[]]);
    await Promise.all([back.end(), late.end()]);
  });
});

suite('devices/{client id}/…', () => {
  test('of a gateway that is connected passes between the connections of its user', async () => {
    const gateway = await Client.connect(server, 'owner', { clientId: 'gateway-7' });
    await gateway.subscribe('devices/gateway-7/#', 1);
    const [other, stranger, guest] = await Promise.all(
      ['owner', 'stranger', 'guest'].map(async (name) => {
        const client = await Client.connect(server, name);
        await client.subscribe(['#', 'devices/gateway-7/#'], 1);
        return client;
      }),
    );
    assert.ok(other !== undefined && stranger !== undefined && guest !== undefined);
    for (const sender of [gateway, other, stranger, guest])
      await sender.publish('devices/gateway-7/command', 'go', { qos: 1 });
    const word = { topic: 'devices/gateway-7/command', payload: 'go', qos: 1 as const, retain: false, dup: false };
    assert.deepEqual(await takeAll(server, gateway, other, stranger, guest), [[word, word], [word, word], [], []]);
    // What looks like a reading is one, and its device is unknown.
    await gateway.publish('devices/gateway-7/sensors/s1/value', { value: 1 }, { qos: 1 });
    assert.deepEqual(await takeAll(server, gateway, other), [[], []]);
    await gateway.end();
    await other.publish('devices/gateway-7/command', 'gone', { qos: 1 });
    assert.deepEqual(await takeAll(server, other, stranger, guest), [[], [], []]);
    // The id is free: now it is another user's.
    const usurper = await Client.connect(server, 'stranger', { clientId: 'gateway-7' });
    await usurper.publish('devices/gateway-7/command', 'mine', { qos: 1 });
    await other.publish('devices/gateway-7/command', 'not mine', { qos: 1 });
    const [owners = [], strangers = []] = await takeAll(server, other, stranger);
    assert.deepEqual([owners, strangers.map(({ payload }) => payload)], [[], ['mine']]);
    await Promise.all([usurper, other, stranger, guest].map((client) => client.end()));
  });

  test('of a guest’s connection passes to nobody', async () => {
    const gateway = await Client.connect(server, 'guest', { clientId: 'gateway-8' });
    await gateway.subscribe(['#', '/#'], 1);
    await gateway.publish('devices/gateway-8/command', 'go', { qos: 1 });
    assert.deepEqual(await takeAll(server, gateway), [[]]);
    await gateway.end();
  });
});

test('everything else is acknowledged, kept nowhere and reaches nobody', async () => {
  const owner = await Client.connect(server, 'owner', { clientId: 'nobody' });
  await owner.subscribe(['#', '/#', '+/#', '$SYS/#', 'users/owner', 'word', '$share/a/word'], 1);
  const before = await server.rows();
  const topics = [
    ...[
      'word',
      '/word',
      'a/b/c',
      ' ',
      '/',
      '//',
      'users',
      'users/owner',
      '/users/owner',
      'users//word',
      'Users/owner/word',
    ],
    ...['users/Owner/word', 'user/owner/word', 'users/owner2/word', '//users/owner/word', 'devices', 'devices/nobody'],
    ...['devices//word', 'devices/nobody2/word', '$SYS/word', '$share/a/word', '/$SYS/word'],
  ];
  for (const topic of topics) {
    for (const qos of [0, 1, 2] as const) await owner.publish(topic, 'word', { qos, retain: true });
  }
  assert.deepEqual(await takeAll(server, owner), [[]]);
  assert.deepEqual(await server.rows(), before);
  await owner.end();
});
