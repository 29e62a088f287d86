// Data that subscribers do not read is counted for their caller: a subscriber beyond the share of its caller is cut,
// and no datapoint is refused because of it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const mib = 1024 * 1024;
Object.assign(limits, { deliveryBytesMax: 16 * mib, unreadBytesMax: 24 * mib, unreadBytesReserve: 8 * mib });

const sensors = ['s0', 's1', 's2', 's3', 's4'] as const;
let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const json = { id: 'd', visibility: 'public', sensors: sensors.map((id) => ({ id })) };
  assert.equal((await server.call('guest', 'POST', '/devices', { json })).status, 204);
  const own = { id: 'own', sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json: own })).status, 204);
});
after(() => server.stop());

/** Somebody without an account who asks for what a sensor gets, and does not read it. */
async function subscribe(sensor: string): Promise<RawClient> {
  const client = await RawClient.connect(server, 'guest', { clientId: `reads-${sensor}` });
  await client.subscribe(`devices/d/sensors/${sensor}/values`);
  client.socket.pause();
  return client;
}

/** Far more than the sockets of both ends take in. */
const payload = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => ({ value: `${n} ${'x'.repeat(300)}` })));

test('subscribers that do not read are cut when their caller has its share waiting, and nobody is refused', async () => {
  const before = await slowCut();
  const slow = await Promise.all(sensors.map(subscribe));
  const publisher = await RawClient.connect(server, 'guest', { clientId: 'publishes' });
  const statuses: number[] = [];
  for (const [n, sensor] of sensors.entries()) {
    publisher.publish({ topic: `devices/d/sensors/${sensor}/values`, payload, messageId: n + 1 });
    assert.equal((await publisher.next('puback')).messageId, n + 1);
    const { status } = await server.call('owner', 'POST', '/devices/own/sensors/s/value', { json: { value: n } });
    statuses.push(status);
  }
  assert.deepEqual(statuses, [204, 204, 204, 204, 204]);
  await until(async () => (await slowCut()) - before === 2);
  // Who is still there gets all of it.
  const [first] = slow;
  first?.socket.resume();
  assert.equal((await first?.next('publish'))?.payload.length, Buffer.byteLength(payload));
  for (const client of [...slow, publisher]) client.socket.destroy();
  await server.running.idle();
});

test('what a subscriber has not read does not count for who published it, however much a subscriber counts', async () => {
  const { deliveryBytesEach } = limits;
  Object.assign(limits, { deliveryBytesEach: 12 * mib });
  const deaf = await RawClient.connect(server, 'guest', { clientId: 'deaf' });
  await deaf.subscribe('devices/d/sensors/s0/#');
  deaf.socket.pause();
  const publisher = await RawClient.connect(server, 'guest', { clientId: 'goes-on' });
  publisher.publish({ topic: 'devices/d/sensors/s0/values', payload, messageId: 1 });
  await publisher.next('puback');
  const statuses: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    const json = [{ value: n }, { value: n }];
    statuses.push((await server.call('guest', 'POST', '/devices/d/sensors/s0/values', { json })).status);
  }
  Object.assign(limits, { deliveryBytesEach });
  assert.deepEqual(statuses, [204, 204, 204]);
  for (const client of [deaf, publisher]) client.socket.destroy();
  await server.running.idle();
});

async function slowCut(): Promise<number> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  return Number(/^dundun_mqtt_slow_subscribers_total (\d+)$/m.exec(text)?.[1]);
}
