// One message to many subscribers: encoded once, permitted to each as things are now, although what was decided is
// remembered, and never before its publisher is acknowledged (I1, I2, I3).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { RawClient } from '../support/mqtt/mqtt-raw.ts';
import type { As } from '../support/people.ts';
import { TestServer } from '../support/test-server.ts';

let server: TestServer;
let owner: RawClient;

before(async () => {
  server = await TestServer.start();
  owner = await RawClient.connect(server, 'owner', { clientId: 'publishes' });
});
after(() => server.stop());

let made = 0;

async function makeDevice(visibility: 'public' | 'private' = 'private'): Promise<string> {
  made += 1;
  const id = `device-${made}`;
  const json = { id, visibility, sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json })).status, 204);
  return id;
}

const topicOf = (id: string) => `devices/${id}/sensors/s/value`;

async function subscriber(as: As, topic: string, qos: 0 | 1 = 0): Promise<RawClient> {
  made += 1;
  const client = await RawClient.connect(server, as, { clientId: `hears-${made}` });
  await client.subscribe(topic, qos);
  return client;
}

/** Publishes these values to the device one after the other, each acknowledged before the next. */
async function publish(id: string, ...values: readonly number[]): Promise<void> {
  for (const value of values) {
    owner.publish({ topic: topicOf(id), payload: `{"value":${value}}` });
    await owner.next('puback');
  }
  await server.running.idle();
}

async function valuesOf(client: RawClient): Promise<number[]> {
  await client.roundTrip();
  return client.takePublishes().map(({ payload }) => JSON.parse(String(payload)).value);
}

async function encoded(): Promise<number> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  return Number(/^dundun_mqtt_encoded_messages_total (\d+)$/m.exec(text)?.[1]);
}

test('a message is encoded once for all who get it in the same QoS, and each has its own packet ids', async () => {
  const id = await makeDevice();
  const plain = await Promise.all(Array.from({ length: 12 }, () => subscriber('owner', topicOf(id))));
  const acknowledging = await Promise.all(Array.from({ length: 12 }, () => subscriber('owner', `devices/${id}/#`, 1)));
  const encodedBefore = await encoded();
  await publish(id, 1, 2, 3);
  assert.equal((await encoded()) - encodedBefore, 2 * 3);
  for (const client of plain) {
    await client.roundTrip();
    const seen = client.takePublishes().map(({ payload, qos, messageId }) => [String(payload), qos, messageId]);
    assert.deepEqual(seen, [1, 2, 3].map((value) => [`{"value":${value}}`, 0, undefined])); // biome-ignore format: one line
    await client.end();
  }
  for (const client of acknowledging) {
    await client.roundTrip();
    const packets = client.takePublishes();
    assert.deepEqual(packets.map(({ payload, qos }) => [String(payload), qos]), [1, 2, 3].map((value) => [`{"value":${value}}`, 1])); // biome-ignore format: one line
    assert.equal(new Set(packets.map(({ messageId }) => messageId)).size, 3);
    await client.end();
  }
});

test('a client with several filters for a topic gets each message once, in the highest QoS', async () => {
  const id = await makeDevice();
  const client = await subscriber('owner', topicOf(id));
  await client.subscribe('devices/+/sensors/s/value', 1);
  await publish(id, 1);
  await client.roundTrip();
  assert.deepEqual(client.takePublishes().map(({ qos }) => qos), [1]); // biome-ignore format: one line
  await client.end();
});

test('large messages come whole to all, with any packet id', async () => {
  const id = await makeDevice();
  const topic = `devices/${id}/sensors/s/values`;
  const clients = await Promise.all([0, 1, 1].map((qos) => subscriber('owner', topic, qos as 0 | 1)));
  const payloads = [30_000, 9, 120].map((points) =>
    JSON.stringify(Array.from({ length: points }, (_, n) => ({ value: n }))),
  );
  for (const [n, payload] of payloads.entries()) owner.publish({ topic, payload, messageId: n + 1 });
  for (const _ of payloads) await owner.next('puback');
  for (const client of clients) {
    for (const payload of payloads) assert.equal(String((await client.next('publish')).payload), payload);
    await client.end();
  }
});

/** Who hears a device, and what takes the right away: afterwards nothing of it comes. */
const changes: readonly [
  what: string,
  as: As,
  visibility: 'public' | 'private',
  change: (id: string, client: RawClient) => Promise<unknown>,
][] = [
  ['a share that is revoked', 'stranger', 'private', (id) => put('owner', 'DELETE', `/devices/${id}/shares/stranger`)],
  ['a share that is narrowed', 'stranger', 'private', (id) => share(id, 'device:view')],
  ['a device that becomes private', 'guest', 'public', (id) => visible(id, 'private')],
  ['a device that is handed over', 'owner', 'private', (id) => handOver(id)],
  ['a filter that is given up', 'stranger', 'private', (id, client) => unsubscribe(client, topicOf(id))],
];

for (const [what, as, visibility, change] of changes) {
  test(`${what} ends delivery with its answer, although the permission was remembered`, async () => {
    const id = await makeDevice(visibility);
    if (as === 'stranger') await share(id, 'device-data:view');
    const admin = await subscriber('admin', topicOf(id));
    const client = await subscriber(as, topicOf(id));
    await publish(id, 1, 2);
    assert.deepEqual(await valuesOf(client), [1, 2]);
    const publisher = await RawClient.connect(server, 'admin', { clientId: 'goes-on' });
    // Some are on their way all the time.
    const batch = (from: number) => {
      for (let n = from; n < from + 100; n += 1)
        publisher.publish({ topic: topicOf(id), payload: `{"value":${n}}`, messageId: n });
    };
    batch(100);
    const changed = change(id, client);
    batch(200);
    await changed;
    batch(300);
    await client.roundTrip();
    const seen = client.takePublishes().length;
    for (let n = 0; n < 300; n += 1) await publisher.next('puback');
    await server.running.idle();
    assert.deepEqual(await valuesOf(client), [], `${seen} came before the answer`);
    assert.deepEqual(
      (await valuesOf(admin)).slice(2),
      Array.from({ length: 300 }, (_, n) => n + 100),
    );
    for (const each of [client, admin, publisher]) await each.end();
  });
}

test('a right that is given back counts at once', async () => {
  const id = await makeDevice();
  const client = await subscriber('stranger', topicOf(id));
  for (const round of [1, 2]) {
    await publish(id, 10 * round);
    await share(id, 'device-data:view');
    await publish(id, 10 * round + 1);
    await put('owner', 'DELETE', `/devices/${id}/shares/stranger`);
  }
  assert.deepEqual(await valuesOf(client), [11, 21]);
  await client.end();
});

test('a filter that is asked for again in another QoS counts for the next message', async () => {
  const id = await makeDevice();
  const client = await subscriber('owner', topicOf(id), 1);
  await publish(id, 1);
  await client.subscribe(topicOf(id), 0);
  await publish(id, 2);
  await client.roundTrip();
  assert.deepEqual(client.takePublishes().map(({ qos }) => qos), [1, 0]); // biome-ignore format: one line
  await client.end();
});

for (const [what, reads] of [
  ['read', true],
  ['never read', false],
] as const) {
  test(`who publishes to a hundred subscribers that ${what} is acknowledged before the messages go out`, async () => {
    const id = await makeDevice();
    const crowd = await Promise.all(Array.from({ length: 100 }, () => subscriber('owner', topicOf(id))));
    const [witness, ...others] = crowd as [RawClient, ...RawClient[]];
    if (!reads) for (const { socket } of others) socket.pause();
    const publishes = 400;
    // So few bytes that the service takes all of them in one read.
    for (let n = 1; n <= publishes; n += 1)
      owner.publish({ topic: topicOf(id), payload: `{"value":${n}}`, messageId: n });
    for (let n = 1; n <= publishes; n += 1) assert.equal((await owner.next('puback')).messageId, n);
    // Each turn of the event loop hands out a bounded number, each message counted for each of its subscribers.
    const turns = (witness.packets.length * crowd.length) / limits.deliveryTurnMax;
    assert.ok(turns < 10, `${turns} turns went by before the last PUBACK`);
    await server.running.idle();
    assert.deepEqual(
      await valuesOf(witness),
      Array.from({ length: publishes }, (_, n) => n + 1),
    );
    for (const { socket } of crowd) socket.destroy();
    await server.running.idle();
  });
}

async function put(as: As, method: string, path: string, body: object = {}): Promise<void> {
  const { status } = await server.call(as, method, path, body);
  assert.equal(status, 204);
}

function share(id: string, scope: string): Promise<void> {
  return put('owner', 'PUT', `/devices/${id}/shares/stranger`, { json: { scopes: [scope] } });
}

function visible(id: string, visibility: string): Promise<void> {
  return put('owner', 'PUT', `/devices/${id}/visibility`, { text: visibility });
}

function handOver(id: string): Promise<void> {
  return put('owner', 'PUT', `/devices/${id}/owner`, { text: 'stranger' });
}

async function unsubscribe(client: RawClient, topic: string): Promise<void> {
  client.send({ cmd: 'unsubscribe', messageId: 9, unsubscriptions: [topic] });
  await client.next('unsuback');
}
