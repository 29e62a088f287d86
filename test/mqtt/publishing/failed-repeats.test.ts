// A QoS 2 message that fails while its repeat waits for its turn behind it: the repeat is not waited for for ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../../src/base/refusal.ts';
import { PacketClient } from '../../support/mqtt/packet-client.ts';
import { startWithSessions } from '../../support/mqtt/replaced-sessions.ts';
import { until } from '../../support/until.ts';

for (const version of [4, 5] as const) {
  test(`a message of QoS 2 that fails leaves no repeat that waits for it, in version ${version}`, async (t) => {
    const { promise: mayFail, resolve: fail } = Promise.withResolvers<void>();
    let isAsked = false;
    const server = await startWithSessions(t, () => ({
      enqueueForSubscribers: async () => {
        isAsked = true;
        await mayFail;
        throw new Refusal('busy', 'More MQTT messages arrive than can be stored.');
      },
    }));
    const topic = 'users/owner/failed';
    const receiver = await PacketClient.open(server, { version });
    const properties = version === 5 ? { properties: { sessionExpiryInterval: 1_000 } } : {};
    await receiver.signIn({ clientId: 'receiver', clean: false, ...properties });
    await receiver.subscribe({ topic, qos: 1 });
    await receiver.leave();
    const client = await PacketClient.open(server, { version });
    await client.signIn({ clientId: 'publisher' });
    const message = { cmd: 'publish', topic, payload: 'x', qos: 2, retain: false, messageId: 7 } as const;
    await client.send({ ...message, dup: false }, { ...message, dup: true });
    await until(() => isAsked);
    fail();
    await client.ended('nothing is acknowledged');
    await server.running.idle();
    assert.ok(isAsked);
  });
}
