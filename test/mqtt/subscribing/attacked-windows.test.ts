// Messages that wait for their receiver: for its acknowledgements, or in its stored session. What was changed meanwhile counts when
// they are sent.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

async function connect(clientId: string, options: Parameters<PacketClient['signIn']>[0] = {}): Promise<PacketClient> {
  const client = await PacketClient.open(server);
  const { reasonCode } = await client.signIn({ clientId, ...options });
  assert.equal(reasonCode, 0);
  return client;
}

test('a message that waits for an acknowledgement is not sent to who may not view it any more', async () => {
  const id = 'waiting';
  const device = { id, name: id, sensors: [{ id: 's', name: 's' }], visibility: 'public' };
  assert.equal((await server.call('owner', 'POST', '/devices', { json: device })).status, 204);
  const topic = `devices/${id}/sensors/s/value`;
  const show = async (text: string) => {
    const { status } = await server.call('owner', 'PUT', `/devices/${id}/visibility`, { text });
    assert.equal(status, 204);
  };
  for (const isKept of [false, true]) {
    await show('public');
    const properties = { receiveMaximum: 1, sessionExpiryInterval: isKept ? 1_000 : 0 };
    const slow = await connect('slow', { as: 'stranger', clean: !isKept, properties });
    await slow.subscribe({ topic, qos: 1 });
    const publisher = await connect('fast');
    for (const value of [1, 2]) await publisher.publish({ topic, payload: `{"value":${value}}` });
    await server.running.idle();
    const [one] = await slow.take(1);
    await show('private');
    await slow.acknowledge([one as NonNullable<typeof one>]);
    assert.deepEqual(heard(await slow.deliveries()), []);
    // Its place is free again.
    await show('public');
    await publisher.publish({ topic, payload: '{"value":3}' });
    await server.running.idle();
    assert.deepEqual(
      heard(await slow.deliveries()).map(({ payload }) => payload),
      ['{"value":3}'],
    );
    await slow.leave();
  }
});

test('a message that expires while it waits is dropped once, and the next one is sent', async () => {
  const topic = 'users/owner/expires';
  const slow = await connect('expires', { properties: { receiveMaximum: 1 } });
  await slow.subscribe({ topic, qos: 1 });
  const publisher = await connect('expires-p');
  await publisher.publish({ topic, payload: 'first' });
  for (const payload of ['late', 'later'])
    await publisher.publish({ topic, payload, properties: { messageExpiryInterval: 1 } });
  await publisher.publish({ topic, payload: 'last' });
  await server.running.idle();
  server.clock.advance(5_000);
  await slow.acknowledge(await slow.take(1));
  const [last] = await slow.take(1);
  assert.deepEqual(
    heard([last as NonNullable<typeof last>]).map(({ payload }) => payload),
    ['last'],
  );
  await slow.acknowledge([last as NonNullable<typeof last>]);
  await publisher.publish({ topic, payload: 'then' });
  assert.deepEqual(
    heard(await slow.take(1)).map(({ payload }) => payload),
    ['then'],
  );
});

test('whoever acknowledges one at a time is given all retained messages', async () => {
  const publisher = await connect('retains');
  const count = 400;
  for (let n = 0; n < count; n += 1)
    await publisher.publish({ topic: `users/owner/retained/${n}`, payload: 'x'.repeat(1_000), retain: true });
  const one = await connect('one-by-one', { properties: { receiveMaximum: 1 } });
  await one.subscribe({ topic: 'users/owner/retained/#', qos: 1 });
  for (let n = 0; n < count; n += 1) await one.acknowledge(await one.take(1));
  for (let n = 0; n < count; n += 1)
    await publisher.publish({ topic: `users/owner/retained/${n}`, payload: '', retain: true });
});

test('two SUBSCRIBEs in one write are answered, and given what is retained, though one acknowledgement is owed at a time', async () => {
  const publisher = await connect('twice-p');
  const topics = ['a', 'b', 'c'].map((name) => `users/owner/twice/${name}`);
  for (const topic of topics) await publisher.publish({ topic, retain: true });
  const client = await connect('twice', { properties: { receiveMaximum: 1 } });
  const subscription = { topic: 'users/owner/twice/#', qos: 1 } as const;
  const ids = [client.nextId(), client.nextId(), client.nextId()];
  await client.send(
    ...ids.map((messageId) => ({ cmd: 'subscribe' as const, messageId, subscriptions: [subscription] })),
  );
  assert.deepEqual(
    (await client.answers(3)).map(({ messageId }) => messageId),
    ids,
  );
  const came: string[] = [];
  while (came.length < 9) {
    const message = await client.take(1);
    came.push(...heard(message).map(({ topic }) => topic));
    await client.acknowledge(message);
  }
  assert.deepEqual(came, [...topics, ...topics, ...topics]);
  for (const topic of topics) await publisher.publish({ topic, payload: '', retain: true });
});
