// The bounds of MQTT (I4): a client that exceeds one loses its connection or has that request refused, and other
// clients are not affected. Also over WebSocket.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { generate, type Packet } from 'mqtt-packet';
import { limits } from '../../src/config/limits.ts';
import { Client } from '../support/mqtt/mqtt-client.ts';
import { connectBytes, RawClient } from '../support/mqtt/mqtt-raw.ts';
import { password } from '../support/people.ts';
import { TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

Object.assign(limits, { packetStallLookMs: 10 });

let server: TestServer;
/** Somebody who goes on as before, whatever others do. */
let other: Client;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }, { id: 'big' }] } });
  other = await Client.connect(server, 'owner');
  await other.subscribe('devices/d/#', 1);
});
after(async () => {
  await other.publish('devices/d/sensors/s/value', { value: 'still here' }, { qos: 1 });
  assert.equal((await other.take(1))[0]?.payload, '{"value":"still here"}');
  await other.end();
  await server.stop();
});

suite('is cut:', () => {
  test('a packet that announces more than a packet may have, before its bytes come', async () => {
    for (const client of [
      await RawClient.open(server),
      await RawClient.connect(server, 'owner', { clientId: 'huge' }),
    ]) {
      client.send(Buffer.from([0x30, ...lengthOf(limits.mqttPacketBytesMax + 1)]));
      await client.closed;
    }
  });

  test('a SUBSCRIBE or UNSUBSCRIBE that announces more than all filters of a session need', async () => {
    for (const header of [0x82, 0xa2]) {
      const client = await RawClient.connect(server, 'owner', { clientId: 'many-filters' });
      client.send(Buffer.from([header, ...lengthOf(limits.filtersPacketBytesMax + 1)]));
      await client.closed;
    }
  });

  test('what is not MQTT', async () => {
    for (const text of ['GET / HTTP/1.1\r\n\r\n', '\0\0\0\0\0\0', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03']) {
      const client = await RawClient.open(server);
      client.send(Buffer.from(text, 'latin1'));
      await client.closed;
      assert.deepEqual(client.packets, []);
    }
  });

  test('a client that sends more packets than may wait for its CONNACK', async () => {
    const client = await RawClient.open(server);
    const connect = connectBytes({ clientId: 'early', username: 'owner', password });
    const publish = {
      ...{ cmd: 'publish', qos: 1, dup: false, retain: false },
      ...reading('d', 's', 'early'),
    } as const;
    const early = Array.from({ length: limits.earlyPacketsMax + 1 }, (_, n) =>
      generate({ ...publish, messageId: n + 1 } as Packet),
    );
    client.send(connect, ...early);
    await client.closed;
    await server.running.idle();
    assert.deepEqual(await valuesOf('s'), []);
  });

  test('a client that leaves too many messages of QoS 2 without PUBREL', async () => {
    await server.call('owner', 'POST', '/devices', { json: { id: 'two', sensors: [{ id: 's' }] } });
    const client = await RawClient.connect(server, 'owner', { clientId: 'two', clean: true });
    for (let messageId = 1; messageId <= limits.inflightMax + 1; messageId++) {
      client.publish({ ...reading('two', 's', messageId), qos: 2, messageId });
    }
    await client.closed;
  });

  test('a client that begins a packet and sends no more of it, without a keep-alive too', async () => {
    const publish = generate({ ...{ cmd: 'publish', qos: 0, dup: false, retain: false }, ...reading('d', 's', 'cut') });
    const large = Buffer.concat([Buffer.from([0x30, ...lengthOf(60_000)]), Buffer.alloc(5_000)]);
    // In its header, in the fast path of usual messages, and gathered by the broker.
    const begun = [publish.subarray(0, 1), publish.subarray(0, 20), large];
    const stalled = await Promise.all(
      begun.map((_, n) => RawClient.connect(server, 'owner', { clientId: `begins-${n}`, keepalive: 0 })),
    );
    const idle = await RawClient.connect(server, 'owner', { clientId: 'idle', keepalive: 0 });
    for (const [n, client] of stalled.entries()) client.send(begun[n] as Buffer);
    // Looks begin when the bytes have come.
    await until(() => {
      server.clock.advance(limits.packetStallMs / 10);
      return stalled.every(({ socket }) => socket.closed);
    });
    await idle.roundTrip();
    await idle.end();
  });

  test('a subscriber that does not read, and nobody else', async () => {
    const slow = await RawClient.connect(server, 'owner', { clientId: 'slow' });
    await slow.subscribe('devices/d/sensors/big/value');
    slow.socket.pause();
    const before = await slowCut();
    const value = 'x'.repeat(limits.valueBytesMax - 100);
    let sent = 0;
    // What the sockets of both ends hold is up to the system.
    while ((await slowCut()) === before && sent < 1_000) {
      await other.publish('devices/d/sensors/big/value', { value }, { qos: 1 });
      sent += 1;
    }
    assert.equal(await slowCut(), before + 1, `${sent} messages`);
    assert.equal((await other.take(sent)).length, sent);
    slow.socket.resume();
    await slow.closed;
  });
});

test('a filter more than a session may have is refused, the others stay', async () => {
  const client = await RawClient.connect(server, 'owner', { clientId: 'filters' });
  const filters = Array.from({ length: limits.sessionFiltersMax + 1 }, (_, n) => ({
    topic: `a/${n}`,
    qos: 0 as const,
  }));
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions: filters });
  const { granted } = await client.next('suback');
  assert.deepEqual(granted, [...Array(limits.sessionFiltersMax).fill(0), 128]);
  // One that it has already is no further one.
  client.send({ cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 'a/0', qos: 1 }] });
  assert.deepEqual((await client.next('suback')).granted, [1]);
  await client.end();
});

test('over WebSocket one publishes and subscribes as over TCP', async () => {
  const browser = await Client.connect(server, 'owner', { over: 'ws' });
  await browser.subscribe(['devices/d/sensors/s/value', '/devices/d/sensors/+/value'], 1);
  other.received.length = 0;
  for (const qos of [0, 1, 2] as const) {
    await browser.publish('devices/d/sensors/s/value', { value: `ws ${qos}` }, { qos });
    const got = await browser.take(2);
    assert.deepEqual(got.map(({ topic }) => topic).sort(), ['/devices/d/sensors/s/value', 'devices/d/sensors/s/value']);
    assert.deepEqual(
      got.map(({ payload }) => JSON.parse(payload).value),
      [`ws ${qos}`, `ws ${qos}`],
    );
    assert.equal((await other.take(1))[0]?.payload, `{"value":"ws ${qos}"}`);
  }
  assert.deepEqual((await valuesOf('s')).slice(-3), ['ws 0', 'ws 1', 'ws 2']);
  await browser.end();
});

function reading(device: string, sensor: string, value: unknown): { readonly topic: string; readonly payload: string } {
  return { topic: `devices/${device}/sensors/${sensor}/value`, payload: JSON.stringify({ value }) };
}

/** Subscribers cut so far, as the metrics tell. */
async function slowCut(): Promise<number> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  return Number(/^dundun_mqtt_slow_subscribers_total (\d+)$/m.exec(text)?.[1]);
}

async function valuesOf(sensor: string): Promise<unknown[]> {
  const { body } = await server.call('owner', 'GET', `/devices/d/sensors/${sensor}/values?limit=1000`);
  return body.map(({ value }: { value: unknown }) => value);
}

/** A remaining length as MQTT writes it [MQTT-2.2.3]. */
function lengthOf(length: number): number[] {
  const bytes: number[] = [];
  for (let left = length; left > 0; left >>= 7) bytes.push((left & 0x7f) | (left >= 0x80 ? 0x80 : 0));
  return bytes;
}
