// Publishes that come while the queue is full wait in their connections, in order, and each is decided as it is when its
// turn comes (I1, I3, I4).
import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

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
  // So many that they are not all stored before the request is answered.
  const clients = await Promise.all(Array.from({ length: 20 }, (_, n) => shout('private', 'stranger', 1_000 * n)));
  assert.equal((await server.call('owner', 'PUT', '/devices/private/visibility', { json: 'private' })).status, 204);
  for (const client of clients) assert.deepEqual(new Set(await acknowledged(client)), new Set(inOrder));
  await server.running.idle();
  const { text } = await server.call('owner', 'GET', '/devices/private/sensors/s/values?format=ndjson');
  const stored = text.trim().split('\n').length;
  assert.ok(stored < clients.length * publishes, `${stored} were stored`);
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

test('however many connections of a user send more than the queue takes, none is cut and each message is stored once', async () => {
  await makeDevice('crowded');
  const firsts = Array.from({ length: 30 }, (_, n) => 1_000 * n);
  const clients = await Promise.all(firsts.map((first) => shout('crowded', 'owner', first)));
  for (const client of clients) assert.deepEqual(await acknowledged(client), inOrder);
  const answer = await server.call('owner', 'GET', '/devices/crowded/sensors/s/values?format=ndjson');
  assert.equal(answer.text.trim().split('\n').length, firsts.length * publishes);
});

test('a connection that has waited many times is as it was', async () => {
  await makeDevice('patient');
  const names = Array.from({ length: 12 }, (_, n) => `patient-${n}`);
  const clients = await Promise.all(names.map((clientId) => RawClient.connect(server, 'owner', { clientId })));
  const topic = 'devices/patient/sensors/s/value';
  const all = Array.from({ length: 60 }, (_, n) => n + 1);
  for (let round = 0; round < 40; round += 1) {
    for (const client of clients)
      for (const messageId of all) client.publish({ topic, payload: '{"value":1}', messageId });
    for (const client of clients) for (const _ of all) await client.next('puback');
  }
  // The server is in this process.
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): unknown[] };
  const ports = new Set(clients.map(({ socket }) => socket.localPort));
  const own = handles.call(process).filter((handle) => handle instanceof Socket && ports.has(handle.remotePort ?? 0));
  assert.equal(own.length, clients.length);
  for (const socket of own as Socket[])
    assert.ok(socket.listenerCount('close') < 10, `${socket.listenerCount('close')}`);
  for (const { socket } of clients) socket.destroy();
});

test('who goes while it waits holds up nobody behind it', async () => {
  await makeDevice('leaves');
  const clients = await Promise.all([0, 1_000, 2_000, 3_000, 4_000].map((first) => shout('leaves', 'owner', first)));
  for (const client of clients.splice(1, 3)) client.socket.destroy();
  for (const client of clients) assert.deepEqual(await acknowledged(client), inOrder);
});

test('another user whose connections send little is stored at once meanwhile', async () => {
  await makeDevice('flooded');
  const clients = await Promise.all([0, 1_000, 2_000, 3_000].map((first) => shout('flooded', 'owner', first)));
  const other = await RawClient.connect(server, 'stranger', { clientId: 'little' });
  other.publish({ topic: 'devices/flooded/sensors/s/value', payload: '{"value":-1}', messageId: 1 });
  assert.equal((await other.next('puback')).messageId, 1);
  const answer = await server.call('owner', 'GET', '/devices/flooded/sensors/s/values?limit=9000&sort=asc');
  const values: number[] = answer.body.map(({ value }: { value: number }) => value);
  assert.ok(values.includes(-1));
  assert.ok(values.length < 4 * publishes, `${values.length} were stored before it`);
  other.socket.destroy();
  for (const client of clients) assert.deepEqual(await acknowledged(client), inOrder);
});
