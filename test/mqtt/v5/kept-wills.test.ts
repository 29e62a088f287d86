// Wills of one client id over a takeover: that of the former connection is published, and that of the later one stays stored
// until its own connection ends.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const topic = 'users/owner/wills';

async function connect(clientId: string, payload?: string): Promise<PacketClient> {
  const client = await PacketClient.open(server);
  const will =
    payload === undefined ? {} : { will: { topic, payload: Buffer.from(payload), qos: 1, retain: false } as const };
  assert.equal((await client.signIn({ clientId, ...will })).reasonCode, 0);
  return client;
}

test('the will of a connection that took over is stored, though the former one is published behind it', async () => {
  const witness = await connect('witness');
  await witness.subscribe({ topic, qos: 1 });
  await connect('twice', 'first');
  const second = await connect('twice', 'second');
  await server.running.idle();
  assert.deepEqual(
    heard(await witness.take(1)).map(({ payload }) => payload),
    ['first'],
  );
  const wills = ((await server.rows())['mqtt_will'] ?? []) as {
    readonly client_id: string;
    readonly payload: Uint8Array;
  }[];
  assert.deepEqual(
    wills.map(({ client_id: id, payload }) => [id, Buffer.from(payload).toString()]),
    [['twice', 'second']],
  );
  await second.cut();
  assert.deepEqual(
    heard(await witness.take(1)).map(({ payload }) => payload),
    ['second'],
  );
  await server.running.idle();
  assert.deepEqual((await server.rows())['mqtt_will'], []);
  await witness.leave();
});
