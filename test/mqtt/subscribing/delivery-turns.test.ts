// Publishers take turns with what they publish to subscribers: who publishes to many subscribers delays nobody else's
// messages, and the messages of one device keep their order (I3, I4).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

const crowd = 60;
const publishes = 600;
let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const shared = { id: 'crowded', visibility: 'public', sensors: [{ id: 's' }] };
  assert.equal((await server.call('guest', 'POST', '/devices', { json: shared })).status, 204);
  const own = { id: 'own', sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json: own })).status, 204);
});
after(() => server.stop());

for (const [what, topic, as] of [
  ['to a device that many follow', 'devices/crowded/sensors/s/value', 'guest'],
  ['to the many connections of one user', 'users/stranger/crowd', 'stranger'],
] as const) {
  test(`what comes in one read ${what} does not hold up what somebody else publishes`, async () => {
    const connect = (clientId: string) => RawClient.connect(server, as, { clientId });
    const subscribers = await Promise.all(
      Array.from({ length: crowd }, async (_, n) => {
        const client = await connect(`crowd-${n}`);
        await client.subscribe(topic);
        return client;
      }),
    );
    const hears = await RawClient.connect(server, 'owner', { clientId: 'hears' });
    await hears.subscribe('devices/own/#');
    const publisher = await connect('shouts');
    // So few bytes that the service takes all of them in one read.
    for (let n = 0; n < publishes; n += 1) {
      publisher.publish({ topic, payload: `{"value":${n}}`, messageId: n + 1 });
    }
    await publisher.next('puback');
    const json = { value: 1 };
    assert.equal((await server.call('owner', 'POST', '/devices/own/sensors/s/value', { json })).status, 204);
    await hears.next('publish');
    const handedOut = subscribers.reduce((sum, { packets }) => sum + packets.length, 0);
    assert.ok(handedOut < (crowd * publishes) / 2, `${handedOut} messages went out before it`);

    const last = subscribers[crowd - 1] as RawClient;
    const values: number[] = [];
    while (values.length < publishes) values.push(JSON.parse(String((await last.next('publish')).payload)).value);
    assert.deepEqual(
      values,
      Array.from({ length: publishes }, (_, n) => n),
    );
    for (const client of [...subscribers, hears, publisher]) client.socket.destroy();
    await server.running.idle();
  });
}

test('two publishers of one device are heard in the order of their commits, beside others who take turns', async () => {
  const hears = await RawClient.connect(server, 'owner', { clientId: 'hears-both' });
  await hears.subscribe('devices/crowded/#');
  const crowdClients = await Promise.all(
    Array.from({ length: crowd }, async (_, n) => {
      const client = await RawClient.connect(server, 'guest', { clientId: `more-${n}` });
      await client.subscribe('devices/crowded/#');
      return client;
    }),
  );
  const publisher = await RawClient.connect(server, 'guest', { clientId: 'first' });
  const rounds = 20;
  const each = 20;
  let messageId = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (let n = 0; n < each; n += 1) {
      messageId += 1;
      publisher.publish({ topic: 'devices/crowded/sensors/s/value', payload: `{"value":${messageId}}`, messageId });
    }
    for (let n = 0; n < each; n += 1) await publisher.next('puback');
    const json = { value: 1_000 + round };
    assert.equal((await server.call('admin', 'POST', '/devices/crowded/sensors/s/value', { json })).status, 204);
  }
  const values: number[] = [];
  while (values.length < rounds * (each + 1)) {
    values.push(JSON.parse(String((await hears.next('publish')).payload)).value);
  }
  const expected = Array.from({ length: rounds }, (_, round) => [
    ...Array.from({ length: each }, (__, n) => round * each + n + 1),
    1_000 + round,
  ]).flat();
  assert.deepEqual(values, expected);
  for (const client of [...crowdClients, hears, publisher]) client.socket.destroy();
  await server.running.idle();
});
