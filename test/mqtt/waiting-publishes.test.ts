// Publishes that come while the queue is full wait in their connections, in order, and each is decided as it is when its
// turn comes (I1, I3, I4).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { RawClient } from '../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../support/test-server.ts';

const publishes = 600;
const { queueDatapointsMax, queueDatapointsReserve } = limits;
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
