// A message of QoS 2 to other clients whose packet id is stored, and that cannot be stored for its receivers: a repeat is no repeat.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../../src/base/refusal.ts';
import { heard, PacketClient, type Version } from '../../support/mqtt/packet-client.ts';
import { startWithSessions } from '../../support/mqtt/replaced-sessions.ts';
import type { TestServer } from '../../support/test-server.ts';

async function connect(server: TestServer, clientId: string, version: Version): Promise<PacketClient> {
  const client = await PacketClient.open(server, { version });
  const properties = version === 5 ? { properties: { sessionExpiryInterval: 1_000 } } : {};
  await client.signIn({ clientId, clean: false, ...properties });
  return client;
}

for (const version of [4, 5] as const) {
  test(`a message of QoS 2 that was not stored for its receivers is, when it comes again, in version ${version}`, async (t) => {
    let refusals = 0;
    const server = await startWithSessions(t, (sessions) => ({
      enqueueForSubscribers: async (packet, joined) => {
        if (refusals === 0) return sessions.enqueueForSubscribers(packet, joined);
        refusals -= 1;
        throw new Refusal('busy', 'More MQTT messages arrive than can be stored.');
      },
    }));
    const topic = 'users/owner/refused';
    const receiver = await connect(server, 'receiver', version);
    await receiver.subscribe({ topic, qos: 1 });
    await receiver.leave();
    const message = { cmd: 'publish', topic, payload: 'once', qos: 2, retain: false, messageId: 7 } as const;
    const publisher = await connect(server, 'publisher', version);
    refusals = 1;
    await publisher.send({ ...message, dup: false });
    await publisher.ended('no acknowledgement of what is not stored');
    const again = await connect(server, 'publisher', version);
    await again.send({ ...message, dup: true });
    await again.answer('pubrec');
    await again.send({ cmd: 'pubrel', messageId: 7 });
    await again.answer('pubcomp');
    const back = await connect(server, 'receiver', version);
    assert.deepEqual(
      heard(await back.take(1)).map(({ payload }) => payload),
      ['once'],
    );
  });
}
