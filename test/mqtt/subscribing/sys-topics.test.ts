// `$SYS/broker/…`: the figures of the MQTT server under mosquitto's names, for admins alone.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import packageJson from '../../../package.json' with { type: 'json' };
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { makeKeyOn } from '../../support/keys.ts';
import { setLimits } from '../../support/limits.ts';
import { Client, type Received } from '../../support/mqtt/mqtt-client.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const root = '$SYS/broker/';

let server: TestServer;

setLimits({ sysTopicsEveryMs: 20 });
before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, ['admin-2'], server.clock);
  await server.call('owner', 'POST', '/devices', { json: { id: 'd1', sensors: [{ id: 't' }] } });
});
after(() => server.stop());

/** The last value of each topic, without the root. */
function valuesOf(received: readonly Received[]): Record<string, string> {
  return Object.fromEntries(received.map(({ topic, payload }) => [topic.replace(root, ''), payload]));
}

/** How often `lookAt` was called; each publishes once. */
let looks = 0;

/** What a new subscriber is told at once. */
async function lookAt(filter = '$SYS/#'): Promise<Record<string, string>> {
  looks += 1;
  const client = await Client.connect(server, 'admin', { clientId: 'looks' });
  await client.subscribe(filter);
  const values = valuesOf((await client.takeAll()).filter(({ retain }) => retain));
  await client.end();
  return values;
}

/** Resolves when an admin beside has been told what has changed: whoever else is to be told has been told by then. */
async function othersAreTold(): Promise<void> {
  const other = await Client.connect(server, 'admin');
  await other.subscribe('$SYS/broker/uptime');
  await other.take(1);
  server.clock.advance(10_000);
  await other.take(1);
  await other.end();
}

suite('an admin who subscribes to $SYS', () => {
  test('gets every figure at once, retained, under the names of mosquitto', async () => {
    const values = await lookAt();
    assert.equal(values['version'], `dundun version ${packageJson.version}`);
    assert.match(values['uptime'] ?? '', /^\d+ seconds$/);
    const spans = ['1min', '5min', '15min'];
    const loads = ['messages/received', 'messages/sent', 'publish/received', 'publish/sent', 'publish/dropped']
      .concat(['bytes/received', 'bytes/sent', 'sockets', 'connections'])
      .flatMap((name) => spans.map((span) => `load/${name}/${span}`));
    const counts = ['active', 'connected', 'disconnected', 'inactive', 'maximum', 'total'].map(
      (name) => `clients/${name}`,
    );
    const others = ['bytes/received', 'bytes/sent', 'messages/received', 'messages/sent', 'retained messages/count']
      .concat(['publish/messages/dropped', 'publish/messages/received', 'publish/messages/sent'])
      .concat(['subscriptions/count', 'uptime', 'version']);
    assert.deepEqual(Object.keys(values).sort(), [...loads, ...counts, ...others].sort());
    for (const name of loads) assert.match(values[name] ?? '', /^\d+\.\d\d$/, name);
    for (const name of [...counts, ...others.filter((other) => !['uptime', 'version'].includes(other))])
      assert.match(values[name] ?? '', /^\d+$/, name);
  });

  test('finds clients, sessions, subscriptions, retained messages and packets counted', async () => {
    const before = await lookAt();
    const looksBefore = looks;
    const client = await Client.connect(server, 'owner', { clientId: 'counted' });
    await client.subscribe(['devices/d1/sensors/t/value', 'users/owner/x'], 1);
    const away = await Client.connect(server, 'owner', { clientId: 'away', clean: false });
    await away.subscribe('users/owner/kept', 1);
    await away.end();
    await server.running.idle();
    await client.publish('devices/d1/sensors/t/value', { value: 1 }, { qos: 1 });
    await client.publish('users/owner/x', 'a', { qos: 2, retain: true });
    await client.take(2);
    await until(async () => (await lookAt('$SYS/broker/bytes/#'))['bytes/received'] !== before['bytes/received']);
    const ofLooks = looks - looksBefore + 1;
    const now = await lookAt();
    const grown = (name: string) => Number(now[name]) - Number(before[name]);
    assert.deepEqual(
      {
        connected: now['clients/connected'],
        disconnected: now['clients/disconnected'],
        total: now['clients/total'],
        subscriptions: now['subscriptions/count'],
        publishesIn: grown('publish/messages/received') - ofLooks,
        retained: grown('retained messages/count'),
      },
      // The one that looks is a client with a subscription. A message is retained in both forms of its topic.
      { connected: '2', disconnected: '1', total: '3', subscriptions: '4', publishesIn: 2, retained: 2 },
    );
    assert.ok(grown('publish/messages/sent') >= 2);
    assert.ok(grown('messages/received') >= 8, String(grown('messages/received')));
    assert.ok(grown('messages/sent') >= 8, String(grown('messages/sent')));
    assert.ok(grown('bytes/received') > 100);
    assert.ok(grown('bytes/sent') > 100);
    await client.publish('users/owner/x', '', { retain: true });
    await client.end();
    const again = await Client.connect(server, 'owner', { clientId: 'away' });
    await again.end();
  });

  test('counts each packet received, and the answer to it', async () => {
    const looking = await Client.connect(server, 'admin');
    const client = await Client.connect(server, 'owner');
    /** Packets received, and sent that are no publishes. A look takes a SUBSCRIBE and a PUBLISH, both answered. */
    const figures = async () => {
      await looking.subscribe('$SYS/broker/#');
      const values = valuesOf((await looking.takeAll()).filter(({ retain }) => retain));
      const [packetsIn, packetsOut, publishesOut] = ['messages/received', 'messages/sent', 'publish/messages/sent'].map(
        (name) => Number(values[name]),
      );
      return [packetsIn as number, (packetsOut as number) - (publishesOut as number)] as const;
    };
    const before = await figures();
    await client.publish('devices/d1/sensors/t/value', { value: 1 }, { qos: 1 });
    await client.publish('devices/d1/sensors/t/value', { value: 2 }, { qos: 0 });
    await client.publish('nobody/asked', 'x', { qos: 2 });
    await client.publish('nobody/asked', 'x'.repeat(100_000), { qos: 1 });
    await client.subscribe('users/owner/y');
    await client.unsubscribe('users/owner/y');
    const now = await figures();
    // Six packets and a PUBREL; all but the one with QoS 0 are answered.
    assert.deepEqual([now[0] - before[0], now[1] - before[1]], [7 + 2, 6 + 2]);
    await Promise.all([client.end(), looking.end()]);
  });

  test('is told what has changed afterwards, and no more once it unsubscribes', async () => {
    const client = await Client.connect(server, 'admin', { clientId: 'listens' });
    await client.subscribe('$SYS/broker/uptime');
    assert.equal((await client.take(1))[0]?.retain, true);
    server.clock.advance(10_000);
    const [next] = await client.take(1);
    assert.deepEqual([next?.topic, next?.retain, next?.qos], [`${root}uptime`, false, 0]);
    await client.unsubscribe('$SYS/broker/uptime');
    await client.takeAll();
    server.clock.advance(10_000);
    await othersAreTold();
    assert.deepEqual(await client.takeAll(), []);
    await client.end();
  });

  test('is told what has changed, also when another has asked in between', async () => {
    const client = await Client.connect(server, 'admin');
    await client.subscribe('$SYS/broker/clients/connected');
    // A client that has just left may still be counted at first.
    await until(() => client.received.at(-1)?.payload === '1');
    const other = await Client.connect(server, 'admin');
    await other.subscribe('$SYS/#');
    await until(() => client.received.at(-1)?.payload === '2');
    await Promise.all([client.end(), other.end()]);
  });

  test('gets them again when its kept session comes back', async () => {
    const client = await Client.connect(server, 'admin', { clientId: 'kept', clean: false });
    await client.subscribe('$SYS/broker/version', 1).catch(() => {});
    await client.end();
    await server.running.idle();
    const back = await Client.connect(server, 'admin', { clientId: 'kept', clean: false });
    assert.match((await back.take(1))[0]?.payload ?? '', /^dundun version/);
    await back.end();
    await (await Client.connect(server, 'admin', { clientId: 'kept' })).end();
  });

  test('gets loads that decay as mosquitto’s do', async () => {
    server.clock.advance(10_000);
    const load = async () => Number((await lookAt('$SYS/broker/load/connections/1min'))['load/connections/1min']);
    await until(async () => {
      server.clock.advance(10_000);
      return (await load()) > 0;
    });
    server.clock.advance(3_600_000);
    await until(async () => (await load()) < 1);
  });
});

suite('nobody else', () => {
  for (const as of ['guest', 'stranger', 'owner']) {
    test(`${as} is granted the filter as before, and gets nothing`, async () => {
      const client = await Client.connect(server, as);
      await client.subscribe(['$SYS/#', '#']);
      server.clock.advance(10_000);
      await othersAreTold();
      assert.deepEqual(await client.takeAll(), []);
      await client.end();
    });
  }

  test('not an admin by a filter with a wildcard in front [MQTT-4.7.2-1]', async () => {
    const client = await Client.connect(server, 'admin');
    await client.subscribe(['#', '+/#', '+/broker/uptime', '/$SYS/#']);
    await othersAreTold();
    assert.deepEqual(await client.takeAll(), []);
    await client.end();
  });

  test('an API key of an admin without the scope admin', async () => {
    const { key } = await makeKeyOn(server, 'admin', { scopes: ['devices:view'] });
    const client = await Client.connect(server, '', { password: key });
    await client.subscribe('$SYS/#');
    assert.deepEqual(await client.takeAll(), []);
    await client.end();
  });

  test('an admin who is one no longer', async () => {
    const client = await Client.connect(server, 'admin-2');
    await client.subscribe('$SYS/broker/uptime');
    await client.take(1);
    const { body } = await server.call('admin', 'GET', '/users?username=admin-2');
    await make(server, { as: 'admin', call: `PUT /users/${body[0].id}`, json: { admin: false }, expect: 204 });
    // The role is looked up again in the background, by the next message that passes.
    server.clock.advance(limits.userFreshMs);
    await client.roundTrip();
    await server.running.idle();
    const other = await Client.connect(server, 'admin');
    await other.subscribe('$SYS/broker/uptime');
    await other.take(1);
    await client.takeAll();
    server.clock.advance(10_000);
    await other.take(1);
    assert.deepEqual(await client.takeAll(), []);
    await Promise.all([client.end(), other.end()]);
  });

  for (const qos of [0, 1, 2] as const) {
    test(`publishes there, with QoS ${qos}`, async () => {
      const watcher = await Client.connect(server, 'admin');
      await watcher.subscribe('$SYS/broker/mine');
      const client = await Client.connect(server, 'admin');
      await client.publish('$SYS/broker/mine', 'x', { qos, retain: true });
      await client.roundTrip();
      await server.running.idle();
      const late = await Client.connect(server, 'admin');
      await late.subscribe('$SYS/broker/mine');
      assert.deepEqual([await watcher.takeAll(), await late.takeAll()], [[], []]);
      await Promise.all([watcher.end(), client.end(), late.end()]);
    });
  }
});
