// Retained messages of which a subscriber had not been sent all when its connection ended: they wait for its session, as all
// does that is on its way to it (4.1 of MQTT 5). More of them than are written at a time.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { setLimits } from '../../support/limits.ts';
import { type Came, heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';

// However slow the machine is.
setLimits({ retainedKeptMsMax: 60_000 });

const count = 2 * limits.retainedKeptAtOnce + 10;
const topic = (n: number) => `users/owner/kept/${n}`;
const filter = { topic: 'users/owner/kept/#', qos: 1 } as const;
const kept = { receiveMaximum: 1, sessionExpiryInterval: 1_000 };

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const publisher = await connect('publisher');
  const publish = { cmd: 'publish', qos: 1, retain: true, dup: false } as const;
  const packets = Array.from({ length: count }, (_, n) => ({ topic: topic(n), payload: `${n}`, messageId: n + 1 }));
  await publisher.send(...packets.map((packet) => ({ ...publish, ...packet })));
  await publisher.answers(count);
  await publisher.leave();
});
after(() => server.stop());

async function connect(clientId: string, options: Parameters<PacketClient['signIn']>[0] = {}): Promise<PacketClient> {
  const client = await PacketClient.open(server);
  const { reasonCode } = await client.signIn({ clientId, ...options });
  assert.equal(reasonCode, 0);
  return client;
}

/** So many, acknowledged one after the other; nothing comes after them. */
async function takeAll(client: PacketClient, messages: number): Promise<Came[]> {
  const all: Came[] = [];
  while (all.length < messages) {
    const came = await client.take(1);
    await client.acknowledge(came);
    all.push(...came);
  }
  assert.deepEqual(await settled(client), []);
  return all;
}

/** What has come when the server has nothing to do. */
async function settled(client: PacketClient): Promise<Came[]> {
  const before = await client.deliveries();
  await server.running.idle();
  return [...before, ...(await client.deliveries())];
}

suite('retained messages that were not sent when the connection ended', () => {
  const ends: readonly [how: string, end: (client: PacketClient) => Promise<void>][] = [
    ['was cut', (client) => client.cut()],
    ['left', (client) => client.leave()],
    ['was taken over', async () => {}],
  ];
  for (const [how, end] of ends) {
    test(`are sent, each once, when the client is back that ${how}`, async () => {
      const clientId = `kept-${how}`;
      const first = await connect(clientId, { clean: false, properties: kept });
      await first.subscribe(filter);
      const [one] = heard(await first.take(1));
      await end(first);
      const again = await connect(clientId, { clean: false, properties: kept });
      const [repeated, ...others] = heard(await takeAll(again, count));
      assert.deepEqual(repeated, { ...one, dup: true });
      assert.deepEqual(
        new Set(others.map((message) => message.topic)),
        new Set(Array.from({ length: count }, (_, n) => topic(n)).filter((name) => name !== one?.topic)),
      );
      assert.equal(others.length, count - 1);
      assert.ok(others.every(({ retain, dup }) => retain && !dup));
      await again.leave({ properties: { sessionExpiryInterval: 0 } });
    });
  }

  const anew: readonly [what: string, begin: (client: PacketClient) => Promise<PacketClient>][] = [
    [
      'ended its session with the connection',
      async (client) => {
        await client.leave({ properties: { sessionExpiryInterval: 0 } });
        return connect('gone', { clean: false, properties: kept });
      },
    ],
    [
      'begins anew after it was cut',
      async (client) => {
        await client.cut();
        return connect('gone', { clean: true, properties: kept });
      },
    ],
    ['begins anew in its own place', async () => connect('gone', { clean: true, properties: kept })],
  ];
  for (const [what, begin] of anew) {
    test(`go with the session of a client that ${what}`, async () => {
      const first = await connect('gone', { clean: true, properties: kept });
      await first.subscribe(filter);
      await first.take(1);
      const again = await begin(first);
      assert.deepEqual(await settled(again), []);
      // Nor do they come with the next connection.
      await again.leave();
      const last = await connect('gone', { clean: false, properties: kept });
      assert.deepEqual(await settled(last), []);
      await last.leave({ properties: { sessionExpiryInterval: 0 } });
    });
  }

  test('are not kept where the client has unsubscribed', async () => {
    const first = await connect('unsubscribes', { clean: true, properties: kept });
    await first.subscribe(filter);
    await first.take(1);
    await first.unsubscribe(filter.topic);
    await first.cut();
    const again = await connect('unsubscribes', { clean: false, properties: kept });
    // What was sent is sent again until it is acknowledged.
    assert.deepEqual(
      heard(await takeAll(again, 1)).map(({ dup }) => dup),
      [true],
    );
    await again.leave({ properties: { sessionExpiryInterval: 0 } });
  });
});
