// Repeats: a PUBLISH that is sent again with DUP is stored and delivered once, however much was sent in between; a new
// message that looks like a repeat is stored. In doubt a message is stored (contract 8; I1).
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { IPublishPacket } from 'mqtt-packet';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

type QoS = 1 | 2;

let server: TestServer;
let number = 0;
/** Sees what is delivered. */
let witness: RawClient;
/** What it has seen, by topic. */
let delivered: string[] = [];

before(async () => {
  server = await TestServer.start();
  await watch();
});
after(() => server.stop());

suite('a second PUBLISH', () => {
  const rows: Record<string, [second: Partial<IPublishPacket>, stored: number]> = {
    'with DUP and all else the same': [{ dup: true }, 1],
    'with DUP, the topic in the other form': [{ dup: true, topic: '/devices/ID/sensors/s1/value' }, 1],
    'the same without DUP': [{}, 2],
    'with DUP and another payload': [{ dup: true, payload: '{"value":2}' }, 2],
    'with DUP and a payload that means the same': [{ dup: true, payload: '{"value": 1}' }, 2],
    'with DUP and another packet id': [{ dup: true, messageId: 8 }, 2],
    'with DUP to another sensor': [{ dup: true, topic: 'devices/ID/sensors/s2/value' }, 2],
  };
  const lies = ['on the same connection', 'after a reconnect', 'after a restart'] as const;
  for (const [qos, clean] of [
    [1, true],
    [1, false],
    [2, true],
    [2, false],
  ] as const) {
    for (const between of lies) {
      test(`${between}, QoS ${qos}, clean ${clean}`, async () => {
        const runs = [];
        for (const row of Object.entries(rows)) runs.push({ row, ...(await publishFirst({ qos, clean })) });
        if (between !== 'on the same connection') for (const { client } of runs) await client.cut();
        if (between === 'after a restart') await restart();
        for (const { row, id, clientId, client: before } of runs) {
          const [name, [second, stored]] = row;
          const isThere = between === 'on the same connection';
          const client = isThere ? before : await RawClient.connect(server, 'owner', { clientId, clean });
          const topic = (second.topic ?? first(id).topic).replace('ID', id);
          await publish(client, { ...first(id), qos, ...second, topic });
          assert.equal(await countStored(id), stored, name);
          assert.equal(await countDelivered(id), between === 'after a restart' ? stored - 1 : stored, name);
          await client.cut();
        }
      });
    }
  }

  test('with DUP from another client, or another user, is new', async () => {
    for (const qos of [1, 2] as const) {
      const { id, client, clientId } = await publishFirst({ qos, clean: true });
      await publish(await RawClient.connect(server, 'owner', { clientId: `${clientId}x` }), {
        ...first(id),
        qos,
        dup: true,
      });
      assert.equal(await countStored(id), 2);
      await client.end();
      for (const as of ['admin', 'guest']) {
        const other = await RawClient.connect(server, as, { clientId });
        await publish(other, { ...first(id), qos, dup: true });
        await other.end();
      }
      assert.equal(await countStored(id), 4);
    }
  });

  test('with DUP is compared with the last under its packet id', async () => {
    const { id, client } = await publishFirst({ qos: 1, clean: true });
    const other = { ...first(id), payload: '{"value":2}' };
    const steps: [packet: IPublishPacket, stored: number][] = [
      [{ ...first(id), dup: true }, 1],
      [other, 2],
      [{ ...other, dup: true }, 2],
      [{ ...first(id), dup: true }, 3],
      [{ ...other, dup: true }, 4],
      // The packet id used for something that is not stored.
      [{ ...other, topic: 'users/owner/word' }, 4],
      [{ ...other, dup: true }, 5],
    ];
    for (const [packet, stored] of steps) {
      await publish(client, packet);
      assert.equal(await countStored(id), stored);
    }
    await client.end();
  });

  test('with DUP is the first where the first was never stored', async () => {
    const id = await makeDevice('private');
    for (const qos of [1, 2] as const) {
      const client = await RawClient.connect(server, 'stranger', { clientId: `refused-${qos}` });
      await publish(client, { ...first(id), qos, dup: true });
      assert.equal(await countStored(id), qos - 1);
      await server.call('owner', 'PUT', `/devices/${id}/shares/stranger`, { json: { scopes: ['device-data:create'] } });
      await publish(client, { ...first(id), qos, dup: true });
      assert.equal(await countStored(id), qos);
      await server.call('owner', 'DELETE', `/devices/${id}/shares/stranger`);
      await client.end();
    }
  });

  test('with DUP to a sensor that was made again is new', async () => {
    const { id, client } = await publishFirst({ qos: 1, clean: true });
    await server.call('owner', 'DELETE', `/devices/${id}/sensors/s1`);
    await server.call('owner', 'POST', `/devices/${id}/sensors`, { json: { id: 's1' } });
    await publish(client, { ...first(id), dup: true });
    assert.equal(await countStored(id), 1);
    await client.end();
  });
});

suite('in flight', () => {
  for (const qos of [1, 2] as const) {
    test(`a PUBLISH of QoS ${qos} and its repeats in one piece are stored once, and each is acknowledged`, async () => {
      const id = await makeDevice('public');
      const client = await RawClient.connect(server, 'owner', { clientId: `in-flight-${qos}`, clean: qos === 1 });
      const packet = { ...first(id), qos };
      client.send(packet, { ...packet, dup: true }, { ...packet, dup: true });
      const answers = qos === 1 ? 'puback' : 'pubrec';
      for (let n = 0; n < 3; n++) assert.equal((await client.next(answers)).messageId, 7);
      assert.equal(await countStored(id), 1);
      assert.equal(await countDelivered(id), 1);
      await client.cut();
    });

    test(`a PUBLISH of QoS ${qos} whose connection breaks before the answer is stored once`, async () => {
      const id = await makeDevice('public');
      for (let n = 0; n < 10; n++) {
        const clientId = `breaks-${qos}-${n}`;
        const client = await RawClient.connect(server, 'owner', { clientId, clean: false });
        const packet = { ...first(id), qos, payload: `{"value":${n}}` };
        client.send(packet);
        // Some are cut while the commit is under way, some before the packet is read, some after.
        for (let turns = n; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
        await client.cut();
        const again = await RawClient.connect(server, 'owner', { clientId, clean: false });
        await publish(again, { ...packet, dup: true });
        await again.end();
      }
      const values = (await readValues(id)).sort((a, b) => a - b);
      assert.deepEqual(
        values,
        Array.from({ length: 10 }, (_, n) => n),
      );
      assert.equal(await countDelivered(id), 10);
    });
  }
});

test('the handshake of QoS 2 bears a repeat at every step, over reconnects and a restart', async () => {
  const id = await makeDevice('public');
  const packet = { ...first(id), qos: 2 as const };
  const connect = () => RawClient.connect(server, 'owner', { clientId: 'handshake', clean: false });
  let client = await connect();
  const breaks = [
    async () => {},
    async () => {
      await client.cut();
      client = await connect();
    },
    async () => {
      await client.cut();
      await restart();
      client = await connect();
    },
  ];
  client.send(packet);
  assert.equal((await client.next('pubrec')).messageId, 7);
  assert.equal(await countDelivered(id), 1);
  for (const go of breaks) {
    await go();
    client.send({ ...packet, dup: true });
    assert.equal((await client.next('pubrec')).messageId, 7);
  }
  for (const go of breaks) {
    await go();
    client.send({ cmd: 'pubrel', messageId: 7 });
    assert.equal((await client.next('pubcomp')).messageId, 7);
  }
  client.send({ cmd: 'pubrel', messageId: 9 });
  assert.equal((await client.next('pubcomp')).messageId, 9);
  assert.equal(await countStored(id), 1);
  assert.equal(await countDelivered(id), 0);
  // The id is free: the same once more is new.
  await publish(client, packet);
  assert.equal(await countStored(id), 2);
  await client.end();
});

for (const qos of [1, 2] as const) {
  test(`an actuator is set once by a PUBLISH of QoS ${qos} and its repeats, and again by one without DUP`, async () => {
    const id = await makeDevice('public');
    const packet = { ...first(id), topic: `devices/${id}/actuators/a1/value`, payload: '"open"', qos };
    const connect = () => RawClient.connect(server, 'owner', { clientId: `sets-${qos}`, clean: false });
    let client = await connect();
    client.send(packet, { ...packet, dup: true });
    for (let n = 0; n < 2; n++) await client.next(qos === 1 ? 'puback' : 'pubrec');
    await client.cut();
    client = await connect();
    client.send({ ...packet, dup: true });
    await client.next(qos === 1 ? 'puback' : 'pubrec');
    assert.equal(await countDelivered(id), 1);
    if (qos === 2) {
      await client.cut();
      await restart();
      client = await connect();
      await publish(client, { ...packet, dup: true });
      assert.equal(await countDelivered(id), 0);
    }
    await publish(client, packet);
    assert.equal(await countDelivered(id), qos === 1 ? 2 : 1);
    await client.end();
  });

  test(`a word between one's own clients is relayed once by a PUBLISH of QoS ${qos} that is repeated in time`, async () => {
    const listener = await RawClient.connect(server, 'owner', { clientId: `listens-${qos}` });
    await listener.subscribe('users/owner/word');
    const packet = { ...first(''), topic: 'users/owner/word', payload: 'word', qos };
    const connect = () => RawClient.connect(server, 'owner', { clientId: `speaks-${qos}`, clean: false });
    let client = await connect();
    await publish(client, packet, { isReleased: false });
    await client.cut();
    client = await connect();
    await publish(client, { ...packet, dup: true });
    await publish(client, { ...packet, payload: 'end' });
    await server.running.idle();
    await listener.roundTrip();
    const words = listener.takePublishes().map(({ payload }) => payload.toString());
    // QoS 1 promises at least once.
    assert.deepEqual(words, qos === 1 ? ['word', 'word', 'end'] : ['word', 'end']);
    await client.end();
  });
}

async function makeDevice(visibility: string): Promise<string> {
  const id = `repeats-${++number}`;
  const device = { id, visibility, sensors: [{ id: 's1' }, { id: 's2' }], actuators: [{ id: 'a1' }] };
  await server.call('owner', 'POST', '/devices', { json: device });
  return id;
}

function first(id: string): IPublishPacket {
  const topic = `devices/${id}/sensors/s1/value`;
  return { cmd: 'publish', topic, payload: '{"value":1}', messageId: 7, qos: 1, dup: false, retain: false };
}

async function publishFirst({ qos, clean }: { readonly qos: QoS; readonly clean: boolean }) {
  const id = await makeDevice('public');
  const clientId = `client-of-${id}`;
  const client = await RawClient.connect(server, 'owner', { clientId, clean });
  await publish(client, { ...first(id), qos });
  return { id, clientId, client };
}

/** Publishes with the whole handshake. */
async function publish(client: RawClient, packet: IPublishPacket, { isReleased = true } = {}): Promise<void> {
  const { messageId = 0 } = packet;
  client.send(packet);
  if (packet.qos === 1) assert.equal((await client.next('puback')).messageId, messageId);
  if (packet.qos !== 2) return;
  assert.equal((await client.next('pubrec')).messageId, messageId);
  if (!isReleased) return;
  client.send({ cmd: 'pubrel', messageId });
  assert.equal((await client.next('pubcomp')).messageId, messageId);
}

async function readValues(id: string): Promise<number[]> {
  const values: number[] = [];
  for (const sensor of ['s1', 's2']) {
    const { status, body } = await server.call('owner', 'GET', `/devices/${id}/sensors/${sensor}/values?limit=100`);
    if (status === 200) values.push(...body.map((point: { value: number }) => point.value));
  }
  return values;
}

async function countStored(id: string): Promise<number> {
  return (await readValues(id)).length;
}

/** Messages about the device since the witness began. */
async function countDelivered(id: string): Promise<number> {
  await server.running.idle();
  await witness.roundTrip();
  delivered.push(...witness.takePublishes().map(({ topic }) => topic));
  return delivered.filter((topic) => topic.includes(`/${id}/`)).length;
}

async function watch(): Promise<void> {
  delivered = [];
  witness = await RawClient.connect(server, 'admin', { clientId: `witness-${++number}` });
  await witness.subscribe('#');
}

async function restart(): Promise<void> {
  await server.restart();
  await watch();
}
