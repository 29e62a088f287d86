// Publishes that come while the queue is full wait in their connections, in order, and each is decided as it is when its
// turn comes (I1, I3, I4).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { RawClient } from '../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../support/test-server.ts';

const publishes = 600;
const { queueDatapointsMax, queueDatapointsReserve, capacityWaiterBytesMax, capacityWaiterBytesReserve } = limits;
let server: TestServer;

before(async () => {
  // Far fewer than come in one read.
  Object.assign(limits, { queueDatapointsMax: 100, queueDatapointsReserve: 40 });
  server = await TestServer.start();
});
after(async () => {
  await server.stop();
  Object.assign(limits, { queueDatapointsMax, queueDatapointsReserve });
});

async function makeDevice(id: string): Promise<void> {
  const device = { id, visibility: 'public', sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json: device })).status, 204);
}

/** Publishes the values from `first` on, all at once. */
async function shout(device: string, as: string, first: number): Promise<RawClient> {
  const client = await RawClient.connect(server, as, { clientId: `${device}-${first}` });
  for (let n = 0; n < publishes; n += 1) {
    const topic = `devices/${device}/sensors/s/value`;
    client.publish({ topic, payload: `{"value":${first + n}}`, messageId: n + 1 });
  }
  return client;
}

async function acknowledged(client: RawClient, count = publishes): Promise<(number | undefined)[]> {
  const ids: (number | undefined)[] = [];
  while (ids.length < count) ids.push((await client.next('puback')).messageId);
  client.socket.destroy();
  return ids;
}

const inOrder = Array.from({ length: publishes }, (_, n) => n + 1);

test('each is stored once and acknowledged, and those of a connection keep their order', async () => {
  await makeDevice('busy');
  const clients = await Promise.all([0, 1_000, 2_000].map((first) => shout('busy', 'owner', first)));
  for (const client of clients) assert.deepEqual(await acknowledged(client), inOrder);
  const answer = await server.call('owner', 'GET', '/devices/busy/sensors/s/values?limit=2000&sort=asc');
  const values: number[] = answer.body.map(({ value }: { value: number }) => value);
  for (const first of [0, 1_000, 2_000]) {
    assert.deepEqual(
      values.filter((value) => value >= first && value < first + 1_000),
      inOrder.map((n) => first + n - 1),
    );
  }
});

test('nothing that comes behind them overtakes them, in one packet of bytes or in many', async () => {
  await makeDevice('ordered');
  const client = await RawClient.connect(server, 'owner', { clientId: 'ordered' });
  const busy = await shout('ordered', 'owner', 10_000);
  const topic = 'devices/ordered/sensors/s/value';
  const packets = Array.from({ length: publishes }, (_, n) => {
    const odd = n % 7 === 3 ? { retain: true } : {};
    const publish = { cmd: 'publish', topic, payload: `{"value":${n}}`, qos: 1, messageId: n + 1, dup: false, retain: false } as const; // biome-ignore format: one line
    return n % 50 === 0 ? [{ cmd: 'pingreq' } as const, publish] : [{ ...publish, ...odd }];
  });
  client.send(...packets.slice(0, 400).flat());
  for (const some of packets.slice(400)) {
    client.send(...some);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const ids = new Set(await acknowledged(client));
  assert.equal(ids.size, publishes);
  await acknowledged(busy);
  const answer = await server.call('owner', 'GET', '/devices/ordered/sensors/s/values?limit=2000&sort=asc');
  const values: number[] = answer.body.map(({ value }: { value: number }) => value);
  const own = values.filter((value) => value < 10_000);
  assert.deepEqual(
    own,
    own.toSorted((a, b) => a - b),
  );
  assert.equal(own.length, publishes);
});

test('what is not permitted any more when its turn comes is dropped, and noted for the owner', async () => {
  await makeDevice('private');
  const client = await shout('private', 'stranger', 0);
  assert.equal((await server.call('owner', 'PUT', '/devices/private/visibility', { json: 'private' })).status, 204);
  assert.deepEqual(new Set(await acknowledged(client)), new Set(inOrder));
  await server.running.idle();
  const stored = (await server.call('owner', 'GET', '/devices/private/sensors/s/values?limit=2000')).body.length;
  assert.ok(stored < publishes, `${stored} were stored`);
  assert.ok((await server.call('owner', 'GET', '/devices/private/drops')).body.length > 0);
});

test('where the device is removed meanwhile, all are acknowledged and the connection goes on', async () => {
  await makeDevice('leaving');
  await makeDevice('staying');
  const client = await shout('leaving', 'owner', 0);
  assert.equal((await server.call('owner', 'DELETE', '/devices/leaving')).status, 204);
  client.publish({ topic: 'devices/staying/sensors/s/value', payload: '{"value":7}', messageId: publishes + 1 });
  assert.equal(new Set(await acknowledged(client, publishes + 1)).size, publishes + 1);
  assert.equal((await server.call('owner', 'GET', '/devices/staying/sensors/s/values')).body.length, 1);
});

test('who is cut because too many wait can send them again, and all are stored once', async () => {
  await server.stop();
  Object.assign(limits, { capacityWaiterBytesMax: 3_000, capacityWaiterBytesReserve: 1_000 });
  server = await TestServer.start();
  Object.assign(limits, { capacityWaiterBytesMax, capacityWaiterBytesReserve });
  await makeDevice('cut');
  // The queue takes what one of them sends, and the other is to wait.
  const both = await Promise.all([shout('cut', 'owner', 0), shout('cut', 'owner', 1_000)]);
  const closed = both.map((client, n) => new Promise<number>((resolve) => client.socket.once('close', () => resolve(n)))); // biome-ignore format: one line
  const first = (await Promise.race(closed)) * 1_000;
  for (const { socket } of both) socket.destroy();
  await server.running.idle();
  const again = await RawClient.connect(server, 'owner', { clientId: `cut-${first}` });
  const topic = 'devices/cut/sensors/s/value';
  for (let n = 0; n < publishes; n += 1) {
    again.publish({ topic, payload: `{"value":${first + n}}`, messageId: n + 1, dup: true });
    assert.equal((await again.next('puback')).messageId, n + 1);
  }
  again.socket.destroy();
  const answer = await server.call('owner', 'GET', '/devices/cut/sensors/s/values?limit=2000&sort=asc');
  const values: number[] = answer.body.map(({ value }: { value: number }) => value);
  assert.equal(values.filter((value) => value >= first && value < first + 1_000).length, publishes);
});
