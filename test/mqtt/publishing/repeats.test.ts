// How long repeats are remembered: as long as their session is there and for an hour after, whatever others publish; over
// crashes and restarts; each user within a share that nobody else can use up (contract 8; I1, I4).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { IPublishPacket } from 'mqtt-packet';
import { limits } from '../../../src/config/limits.ts';
import { runSql } from '../../support/data.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import type { As } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const { duplicateMemoryMax } = limits;
const hourMs = limits.duplicateGoneMs;
/** More than are remembered in all. */
const others = isLong ? 280_000 : 8_000;
let server: TestServer;
let number = 0;

before(async () => {
  if (!isLong) Object.assign(limits, { duplicateMemoryMax: 2_048 });
  server = await TestServer.start();
  for (const [id, owner] of [['crowd', 'owner'], ['strange', 'stranger']] as const) await makeDevice(id, owner); // biome-ignore format: short
});
after(async () => {
  await server.stop();
  Object.assign(limits, { duplicateMemoryMax });
});

const between: Readonly<Record<string, () => Promise<void>>> = {
  'on the same server': async () => {},
  'after a restart': () => server.restart(),
  'after a crash': () => server.crash(),
  'after sealing and a crash': async () => {
    await server.running.engine.seal();
    await server.crash();
  },
};

suite(`a PUBLISH that is sent again with DUP after ${others} others is stored once`, () => {
  for (const [name, go] of Object.entries(between)) {
    for (const qos of [1, 2] as const) {
      test(`${name}, QoS ${qos}`, async () => {
        const first = await publishFirst({ qos });
        await first.client.cut();
        await publishOthers('owner', 'crowd');
        await go();
        const again = await RawClient.connect(server, 'owner', { clientId: first.clientId });
        await publish(again, { ...first.packet, dup: true });
        assert.deepEqual(await first.values(), [1]);
        await again.end();
      });
    }
  }
});

suite('what is remembered of a session', () => {
  test('is stored once, however often the same is published under the same packet ids', async () => {
    const { duplicateTrimmedAt, duplicateDiskBytesMin, duplicateRowBytes } = limits;
    Object.assign(limits, { duplicateTrimmedAt: 500, duplicateDiskBytesMin: 1_024, duplicateRowBytes: 1_024 });
    await makeDevice('same', 'owner');
    const client = await RawClient.connect(server, 'owner', { clientId: 'same' });
    const topic = 'devices/same/sensors/s/value';
    const sql = 'SELECT coalesce(sum(octet_length(records)), 0) AS bytes FROM mqtt_fingerprint';
    const bytes = async () => Number((await runSql(server.folder, sql))[0]?.['bytes']);
    // What others left is remembered.
    await server.running.engine.seal();
    const before = await bytes();
    for (let round = 0; round < 100; round += 1) {
      for (let messageId = 1; messageId <= 50; messageId += 1)
        client.publish({ topic, payload: '{"value":1}', messageId });
      for (let answers = 0; answers < 50; answers += 1) await client.next('puback');
      if (round % 10 === 9) await server.running.engine.seal();
    }
    // 5 000 publishes take 20 bytes each before they are trimmed.
    await until(async () => (await bytes()) < before + 60_000, { otherwise: async () => `${await bytes()} bytes` });
    await client.end();
    Object.assign(limits, { duplicateTrimmedAt, duplicateDiskBytesMin, duplicateRowBytes });
  });

  test('counts as long as its client is connected, and for an hour after', async () => {
    const first = await publishFirst();
    server.clock.advance(30 * hourMs);
    await publish(first.client, { ...first.packet, dup: true });
    await leave(first.client);
    server.clock.advance(hourMs - 1);
    const again = await RawClient.connect(server, 'owner', { clientId: first.clientId });
    await publish(again, { ...first.packet, dup: true });
    assert.deepEqual(await first.values(), [1]);
    // Its hour begins anew.
    await leave(again);
    server.clock.advance(hourMs - 1);
    const once = await RawClient.connect(server, 'owner', { clientId: first.clientId });
    await leave(once);
    server.clock.advance(hourMs);
    const late = await RawClient.connect(server, 'owner', { clientId: first.clientId });
    await publish(late, { ...first.packet, dup: true });
    assert.deepEqual(await first.values(), [1, 1]);
    await late.end();
  });

  test('is known for an hour by whatever the wall clock was set to meanwhile', async () => {
    const first = await publishFirst();
    await leave(first.client);
    server.jump(2 * hourMs);
    for (let look = 0; look < 2; look++) {
      await server.call('guest', 'GET', '/devices');
      await server.token('owner');
      server.clock.advance(hourMs / 6);
      await server.running.idle();
    }
    const again = await RawClient.connect(server, 'owner', { clientId: first.clientId });
    await publish(again, { ...first.packet, dup: true });
    assert.deepEqual(await first.values(), [1]);
    await leave(again);
    server.jump(-2 * hourMs);
  });

  test('is forgotten after an hour also where the service is started again meanwhile', async () => {
    for (const go of [() => server.restart(), () => server.crash()]) {
      const [gone, there] = [await publishFirst(), await publishFirst()];
      await leave(gone.client);
      server.clock.advance(hourMs / 2);
      // That it has gone is stored with the next publish of anybody.
      await publishOthers('owner', 'crowd', 3);
      await go();
      server.clock.advance(hourMs / 2);
      for (const [first, stored] of [
        [gone, [1, 1]],
        [there, [1]],
      ] as const) {
        // biome-ignore format: short
        const again = await RawClient.connect(server, 'owner', { clientId: first.clientId });
        await publish(again, { ...first.packet, dup: true });
        assert.deepEqual(await first.values(), stored);
        await again.end();
      }
    }
  });

  test('is not pushed out by a stranger with many packet ids, nor by one with many client ids', async () => {
    const first = await publishFirst();
    await publishOthers('stranger', 'strange');
    for (let n = 0; n < 300; n++) {
      const client = await RawClient.connect(server, 'stranger', { clientId: `many-${n}` });
      const topic = 'devices/strange/sensors/s/value';
      for (let messageId = 1; messageId <= 10; messageId++)
        client.publish({ topic, payload: '{"value":1}', messageId: n * 10 + messageId });
      for (let acknowledged = 0; acknowledged < 10; acknowledged++) await client.next('puback');
      await client.end();
    }
    for (const go of [async () => {}, () => server.crash()]) {
      await go();
      const again = await RawClient.connect(server, 'owner', { clientId: first.clientId });
      await publish(again, { ...first.packet, dup: true });
      assert.deepEqual(await first.values(), [1]);
      await again.end();
    }
  });

  test('takes no more than the quota of its user: the oldest is forgotten', async () => {
    const { body } = await server.call('owner', 'GET', '/users/me');
    const answer = await server.call('admin', 'PUT', `/users/${body.id}/quota`, {
      json: { mqtt_session_bytes: 1_000 },
    });
    assert.equal(answer.status, 204);
    const first = await publishFirst();
    for (let messageId = 100; messageId < 200; messageId++)
      await publish(first.client, { ...first.packet, messageId, payload: `{"value":${messageId}}` });
    const count = async () => (await first.values()).length;
    assert.equal(await count(), 101);
    await publish(first.client, { ...first.packet, messageId: 199, payload: '{"value":199}', dup: true });
    assert.equal(await count(), 101);
    await publish(first.client, { ...first.packet, dup: true });
    assert.equal(await count(), 102);
    await first.client.end();
  });
});

async function makeDevice(id: string, owner: As = 'owner'): Promise<void> {
  const device = { id, visibility: 'public', sensors: [{ id: 's' }] };
  assert.equal((await server.call(owner, 'POST', '/devices', { json: device })).status, 204);
}

async function publishFirst({ qos = 1 }: { readonly qos?: 1 | 2 } = {}) {
  number += 1;
  const device = `repeats-${number}`;
  await makeDevice(device);
  const clientId = `client-${number}`;
  const client = await RawClient.connect(server, 'owner', { clientId });
  const topic = `devices/${device}/sensors/s/value`;
  const packet: IPublishPacket = {
    ...{ cmd: 'publish', topic, payload: '{"value":1}', messageId: 7, qos, dup: false, retain: false },
  };
  await publish(client, packet);
  const values = async () => {
    const { body } = await server.call('owner', 'GET', `/devices/${device}/sensors/s/values?limit=1000&sort=asc`);
    return body.map(({ value }: { value: number }) => value);
  };
  return { clientId, client, packet, values };
}

/** Disconnects; resolves when the server knows. */
async function leave(client: RawClient): Promise<void> {
  await client.end();
  await server.running.idle();
}

/** Publishes with the whole handshake, unless the acknowledgement is lost. */
async function publish(client: RawClient, packet: IPublishPacket): Promise<void> {
  client.send(packet);
  if (packet.qos === 1) assert.equal((await client.next('puback')).messageId, packet.messageId);
  else assert.equal((await client.next('pubrec')).messageId, packet.messageId);
}

/** Publishes under as many packet ids, in three sessions, one after the other. */
async function publishOthers(as: As, device: string, count = others): Promise<void> {
  const topic = `devices/${device}/sensors/s/value`;
  const head = Buffer.from([0x32, topic.length + 2 + 2 + 11, 0, topic.length]);
  const each = Math.ceil(count / 3);
  for (let session = 0; session < 3; session++) {
    const client = await RawClient.connect(server, as, { clientId: `others-of-${as}-${session}` });
    let sent = 0;
    while (sent < each) {
      const pieces: Buffer[] = [];
      for (let n = 0; n < 2_000 && sent < each; n++, sent++) {
        const id = (sent % 65_535) + 1;
        pieces.push(head, Buffer.from(topic), Buffer.from([id >> 8, id & 0xff]), Buffer.from('{"value":1}'));
      }
      client.send(Buffer.concat(pieces));
      for (let n = 0; n < pieces.length / 4; n++) await client.next('puback');
    }
    await client.end();
  }
}
