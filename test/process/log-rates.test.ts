// Whatever outsiders do over and over, the log has a few lines of each kind, and one that says how many there were besides.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { RawClient } from '../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

const kib = 1024;
Object.assign(limits, { subscriberBytesMax: 8 * kib });

const cutSlow = 'a subscriber that does not keep up was cut';
const cutStalled = 'a client that had begun a packet and sent no more of it was cut';
const subscribers = 60;

let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_LOG_LEVEL: 'info' });
  const json = { id: 'd', visibility: 'public', sensors: [{ id: 's' }] };
  assert.equal((await server.call('owner', 'POST', '/devices', { json })).status, 204);
});
beforeEach(() => {
  server.clock.advance(limits.logWindowMs);
});
after(() => server.stop());

/** Subscribers that read nothing of what is published until each of them is cut. */
async function stallSubscribers(count: number): Promise<void> {
  const before = await figure('dundun_mqtt_slow_subscribers_total');
  const stalled = await Promise.all(
    Array.from({ length: count }, (_, n) => RawClient.connect(server, 'owner', { clientId: `stalled-${n}` })),
  );
  for (const client of stalled) {
    await client.subscribe('devices/d/sensors/s/value');
    client.socket.pause();
  }
  const publisher = await RawClient.connect(server, 'owner', { clientId: 'publishes' });
  const payload = JSON.stringify({ value: 'x'.repeat(limits.valueBytesMax - 100) });
  // What the sockets of both ends hold is up to the system.
  while ((await figure('dundun_mqtt_slow_subscribers_total')) < before + count) {
    for (let messageId = 1; messageId <= 10; messageId += 1) {
      publisher.publish({ topic: 'devices/d/sensors/s/value', payload, messageId });
    }
    await publisher.roundTrip();
  }
  await server.running.idle();
  await publisher.end();
  // Counted once each, however many messages came for it while it was cut.
  assert.equal(await figure('dundun_mqtt_slow_subscribers_total'), before + count);
  for (const client of stalled) client.socket.destroy();
}

/** Clients that begin a packet and stay silent until each of them is cut. */
async function stallPackets(count: number): Promise<void> {
  const clients = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      RawClient.connect(server, 'owner', { clientId: `begun-${n}`, keepalive: 0 }),
    ),
  );
  for (const client of clients) client.send(Buffer.from([0x30]));
  await until(() => {
    server.clock.advance(limits.packetStallMs / 10);
    return clients.every(({ socket }) => socket.closed);
  });
}

const linesOf = (msg: string) => server.logged.filter((line) => line.msg === msg);
const suppressedOf = (msg: string) => linesOf(msg).flatMap(({ suppressed }) => suppressed ?? []);

async function figure(name: string): Promise<number> {
  const { text } = await server.request('admin', 'GET', '/metrics');
  const line = text.split('\n').find((line) => line.startsWith(`${name} `));
  return Number(line?.slice(name.length));
}

test('stalled subscribers that are cut make a few lines, and another kind of line has a rate of its own', async () => {
  await stallSubscribers(subscribers);
  assert.equal(linesOf(cutSlow).length, limits.logLinesMax);
  assert.equal(
    await figure('dundun_log_lines_suppressed_total{level="warn"}'),
    subscribers - limits.logLinesMax,
    'what was not written is counted',
  );
  await stallPackets(3);
  assert.equal(linesOf(cutStalled).length, 3);
  assert.equal(await figure('dundun_log_lines_suppressed_total{level="info"}'), 0);
});

test('the rest is told in one line when the window has ended, without another line of that kind', async () => {
  const before = { lines: linesOf(cutSlow).length, counts: suppressedOf(cutSlow).length };
  await stallSubscribers(subscribers);
  server.clock.advance(limits.logWindowMs);
  await until(() => suppressedOf(cutSlow).length > before.counts);
  assert.deepEqual(suppressedOf(cutSlow).slice(before.counts), [subscribers - limits.logLinesMax]);
  assert.equal(linesOf(cutSlow).length - before.lines, limits.logLinesMax + 1);
  await stallSubscribers(1);
  assert.equal(linesOf(cutSlow).length - before.lines, limits.logLinesMax + 2, 'a new window has begun');
});

test('who chose guest access is logged each time', async () => {
  const times = limits.logLinesMax + 5;
  for (let n = 0; n < times; n += 1) {
    const json = { guest_access: n % 2 === 0 ? 'push' : 'full' };
    assert.equal((await server.call('admin', 'PUT', '/settings/guest-access', { json })).status, 204);
  }
  assert.equal(linesOf('audit: guest access was chosen').length, times);
});

test('what has not been told at a stop is told then', async () => {
  const before = suppressedOf(cutSlow).length;
  await stallSubscribers(limits.logLinesMax + 7);
  await server.restart();
  assert.deepEqual(suppressedOf(cutSlow).slice(before), [7]);
});
