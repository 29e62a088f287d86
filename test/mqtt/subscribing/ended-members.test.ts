// What waits in the stored session of a member of a shared subscription's group goes to another member when that session ends,
// however it ends: nothing is lost by it, and nobody gets anything twice.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Came, heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

type Connecting = Parameters<PacketClient['signIn']>[0];
const kept: Connecting = { clean: false, properties: { sessionExpiryInterval: 1_000 } };

async function connect(clientId: string, options: Connecting = {}): Promise<PacketClient> {
  const client = await PacketClient.open(server);
  const { reasonCode } = await client.signIn({ clientId, ...options });
  assert.equal(reasonCode, 0);
  return client;
}

const payloadsOf = (came: readonly Came[]) => heard(came).map(({ payload }) => payload);

/** Each ends the kept session of a client that is away. */
const ends: readonly { readonly how: string; readonly end: (clientId: string) => Promise<void> }[] = [
  {
    how: 'by its expiry',
    end: async (clientId) => {
      server.clock.advance(1_001_000);
      // Asks after the session, which ends it before it is taken up.
      await (await connect(clientId, { clean: false })).leave();
    },
  },
  {
    how: 'because its client begins anew',
    end: async (clientId) => {
      await (await connect(clientId, { clean: true })).leave();
    },
  },
  {
    how: 'because its client comes back, and leaves for good without an acknowledgement',
    end: async (clientId) => {
      const back = await connect(clientId, kept);
      assert.deepEqual(payloadsOf(await back.take(3)), ['1', '2', '3']);
      await back.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 0 } });
      await back.ended('it has left');
    },
  },
  {
    how: 'because its client comes back for one connection, takes one message at a time, and is cut',
    end: async (clientId) => {
      const back = await connect(clientId, {
        clean: false,
        properties: { sessionExpiryInterval: 0, receiveMaximum: 1 },
      });
      assert.deepEqual(payloadsOf(await back.take(1)), ['1']);
      await back.cut();
    },
  },
];

for (const [n, { how, end }] of ends.entries()) {
  for (const other of ['is connected', 'is away too'] as const) {
    test(`what waits in a session that ends ${how} goes to a member that ${other}`, async () => {
      const name = `ended-${n}-${other.length}`;
      const topic = `users/owner/${name}`;
      const filter = `$share/g/${topic}`;
      const leaves = await connect(`${name}-leaves`, kept);
      await leaves.subscribe({ topic: filter, qos: 1 });
      await leaves.leave();
      const publisher = await connect(`${name}-says`);
      for (const payload of ['1', '2', '3']) await publisher.publish({ topic, payload });
      await publisher.leave();
      await server.running.idle();
      const lasting = { clean: false, properties: { sessionExpiryInterval: 100_000 } };
      const stays = await connect(`${name}-stays`, lasting);
      await stays.subscribe({ topic: filter, qos: 1 });
      if (other === 'is away too') await stays.leave();
      await end(`${name}-leaves`);
      await server.running.idle();
      const hears = other === 'is away too' ? await connect(`${name}-stays`, lasting) : stays;
      assert.deepEqual(payloadsOf(await hears.take(3)), ['1', '2', '3']);
      assert.deepEqual(payloadsOf(await hears.deliveries()), []);
      const again = await connect(`${name}-leaves`, { clean: false });
      assert.deepEqual(payloadsOf(await again.deliveries()), []);
    });
  }
}

test('what was sent with QoS 2 and not finished when its session ends goes to nobody else', async () => {
  const topic = 'users/owner/ended-claimed';
  const filter = `$share/g/${topic}`;
  const leaves = await connect('claims', { ...kept, properties: { sessionExpiryInterval: 1_000, receiveMaximum: 1 } });
  await leaves.subscribe({ topic: filter, qos: 2 });
  const publisher = await connect('claimed-says');
  for (const payload of ['1', '2']) await publisher.publish({ topic, payload, qos: 2 });
  assert.deepEqual(payloadsOf(await leaves.take(1)), ['1']);
  await leaves.cut();
  await server.running.idle();
  const stays = await connect('claims-stays');
  await stays.subscribe({ topic: filter, qos: 2 });
  await (await connect('claims', { clean: true })).leave();
  await server.running.idle();
  assert.deepEqual(payloadsOf(await stays.take(1)), ['2']);
  assert.deepEqual(payloadsOf(await stays.deliveries()), []);
});
