// Persistent sessions: what is queued while a client is away, in which order it is delivered, what ends a session, and
// that sessions survive a restart (contract 8; I3, I4).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { IPublishPacket } from 'mqtt-packet';
import { limits } from '../../../src/config/limits.ts';
import { Client, takeAll } from '../../support/mqtt/mqtt-client.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let number = 0;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

suite('while away', () => {
  for (const restart of [false, true]) {
    test(`messages of QoS 1 and 2 are kept, in order${restart ? ', over a restart' : ''}`, async () => {
      const id = await makeDevice();
      const topic = `devices/${id}/sensors/s1/value`;
      const rows = [0, 1, 2] as const;
      const names = rows.map((qos) => `kept-${restart}-${qos}`);
      for (const qos of rows) await subscribeAndLeave({ clientId: names[qos] ?? '', filter: topic, qos });
      const publisher = await Client.connect(server, 'owner');
      for (let value = 0; value < 30; value++) {
        await publisher.publish(value % 2 === 0 ? topic : `/${topic}`, ` {"value":${value}}`, {
          qos: (value % 3) as 0 | 1 | 2,
        });
        await server.call('owner', 'POST', `/devices/${id}/sensors/s1/value`, { json: { value: -value } });
      }
      await publisher.end();
      if (restart) await server.restart();
      for (const granted of rows) {
        const { client, sessionPresent } = await comeBack(names[granted] ?? '');
        assert.equal(sessionPresent, true);
        const kept = Array.from({ length: 30 }, (_, value) => value).filter((value) => granted > 0 && value % 3 > 0);
        const expected = kept.map((value) => ({
          topic,
          payload: ` {"value":${value}}`,
          qos: Math.min(value % 3, granted),
        }));
        assert.deepEqual((await takeRaw(client)).map(shown), expected);
        // What follows comes after what was kept.
        await server.call('owner', 'POST', `/devices/${id}/sensors/s1/value`, { json: { value: 'now' } });
        assert.deepEqual((await takeRaw(client)).map(shown), [{ topic, payload: '{"value":"now"}', qos: 0 }]);
        await client.end();
        const again = await comeBack(names[granted] ?? '');
        assert.deepEqual(await takeRaw(again.client), []);
        await again.client.end();
      }
    });
  }

  test('several filters, forms and sensors: each message once for each form', async () => {
    const id = await makeDevice();
    const clientId = 'overlapping';
    await subscribeAndLeave({ clientId, filter: [`devices/${id}/#`, `devices/${id}/sensors/s1/value`, '#'], qos: 1 });
    await subscribeAndLeave({ clientId, filter: `/devices/${id}/#`, qos: 2 });
    const publisher = await Client.connect(server, 'owner');
    await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 1 }, { qos: 2 });
    await publisher.publish(`devices/${id}/actuators/a1/value`, '2', { qos: 1 });
    const { client } = await comeBack(clientId);
    const seen = (await takeRaw(client)).map(({ topic, qos }) => `${topic} ${qos}`);
    const [sensor, actuator] = [`devices/${id}/sensors/s1/value`, `devices/${id}/actuators/a1/value`];
    assert.deepEqual(seen, [`${sensor} 1`, `/${sensor} 2`, `${actuator} 1`, `/${actuator} 1`]);
    await client.end();
  });

  test('what is kept is judged when it is delivered', async () => {
    const id = await makeDevice('public');
    const filter = `devices/${id}/#`;
    await subscribeAndLeave({ as: 'stranger', clientId: 'judged', filter, qos: 1 });
    const publisher = await Client.connect(server, 'owner');
    const topic = `devices/${id}/sensors/s1/value`;
    await publisher.publish(topic, { value: 'while public' }, { qos: 1 });
    await server.call('owner', 'PUT', `/devices/${id}/visibility`, { text: 'private' });
    await publisher.publish(topic, { value: 'while private' }, { qos: 1 });
    const first = await comeBack('judged', 'stranger');
    assert.deepEqual(await takeRaw(first.client, 'stranger'), []);
    await first.client.end();
    // Neither comes later, when it would be allowed: the one was refused, the other never kept.
    await server.call('owner', 'PUT', `/devices/${id}/visibility`, { text: 'public' });
    await publisher.publish(topic, { value: 'public again' }, { qos: 1 });
    const second = await comeBack('judged', 'stranger');
    assert.deepEqual(
      (await takeRaw(second.client, 'stranger')).map((message) => shown(message).payload),
      ['{"value":"public again"}'],
    );
    await second.client.end();
  });

  test('nothing is kept that its user may not have, so that what he may have finds room', async () => {
    const id = await makeDevice('private');
    await subscribeAndLeave({ as: 'stranger', clientId: 'crowded', filter: ['#', '/#', '+/#', 'users/#'], qos: 2 });
    // His record is in nobody's memory any more.
    server.clock.advance(3_600_000);
    const publisher = await Client.connect(server, 'owner');
    for (let n = 0; n < 5; n++) {
      await publisher.publish(`devices/${id}/sensors/s1/value`, { value: n }, { qos: 1 });
      await publisher.publish('users/owner/word', 'word', { qos: 1 });
      await publisher.publish(`devices/${id}/actuators/a1/value`, `${n}`, { qos: 2 });
      server.clock.advance(limits.userFreshMs);
    }
    assert.equal(await countQueued('crowded'), 0);
    await server.call('owner', 'PUT', `/devices/${id}/shares/stranger`, { json: { scopes: ['device-data:view'] } });
    await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 'shared' }, { qos: 1 });
    const { client } = await comeBack('crowded', 'stranger');
    assert.deepEqual(
      (await takeRaw(client, 'stranger')).map(shown).map(({ payload }) => payload),
      Array(2).fill('{"value":"shared"}'),
    );
    await client.end();
  });

  test('a device that was removed meanwhile takes along what is kept of it', async () => {
    const id = await makeDevice('public');
    await subscribeAndLeave({ as: 'stranger', clientId: 'removed', filter: `devices/${id}/#`, qos: 1 });
    const publisher = await Client.connect(server, 'owner');
    await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 'of the owner' }, { qos: 1 });
    await server.call('owner', 'DELETE', `/devices/${id}`);
    await server.call('stranger', 'POST', '/devices', { json: { id, visibility: 'public', sensors: [{ id: 's1' }] } });
    await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 'anew' }, { qos: 1 });
    const { client } = await comeBack('removed', 'stranger');
    assert.deepEqual(
      (await takeRaw(client, 'stranger')).map((message) => shown(message).payload),
      ['{"value":"anew"}'],
    );
    await client.end();
    assert.equal(await countQueued('removed'), 0);
  });

  test(`the first ${limits.sessionMessagesMax} messages are kept, and ingest goes on`, async () => {
    const id = await makeDevice('public');
    const topic = `devices/${id}/sensors/s1/value`;
    await subscribeAndLeave({ clientId: 'bounded', filter: topic, qos: 1 });
    const count = limits.sessionMessagesMax + 50;
    const sender = await RawClient.connect(server, 'owner', { clientId: 'floods' });
    sender.send(...Array.from({ length: count }, (_, value) => publishOf(topic, value)));
    for (let value = 0; value < count; value++) await sender.next('puback');
    await server.running.idle();
    assert.equal(await countQueued('bounded'), limits.sessionMessagesMax);
    assert.match(await lastKept(), /:9999\}$/);
    const { client } = await comeBack('bounded', 'owner', { acknowledges: false });
    assert.equal(shown(await client.next('publish')).payload, '{"value":0}');
    const { messageId = 0 } = await client.next('publish');
    client.send({ cmd: 'puback', messageId });
    await client.roundTrip();
    await client.cut();
    // There is room when the acknowledgement is stored.
    await server.running.idle();
    sender.publish(publishOf(topic, 'room again'));
    await sender.next('puback');
    await server.running.idle();
    assert.equal(await countQueued('bounded'), limits.sessionMessagesMax);
    assert.match(await lastKept(), /room again/);
    await (await RawClient.connect(server, 'owner', { clientId: 'bounded' })).end();
    await sender.end();
  });

  test('what is published while a session comes back follows what was kept for it', async () => {
    const id = await makeDevice('public');
    const topic = `devices/${id}/sensors/s1/value`;
    for (const qos of [1, 2] as const) {
      const clientId = `comes-back-${qos}`;
      await subscribeAndLeave({ clientId, filter: topic, qos });
      const publisher = await RawClient.connect(server, 'owner', { clientId: 'goes-on' });
      publisher.acknowledges = true;
      const send = (from: number, to: number) => {
        for (let value = from; value < to; value++) publisher.publish({ ...publishOf(topic, value), qos });
      };
      send(0, 300);
      while (publisher.packets.length < 300) await publisher.roundTrip();
      await server.running.idle();
      const client = await RawClient.open(server);
      client.acknowledges = true;
      const signedIn = client.signIn('owner', { clientId, clean: false });
      for (let value = 300; value < 400; value += 10) {
        send(value, value + 10);
        await publisher.roundTrip();
      }
      await signedIn;
      const seen: number[] = [];
      while (seen.length < 400) seen.push(JSON.parse((await client.next('publish')).payload.toString()).value);
      assert.deepEqual(
        seen,
        Array.from({ length: 400 }, (_, value) => value),
      );
      assert.deepEqual(await takeRaw(client), []);
      await client.end();
      await publisher.end();
    }
  });
});

suite('a session', () => {
  test('is told of in CONNACK, whatever it holds, and ends with a clean one', async () => {
    const steps: [as: string, clean: boolean, present: boolean][] = [
      ['owner', false, false],
      ['owner', false, true],
      ['owner', true, false],
      ['owner', false, false],
      ['owner', true, false],
      ['stranger', false, false],
      ['stranger', false, true],
    ];
    for (const [as, clean, present] of steps) {
      const client = await RawClient.open(server);
      const connack = await client.signIn(as, { clientId: 'told', clean });
      assert.deepEqual([connack.returnCode, connack.sessionPresent], [0, present]);
      await client.end();
    }
  });

  test('that ends takes its subscriptions and messages along', async () => {
    const id = await makeDevice();
    await subscribeAndLeave({ clientId: 'ending', filter: '#', qos: 1 });
    const publisher = await Client.connect(server, 'owner');
    await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 1 }, { qos: 1 });
    const clean = await RawClient.connect(server, 'owner', { clientId: 'ending', clean: true });
    assert.deepEqual(await takeRaw(clean), []);
    await publisher.publish(`devices/${id}/sensors/s1/value`, { value: 2 }, { qos: 1 });
    assert.deepEqual(await takeRaw(clean), []);
    await clean.end();
    const { client, sessionPresent } = await comeBack('ending');
    assert.equal(sessionPresent, false);
    assert.deepEqual(await takeRaw(client), []);
    await client.end();
    assert.equal(await countQueued('ending'), 0);
  });

  test('keeps what was subscribed and unsubscribed over a restart', async () => {
    const id = await makeDevice('public');
    const topic = `devices/${id}/sensors/s1/value`;
    const first = await Client.connect(server, 'guest', { clientId: 'remembers', clean: false });
    await first.subscribe([topic, `/${topic}`, '#'], 1);
    await first.unsubscribe([topic, '#']);
    await first.end();
    await server.restart();
    const second = await Client.connect(server, 'guest', { clientId: 'remembers', clean: false });
    assert.equal(second.sessionPresent, true);
    await second.publish(topic, { value: 1 }, { qos: 1 });
    const [seen = []] = await takeAll(server, second);
    assert.deepEqual(
      seen.map((message) => message.topic),
      [`/${topic}`],
    );
    await second.end();
  });
});

suite('a delivery that was not acknowledged', () => {
  for (const restart of [false, true]) {
    const over = restart ? ' and a restart' : '';
    test(`comes again with DUP after a reconnect${over}, of QoS 1 and 2, and nothing else does`, async () => {
      const id = await makeDevice();
      const topic = `devices/${id}/sensors/s1/value`;
      const clientId = `unacknowledged-${restart}`;
      const first = await RawClient.connect(server, 'owner', { clientId, clean: false });
      await first.subscribe(topic, 2);
      const publisher = await Client.connect(server, 'owner');
      for (const qos of [1, 1, 2, 2, 2] as const) await publisher.publish(topic, { value: ++number }, { qos });
      await publisher.end();
      await server.running.idle();
      await first.roundTrip();
      const [one, two, three, four, five] = first.takePublishes();
      assert.deepEqual(
        [one, two, three, four, five].map((message) => message?.dup),
        Array(5).fill(false),
      );
      first.send({ cmd: 'puback', messageId: one?.messageId ?? 0 });
      first.send({ cmd: 'pubrec', messageId: three?.messageId ?? 0 });
      assert.equal((await first.next('pubrel')).messageId, three?.messageId);
      first.send({ cmd: 'pubrec', messageId: five?.messageId ?? 0 });
      assert.equal((await first.next('pubrel')).messageId, five?.messageId);
      first.send({ cmd: 'pubcomp', messageId: five?.messageId ?? 0 });
      await first.roundTrip();
      await first.cut();
      if (restart) await server.restart();
      const { client } = await comeBack(clientId, 'owner', { acknowledges: false });
      const again = [await client.next('publish'), await client.next('publish')].map(
        ({ messageId, payload, qos, dup }) => ({ messageId, payload, qos, dup }),
      );
      const expected = [two, four].map((message) => ({
        ...{ messageId: message?.messageId, payload: message?.payload, qos: message?.qos, dup: true },
      }));
      assert.deepEqual(again, expected);
      assert.equal((await client.next('pubrel')).messageId, three?.messageId);
      client.send({ cmd: 'pubcomp', messageId: three?.messageId ?? 0 });
      client.send({ cmd: 'puback', messageId: two?.messageId ?? 0 });
      client.send({ cmd: 'pubrec', messageId: four?.messageId ?? 0 });
      await client.next('pubrel');
      client.send({ cmd: 'pubcomp', messageId: four?.messageId ?? 0 });
      await client.roundTrip();
      await client.end();
      const last = await comeBack(clientId);
      assert.deepEqual(await takeRaw(last.client), []);
      assert.deepEqual(last.client.packets, []);
      await last.client.end();
    });
  }
});

async function makeDevice(visibility = 'private'): Promise<string> {
  const id = `sessions-${++number}`;
  const device = { id, visibility, sensors: [{ id: 's1' }], actuators: [{ id: 'a1' }] };
  await server.call('owner', 'POST', '/devices', { json: device });
  return id;
}

async function subscribeAndLeave(options: {
  readonly as?: string;
  readonly clientId: string;
  readonly filter: string | string[];
  readonly qos: 0 | 1 | 2;
}): Promise<void> {
  const { as = 'owner', clientId, filter, qos } = options;
  const client = await Client.connect(server, as, { clientId, clean: false });
  await client.subscribe(filter, qos);
  await client.end();
}

async function comeBack(clientId: string, as = 'owner', { acknowledges = true } = {}) {
  const client = await RawClient.open(server);
  client.acknowledges = acknowledges;
  const { returnCode, sessionPresent } = await client.signIn(as, { clientId, clean: false });
  assert.equal(returnCode, 0);
  return { client, sessionPresent };
}

/** What has been published to it; the last is a message to itself, before which everything else has come. */
async function takeRaw(client: RawClient, as = 'owner'): Promise<IPublishPacket[]> {
  await server.running.idle();
  const topic = `users/${as}/marker`;
  client.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 0 }] });
  await client.next('suback');
  client.publish({ topic, payload: '', qos: 0 });
  const seen: IPublishPacket[] = [];
  do seen.push(await client.next('publish'));
  while (seen.at(-1)?.topic !== topic);
  client.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: [topic] });
  await client.next('unsuback');
  return seen.slice(0, -1);
}

async function countQueued(clientId: string): Promise<number> {
  const { mqtt_session: sessions, mqtt_queue: queue } = (await server.rows()) as Record<
    string,
    { [name: string]: unknown }[]
  >;
  const key = sessions?.find((session) => session['client_id'] === clientId)?.['key'];
  assert.ok(key !== undefined);
  return queue?.filter((row) => row['session'] === key).length ?? 0;
}

/** The payload of the message that was kept last. */
async function lastKept(): Promise<string> {
  const messages = (await server.rows())['mqtt_message'] as { readonly payload: Uint8Array }[];
  return Buffer.from(messages.at(-1)?.payload ?? '').toString();
}

function shown({ topic, payload, qos }: IPublishPacket) {
  return { topic, payload: payload.toString(), qos };
}

function publishOf(topic: string, value: unknown): IPublishPacket {
  const messageId = typeof value === 'number' ? value + 1 : 65_535;
  return { cmd: 'publish', topic, payload: JSON.stringify({ value }), qos: 1, messageId, dup: false, retain: false };
}
