// What becomes of messages while the store is slow or refuses, and how much of it one subscriber may take at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../../src/base/refusal.ts';
import { type Came, heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import { startWithSessions } from '../../support/mqtt/replaced-sessions.ts';
import type { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const kept = { clean: false, properties: { sessionExpiryInterval: 1_000 } };

async function connect(
  server: TestServer,
  clientId: string,
  options: Parameters<PacketClient['signIn']>[0] = {},
): Promise<PacketClient> {
  const client = await PacketClient.open(server);
  const { reasonCode } = await client.signIn({ clientId, ...options });
  assert.equal(reasonCode, 0);
  return client;
}

const payloadsOf = (came: readonly Came[]) => heard(came).map(({ payload }) => payload);

test('a message that cannot be stored for the member of a group is not acknowledged, and comes again', async (t) => {
  let refusals = 1;
  const server = await startWithSessions(t, (sessions) => ({
    outgoingEnqueue: async (recipient, packet) => {
      if (refusals === 0) return sessions.outgoingEnqueue(recipient, packet);
      refusals -= 1;
      throw new Refusal('busy', 'More MQTT messages arrive than can be stored.');
    },
  }));
  const topic = 'users/owner/unstored';
  const member = await connect(server, 'member', kept);
  await member.subscribe({ topic: `$share/g/${topic}`, qos: 1 });
  await member.leave();
  const publisher = await connect(server, 'publisher');
  const message = { cmd: 'publish', topic, payload: 'once', qos: 1, retain: false, messageId: 1 } as const;
  await publisher.send({ ...message, dup: false });
  await publisher.ended('no acknowledgement of what is not stored');
  const again = await connect(server, 'publisher');
  await again.send({ ...message, dup: true });
  assert.equal((await again.answer('puback')).messageId, 1);
  const back = await connect(server, 'member', kept);
  assert.deepEqual(payloadsOf(await back.take(1)), ['once']);
});

test('a member of a group that comes back while a message is being stored for it gets it', async (t) => {
  const { promise: mayStore, resolve: store } = Promise.withResolvers<void>();
  let isAsked = false;
  const server = await startWithSessions(t, (sessions) => ({
    outgoingEnqueue: async (recipient, packet) => {
      isAsked = true;
      await mayStore;
      return sessions.outgoingEnqueue(recipient, packet);
    },
  }));
  const topic = 'users/owner/late';
  const member = await connect(server, 'member', kept);
  await member.subscribe({ topic: `$share/g/${topic}`, qos: 1 });
  await member.leave();
  const publisher = await connect(server, 'publisher');
  const published = publisher.publish({ topic, payload: 'late' });
  await until(() => isAsked);
  const back = await connect(server, 'member', kept);
  await back.deliveries();
  store();
  await published;
  assert.deepEqual(payloadsOf(await back.take(1)), ['late']);
  await back.cut();
  // It is kept until it is acknowledged.
  const again = await connect(server, 'member', kept);
  assert.deepEqual(payloadsOf(await again.take(1)), ['late']);
});

test('however many SUBSCRIBEs a connection sends, retained messages are read for one of them at a time', async (t) => {
  let reading = 0;
  let most = 0;
  let begun = 0;
  const server = await startWithSessions(t, (sessions) => ({
    createRetainedStreamCombi: (filters) => {
      async function* counted() {
        begun += 1;
        reading += 1;
        most = Math.max(most, reading);
        try {
          yield* sessions.createRetainedStreamCombi(filters);
        } finally {
          reading -= 1;
        }
      }
      return counted();
    },
  }));
  const publisher = await connect(server, 'publisher');
  for (let n = 0; n < 20; n++)
    await publisher.publish({ topic: `users/owner/kept/${n}`, payload: `${n}`, retain: true });
  const client = await connect(server, 'client');
  const asked = 50;
  await client.send(
    ...Array.from({ length: asked }, (_, n) => ({
      ...({ cmd: 'subscribe', messageId: n + 1 } as const),
      subscriptions: [{ topic: 'users/owner/kept/#', qos: 0 } as const],
    })),
  );
  assert.equal((await client.answers(asked)).length, asked);
  await client.take(20 * asked);
  assert.deepEqual({ begun, most }, { begun: asked, most: 1 });
});

test('a message names the identifier of each of a thousand filters once, and is found as often as it comes', async (t) => {
  const server = await startWithSessions(t, () => ({}));
  const client = await connect(server, 'client', kept);
  const count = 500;
  const levels = ['users', 'owner', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  // Filters that all match: each level as it is, or a wildcard.
  const filters = Array.from({ length: count }, (_, n) =>
    levels.map((level, at) => (at > 0 && (n >> (at - 1)) & 1 ? '+' : level)).join('/'),
  );
  for (const [n, topic] of filters.entries()) await client.subscribe({ topic, qos: 1 }, n + 1);
  const publisher = await connect(server, 'publisher');
  const topic = levels.join('/');
  for (const payload of ['1', '2']) await publisher.publish({ topic, payload });
  for (const came of await client.take(2)) {
    const identifiers = came.cmd === 'publish' ? came.properties?.subscriptionIdentifier : undefined;
    const ids = (Array.isArray(identifiers) ? identifiers : [identifiers]) as number[];
    assert.deepEqual(
      ids.toSorted((a, b) => a - b),
      Array.from({ length: count }, (_, n) => n + 1),
    );
  }
});
