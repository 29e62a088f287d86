// However much clients send, few messages over MQTT wait for their commit as objects: the others are unread (I4). Nobody waits
// longer for it than their own messages take.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { holdWrites } from '../../support/data.ts';
import { setLimits } from '../../support/limits.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const publishes = 500;
/** Of one read from a socket, about: what was begun is taken to its end. */
const chunkMessages = 1_500;
const topic = 'devices/d/sensors/s/value';
let server: TestServer;

setLimits({ queueMessagesMax: 200, queueMessagesReserve: 100 });

before(async () => {
  server = await TestServer.start();
  const json = { id: 'd', visibility: 'public', sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json })).status, 204);
});
after(() => server.stop());

async function shout(as: string, clientId: string): Promise<RawClient> {
  const client = await RawClient.connect(server, as, { clientId });
  for (let n = 1; n <= publishes; n += 1) client.publish({ topic, payload: `{"value":${n}}`, messageId: n });
  return client;
}

async function waiting(): Promise<number> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  return Number(/^dundun_datapoints_waiting (\d+)$/m.exec(text)?.[1]);
}

test('while nothing is committed they wait unread, pushes over HTTP are taken all the same, and then each is stored once', async () => {
  const release = await holdWrites(server.folder);
  const clients = await Promise.all(Array.from({ length: 20 }, (_, n) => shout('owner', `c${n}`)));
  await until(async () => (await waiting()) > 0);
  const pushes = Array.from({ length: 30 }, (_, n) =>
    server.call('owner', 'POST', '/devices/d/sensors/s/values', { json: { value: 10_000 + n } }),
  );
  const { queueMessagesMax, queueMessagesReserve } = limits;
  let most = 0;
  for (let looks = 0; looks < 20; looks += 1) most = Math.max(most, await waiting());
  assert.ok(most <= queueMessagesMax + queueMessagesReserve + chunkMessages + pushes.length, `${most} waited`);
  await release();
  for (const { status } of await Promise.all(pushes)) assert.equal(status, 204);
  for (const client of clients) {
    for (let n = 1; n <= publishes; n += 1) assert.equal((await client.next('puback')).messageId, n);
    client.socket.destroy();
  }
  const { text } = await server.call('owner', 'GET', '/devices/d/sensors/s/values?format=ndjson');
  assert.equal(text.trim().split('\n').length, clients.length * publishes + pushes.length);
});

test('one message of another user is stored before all of them', async () => {
  // So that all of them wait when it comes.
  const release = await holdWrites(server.folder);
  const clients = await Promise.all(Array.from({ length: 20 }, (_, n) => shout('owner', `o${n}`)));
  await until(async () => (await waiting()) > 0);
  const other = await RawClient.connect(server, 'stranger', { clientId: 'little' });
  other.publish({ topic, payload: '{"value":-1}', messageId: 1 });
  await release();
  assert.equal((await other.next('puback')).messageId, 1);
  other.socket.destroy();
  const { text } = await server.call('owner', 'GET', '/devices/d/sensors/s/values?format=ndjson');
  assert.ok(text.trim().split('\n').length < 2 * clients.length * publishes);
  for (const client of clients) {
    for (let n = 1; n <= publishes; n += 1) assert.equal((await client.next('puback')).messageId, n);
    client.socket.destroy();
  }
});
