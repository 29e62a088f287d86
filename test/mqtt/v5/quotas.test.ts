// What clients of version 5 may have, and what quotas leave alone: groups of shared subscriptions shared among callers, those of
// guests apart by address, the properties of what is retained, and readings of QoS 2 that are stored.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { type Came, type ConnectOptions, heard, PacketClient } from '../../support/mqtt/packet-client.ts';
import type { As } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

const { sharedGroupsMax, sharedGroupsEachMax } = limits;
const topic = 'devices/d/sensors/s/value';
const kept = { clean: false, properties: { sessionExpiryInterval: 1_000 } };
let server: TestServer;

before(async () => {
  Object.assign(limits, { sharedGroupsMax: 12, sharedGroupsEachMax: 4 });
  server = await TestServer.start({ DUNDUN_QUOTAS: 'mqtt_session_bytes=3000,retained_bytes=40000' });
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', visibility: 'public', sensors: [{ id: 's' }] } });
});
after(async () => {
  Object.assign(limits, { sharedGroupsMax, sharedGroupsEachMax });
  await server.stop();
});

async function connect(
  as: As,
  clientId: string,
  { from = '127.0.0.1', ...options }: ConnectOptions & { readonly from?: string } = {},
): Promise<PacketClient> {
  const client = await PacketClient.open(server, { from });
  assert.equal((await client.signIn({ as, clientId, ...options })).reasonCode, 0);
  return client;
}

const reasonOf = (came: Came | undefined) => (came as { readonly reasonCode?: number } | undefined)?.reasonCode ?? 0;

/** How many more groups a client is granted of those that it asks for. */
async function groupsOf(client: PacketClient, name: string, count: number): Promise<number> {
  const filters = Array.from({ length: count }, (_, n) => ({ topic: `$share/${name}-${n}/${topic}`, qos: 0 as const }));
  const codes = await client.subscribe(filters);
  assert.ok(codes.every((code) => code === 0 || code === 0x97));
  return codes.filter((code) => code === 0).length;
}

test('groups are left for others, however many one guest asks for; and a session is in a few at most', async () => {
  const greedy: PacketClient[] = [];
  let taken = 0;
  for (let n = 0; n < 5; n++) {
    const client = await connect('guest', `greedy-${n}`);
    greedy.push(client);
    const granted = await groupsOf(client, `greedy-${n}`, 10);
    assert.ok(granted <= 4, `${granted} of one session`);
    taken += granted;
  }
  assert.ok(taken >= 2 && taken <= 9, `${taken} of 12`);
  const guest = await connect('guest', 'other-guest', { from: '127.0.0.2' });
  assert.ok((await groupsOf(guest, 'other', 1)) === 1, 'a guest of another address');
  const owner = await connect('owner', 'signed-in');
  assert.ok((await groupsOf(owner, 'own', 1)) === 1, 'a user');
  for (const client of [...greedy, guest, owner]) await client.leave();
});

test('guests of two addresses share no group, over a restart too', async () => {
  const addresses = ['127.0.0.1', '127.0.0.2'];
  const filter = { topic: `$share/g/${topic}`, qos: 1 as const };
  for (const from of addresses) {
    const client = await connect('guest', `shares-${from}`, { from, ...kept });
    assert.deepEqual(await client.subscribe(filter), [1]);
    await client.leave();
  }
  await server.restart();
  const publisher = await connect('owner', 'publishes');
  const clients = await Promise.all(addresses.map((from) => connect('guest', `shares-${from}`, { from, ...kept })));
  assert.deepEqual(
    clients.map(({ connack }) => connack?.sessionPresent),
    [true, true],
  );
  await publisher.publish({ topic, payload: '{"value":1}' });
  await server.running.idle();
  for (const client of clients) {
    assert.deepEqual(
      heard(await client.deliveries()).map(({ payload }) => payload),
      ['{"value":1}'],
    );
    await client.leave({ properties: { sessionExpiryInterval: 0 } });
  }
  await publisher.leave();
});

test('the properties of what is retained count for the quota of its publisher', async () => {
  const client = await connect('stranger', 'retains');
  const properties = { userProperties: { words: 'x'.repeat(8_000) } };
  const codes: number[] = [];
  for (let n = 0; n < 8; n++)
    codes.push(
      reasonOf(await client.publish({ topic: `users/stranger/${n}`, payload: 'p', retain: true, properties })),
    );
  const isRefused = codes.map((code) => code === 0x97);
  assert.ok(isRefused[0] === false && isRefused[7] === true, codes.join());
  const { retained_bytes: bytes } = (await server.call('stranger', 'GET', '/users/me/quota')).body;
  const count = isRefused.filter((one) => !one).length;
  assert.ok(bytes.used >= count * 8_000 && bytes.used <= 40_000, `${JSON.stringify(bytes)} of ${count}`);
  await client.leave();
});

test('a reading of QoS 2 that is stored is not said to be beyond the quota of sessions, and a repeat is one', async () => {
  const client = await connect('owner', 'exactly-once', kept);
  // Longer than what a session of the user may hold.
  const payload = `{"value":7${' '.repeat(4_000)}}`;
  const packet = { cmd: 'publish' as const, topic, payload, qos: 2 as const, retain: false, messageId: 9 };
  await client.send({ ...packet, dup: false });
  assert.equal(reasonOf(await client.answer('pubrec')), 0);
  await client.send({ ...packet, dup: true });
  assert.equal(reasonOf(await client.answer('pubrec')), 0);
  await client.send({ cmd: 'pubrel', messageId: 9 });
  await client.answer('pubcomp');
  await server.running.idle();
  const { body } = await server.call('owner', 'GET', '/devices/d/sensors/s/values');
  assert.deepEqual((body as { readonly value: number }[]).filter(({ value }) => value === 7).length, 1);
  await client.leave({ properties: { sessionExpiryInterval: 0 } });
});
