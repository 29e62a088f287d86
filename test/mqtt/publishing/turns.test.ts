// MQTT packets beyond what one turn of the event loop allows wait, and callers are served in turns: a client that
// sends many delays only itself. The time of a turn ends after each packet here, so that the test measures no time.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { generate, type Packet } from 'mqtt-packet';
import { limits } from '../../../src/config/limits.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

Object.assign(limits, { turnMsMax: 1e-6, turnMsMin: 1e-6 });
const packets = 500;

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
});
after(() => server.stop());

/** SUBSCRIBE and UNSUBSCRIBE in turn, each of the same filters. */
const storm = (filters: readonly string[]): Packet[] =>
  Array.from({ length: packets }, (_, n) =>
    n % 2 === 0
      ? { cmd: 'subscribe', messageId: n + 1, subscriptions: filters.map((topic) => ({ topic, qos: 0 as const })) }
      : { cmd: 'unsubscribe', messageId: n + 1, unsubscriptions: [...filters] },
  );

const idsOf = (client: RawClient) => client.packets.map(({ messageId }) => messageId);

suite('packets take turns:', () => {
  for (const [name, filters] of [
    ['small', ['a']],
    ['large', Array.from({ length: 400 }, (_, n) => `devices/${n}/#`)],
  ] as const) {
    test(`who subscribes once is answered before the last of many ${name} packets of another that came first`, async () => {
      const heavy = await RawClient.connect(server, 'owner', { clientId: `heavy-${name}` });
      const quiet = await RawClient.connect(server, 'stranger', { clientId: `quiet-${name}` });
      heavy.send(...storm(filters));
      await until(() => heavy.packets.length > 0, { everyMs: 1 });
      await quiet.subscribe('devices/d/#');
      assert.ok(heavy.packets.length < packets, 'all of the other’s packets had been answered by then');
      await until(() => heavy.packets.length === packets);
      assert.deepEqual(
        idsOf(heavy),
        Array.from({ length: packets }, (_, n) => n + 1),
        'in the order in which they were sent',
      );
      for (const client of [heavy, quiet]) client.socket.destroy();
    });
  }

  test('what was sent before the connection was ended is still done, in its order', async () => {
    const listener = await RawClient.connect(server, 'owner', { clientId: 'listens' });
    await listener.subscribe('users/owner/#');
    const client = await RawClient.connect(server, 'owner', { clientId: 'ends' });
    const publish = { cmd: 'publish', topic: 'users/owner/t', qos: 0, dup: false, retain: false } as const;
    client.socket.end(Buffer.concat(Array.from({ length: 200 }, (_, n) => generate({ ...publish, payload: `${n}` }))));
    await until(() => listener.packets.length === 200);
    assert.deepEqual(
      listener.packets.map((packet) => packet.cmd === 'publish' && `${packet.payload}`),
      Array.from({ length: 200 }, (_, n) => `${n}`),
    );
    listener.socket.destroy();
  });

  test('filters that go with their clients take turns too, and nothing of them is left', async () => {
    const filters = Array.from({ length: 300 }, (_, n) => `devices/${n}/#`);
    const clients = await Promise.all(
      Array.from({ length: 5 }, (_, n) => RawClient.connect(server, 'owner', { clientId: `goes-${n}` })),
    );
    for (const client of clients) {
      client.send({ cmd: 'subscribe', messageId: 1, subscriptions: filters.map((topic) => ({ topic, qos: 0 })) });
      await client.next('suback');
    }
    for (const client of clients) client.socket.resetAndDestroy();
    // The same ids are taken over when those before them have gone.
    const again = await Promise.all(
      Array.from({ length: 5 }, (_, n) => RawClient.connect(server, 'owner', { clientId: `goes-${n}` })),
    );
    const [first] = again;
    await first?.subscribe('devices/d/#');
    await server.call('owner', 'POST', '/devices/d/sensors/s/values', { json: { value: 1 } });
    await until(() => (first?.packets.length ?? 0) >= 1);
    assert.equal(again.slice(1).flatMap(({ packets }) => packets).length, 0);
    for (const client of again) client.socket.destroy();
  });
});
