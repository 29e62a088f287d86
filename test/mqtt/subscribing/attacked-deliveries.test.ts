// What clients ask of deliveries that would cost the service or others dearly: groups that nobody of may have a message, packets
// of exactly the size that is taken, packet ids that are in use, properties without end.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { heard, PacketClient, type Version } from '../../support/mqtt/packet-client.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

async function connect(
  clientId: string,
  options: Parameters<PacketClient['signIn']>[0] = {},
  version: Version = 5,
): Promise<PacketClient> {
  const client = await PacketClient.open(server, { version });
  const { reasonCode, returnCode } = await client.signIn({ clientId, ...options });
  assert.equal(reasonCode ?? returnCode, 0);
  return client;
}

test('a message larger than any member of a group takes is given up, not handed round for ever', async () => {
  const topic = 'users/owner/large';
  const small = { properties: { maximumPacketSize: 40 } };
  for (const name of ['small-a', 'small-b']) {
    const member = await connect(name, small);
    assert.deepEqual(await member.subscribe({ topic: `$share/g/${topic}`, qos: 1 }), [1]);
  }
  const publisher = await connect('large');
  await publisher.publish({ topic, payload: 'x'.repeat(100) });
  await server.running.idle();
  // It would come round to this one.
  const later = await connect('later');
  await later.subscribe({ topic: `$share/g/${topic}`, qos: 1 });
  for (let n = 0; n < 20; n += 1) assert.deepEqual(await later.deliveries(), []);
  await publisher.publish({ topic, payload: 'y'.repeat(100) });
  assert.deepEqual(
    heard(await later.take(1)).map(({ payload }) => payload[0]),
    ['y'],
  );
});

test('a member of a group that is away gets no message in a higher QoS than it was granted', async () => {
  const topic = 'users/owner/lower';
  const kept = { clean: false, properties: { sessionExpiryInterval: 1_000 } };
  const member = await connect('lower', kept);
  assert.deepEqual(await member.subscribe({ topic: `$share/g/${topic}`, qos: 0 }), [0]);
  await member.leave();
  const publisher = await connect('higher');
  await publisher.publish({ topic });
  await server.running.idle();
  const again = await connect('lower', kept);
  assert.deepEqual(await again.deliveries(), []);
});

test('a member whose session has ended leaves room in its group', async () => {
  const filter = '$share/full/users/owner/full';
  const bound = limits.sharedMembersMax;
  Object.assign(limits, { sharedMembersMax: 2 });
  try {
    for (const name of ['ends-a', 'ends-b', 'ends-c', 'ends-d']) {
      const member = await connect(name, { clean: false, properties: { sessionExpiryInterval: 1_000 } });
      assert.deepEqual(await member.subscribe({ topic: filter, qos: 1 }), [1], name);
      await member.leave();
      await (await connect(name, { clean: true })).leave();
    }
  } finally {
    Object.assign(limits, { sharedMembersMax: bound });
  }
});

test('no packet is made larger by an alias than its client takes', async () => {
  const topic = 'users/owner/exactly';
  const probe = await connect('probe');
  const publisher = await connect('exactly');
  await probe.subscribe({ topic, qos: 0 });
  await publisher.publish({ topic, payload: 'twelve bytes' });
  const maximumPacketSize = (await probe.take(1))[0]?.raw.length ?? 0;
  const client = await connect('sized', { properties: { maximumPacketSize, topicAliasMaximum: 4 } });
  await client.subscribe({ topic, qos: 0 });
  await publisher.publish({ topic, payload: 'twelve bytes' });
  const [came] = await client.take(1);
  assert.ok((came?.raw.length ?? 0) <= maximumPacketSize, `${came?.raw.length} of ${maximumPacketSize}`);
});

for (const version of [4, 5] as const) {
  test(`the id of a message that is sent again is given to no other in version ${version}`, async (t) => {
    const topic = `users/owner/ids-${version}`;
    const kept = version === 5 ? { clean: false, properties: { sessionExpiryInterval: 1_000 } } : { clean: false };
    const first = await connect(`ids-${version}`, kept, version);
    await first.subscribe({ topic, qos: 2 });
    const publisher = await connect('says-ids');
    await publisher.publish({ topic, payload: 'one', qos: 2 });
    const [one] = await first.take(1);
    const id = (one as { messageId?: number }).messageId ?? 0;
    await first.cut();
    await server.running.idle();
    // Ids begin at random: here at the one that is in use.
    t.mock.method(Math, 'random', () => (id - 0.5) / 65_535);
    const again = await connect(`ids-${version}`, kept, version);
    t.mock.restoreAll();
    assert.deepEqual(
      (await again.take(1)).map((came) => (came as { messageId?: number }).messageId),
      [id],
    );
    await publisher.publish({ topic, payload: 'two', qos: 2 });
    const [two] = await again.take(1);
    assert.notEqual((two as { messageId?: number }).messageId, id);
  });
}

test('more properties than are taken end the connection; they count for what is kept', async () => {
  const client = await connect('wordy');
  const long = 'x'.repeat(60_000);
  await client.send({
    ...{ cmd: 'publish', topic: 'users/owner/wordy', payload: 'p', qos: 0, retain: false, dup: false },
    properties: { userProperties: { one: long, two: long } },
  });
  assert.equal(await client.lastWords('too many properties'), 0x97);
});
