// Groups of shared subscriptions whose members leave, are away, or may not have what comes: nothing is lost by it, nothing comes
// twice, and it costs others little.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Came, heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const kept = { clean: false, properties: { sessionExpiryInterval: 1_000 } };

async function connect(clientId: string, options: Parameters<PacketClient['signIn']>[0] = {}): Promise<PacketClient> {
  const client = await PacketClient.open(server);
  const { reasonCode } = await client.signIn({ clientId, ...options });
  assert.equal(reasonCode, 0);
  return client;
}

const payloadsOf = (came: readonly Came[]) => heard(came).map(({ payload }) => payload);

test('a message of QoS 2 that a member has with QoS 1 and does not acknowledge goes to another when it leaves', async () => {
  const topic = 'users/owner/lesser';
  const leaves = await connect('lesser-a');
  await leaves.subscribe({ topic: `$share/g/${topic}`, qos: 1 });
  const publisher = await connect('lesser-p');
  await publisher.publish({ topic, payload: 'once', qos: 2 });
  assert.deepEqual(payloadsOf(await leaves.take(1)), ['once']);
  const stays = await connect('lesser-b');
  await stays.subscribe({ topic: `$share/g/${topic}`, qos: 1 });
  await leaves.cut();
  await server.running.idle();
  assert.deepEqual(payloadsOf(await stays.deliveries()), ['once']);
});

for (const how of ['cuts its connection', 'unsubscribes'] as const) {
  test(`what a member has that ${how} is kept for another that is away`, async () => {
    const name = how.slice(0, 4);
    const topic = `users/owner/away-${name}`;
    const filter = `$share/g/${topic}`;
    const away = await connect(`away-${name}`, kept);
    await away.subscribe({ topic: filter, qos: 1 });
    await away.leave();
    const leaves = await connect(`leaves-${name}`);
    await leaves.subscribe({ topic: filter, qos: 1 });
    const publisher = await connect(`says-${name}`);
    await publisher.publish({ topic, payload: 'kept' });
    assert.deepEqual(payloadsOf(await leaves.take(1)), ['kept']);
    if (how === 'unsubscribes') await leaves.unsubscribe(filter);
    else await leaves.cut();
    await server.running.idle();
    const back = await connect(`away-${name}`, kept);
    assert.deepEqual(payloadsOf(await back.take(1)), ['kept']);
    assert.deepEqual(payloadsOf(await back.deliveries()), []);
  });
}
