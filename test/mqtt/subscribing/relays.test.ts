// Topics that are neither sensor nor actuator: `users/{username}/…` passes between that user's connections,
// `devices/{gateway id}/…` between those who may act for the gateway; guests relay nothing, and everything else reaches
// nobody (contract 8).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { TestServer } from '../../support/test-server.ts';

const everybody = ['guest', 'stranger', 'sharer', 'owner', 'admin'];

let server: TestServer;
/** A connection for each of everybody, subscribed to all there is in both forms. */
let as: Record<string, Client>;

before(async () => {
  server = await TestServer.start();
  const connect = async (name: string) => {
    const client = await Client.connect(server, name, { over: name === 'sharer' ? 'ws' : 'tcp' });
    // Admins get figures there (sys-topics.test.ts).
    await client.subscribe(['#', '/#', ...(name === 'admin' ? [] : ['$SYS/#'])], 2);
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

suite('devices/{gateway id}/…', () => {
  const word = { topic: 'devices/gateway-7/command', payload: 'go', qos: 1 as const, retain: false, dup: false };

  test('passes between those who may act for the gateway, whether it is connected or not', async () => {
    const json = { id: 'gateway-7', visibility: 'public' };
    assert.equal((await server.call('owner', 'POST', '/gateways', { json })).status, 200);
    const clients = await Promise.all(
      ['owner', 'owner', 'admin', 'stranger', 'guest'].map(async (name, index) => {
        const client = await Client.connect(server, name, index === 0 ? { clientId: 'gateway-7' } : {});
        await client.subscribe(['#', 'devices/gateway-7/#'], 1);
        return client;
      }),
    );
    const [gateway, other, admin, stranger, guest] = clients as [Client, Client, Client, Client, Client];
    for (const sender of clients) await sender.publish('devices/gateway-7/command', 'go', { qos: 1 });
    const thrice = [word, word, word];
    assert.deepEqual(await takeAll(server, ...clients), [thrice, thrice, thrice, [], []]);
    // What looks like a reading is one, and its device is unknown.
    await gateway.publish('devices/gateway-7/sensors/s1/value', { value: 1 }, { qos: 1 });
    assert.deepEqual(await takeAll(server, gateway, other), [[], []]);
    await gateway.end();
    await other.publish('devices/gateway-7/command', 'go', { qos: 1 });
    assert.deepEqual(await takeAll(server, other, admin, stranger, guest), [[word], [word], [], []]);
    // With the owner changes who may, at once.
    await server.call('owner', 'PUT', '/gateways/gateway-7/owner', { text: 'stranger' });
    await other.publish('devices/gateway-7/command', 'not mine', { qos: 1 });
    await stranger.publish('devices/gateway-7/command', 'go', { qos: 1 });
    assert.deepEqual(await takeAll(server, other, admin, stranger, guest), [[], [word], [word], []]);
    await server.call('admin', 'DELETE', '/gateways/gateway-7');
    for (const sender of [stranger, admin]) await sender.publish('devices/gateway-7/command', 'gone', { qos: 1 });
    assert.deepEqual(await takeAll(server, other, admin, stranger, guest), [[], [], [], []]);
    await Promise.all([other, admin, stranger, guest].map((client) => client.end()));
  });

  test('is kept for a gateway that is away, and what was retained goes with the gateway', async () => {
    const declare = (as: string) => server.call(as, 'POST', '/gateways', { json: { id: 'gateway-9' } });
    await declare('owner');
    const gateway = await Client.connect(server, 'owner', { clientId: 'gateway-9', clean: false });
    await gateway.subscribe('devices/gateway-9/#', 1);
    await gateway.end();
    const sender = await Client.connect(server, 'owner');
    for (const [topic, retain] of [
      ['devices/gateway-9/kept', false],
      ['devices/gateway-9/retained', true],
    ] as const) {
      await sender.publish(topic, 'word', { qos: 1, retain });
    }
    await server.restart();
    const back = await Client.connect(server, 'owner', { clientId: 'gateway-9', clean: false });
    assert.deepEqual(
      (await back.take(2)).map(({ topic }) => topic),
      ['devices/gateway-9/kept', 'devices/gateway-9/retained'],
    );
    const late = await Client.connect(server, 'owner');
    await late.subscribe('devices/gateway-9/#', 1);
    assert.deepEqual(
      (await late.take(1)).map(({ topic, retain }) => [topic, retain]),
      [['devices/gateway-9/retained', true]],
    );
    await server.call('owner', 'DELETE', '/gateways/gateway-9');
    await declare('stranger');
    const next = await Client.connect(server, 'stranger');
    await next.subscribe('devices/gateway-9/#', 1);
    assert.deepEqual(await takeAll(server, next), [[]]);
    await Promise.all([back, late, next].map((client) => client.end()));
  });

  test('of a guest’s gateway passes to no guest', async () => {
    await server.call('guest', 'POST', '/gateways', { json: { id: 'gateway-8' } });
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
