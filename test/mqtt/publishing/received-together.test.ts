// Usual readings with QoS 2, many in one write, are stored together and answered together; so are their PUBRELs. What a message
// of QoS 2 is promised holds all the same: once, in order, within the bound of what awaits PUBREL; of a session that is kept also
// behind its connection, and behind a restart.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Packet } from 'mqtt-packet';
import { limits } from '../../../src/config/limits.ts';
import { RawClient } from '../../support/mqtt/mqtt-raw.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

test('a hundred messages in one write are answered in order, and stored once though they come again', async () => {
  const client = await clientOf('hundred');
  const ids = Array.from({ length: 100 }, (_, n) => n + 1);
  client.send(...ids.map((id) => reading('hundred', id)));
  assert.deepEqual(await idsOf(client, 'pubrec', 100), ids);
  client.send(...ids.map((id) => reading('hundred', id, { dup: true })));
  assert.deepEqual(await idsOf(client, 'pubrec', 100), ids);
  client.send(...ids.map((messageId) => ({ cmd: 'pubrel', messageId }) as const));
  assert.deepEqual(await idsOf(client, 'pubcomp', 100), ids);
  assert.deepEqual(await readValues('hundred'), ids);
  await client.end();
});

test('a repeat in the same write is answered behind the first, and is not stored again', async () => {
  const client = await clientOf('twice');
  const packets = [1, 2, 1, 3, 2].map((id, n) => reading('twice', id, { dup: n === 2 || n === 4 }));
  client.send(...packets);
  assert.deepEqual(await idsOf(client, 'pubrec', 5), [1, 2, 1, 3, 2]);
  assert.deepEqual(await readValues('twice'), [1, 2, 3]);
  await client.end();
});

test('readings of all QoS in one write are stored in their order, PUBACKs and PUBRECs each in theirs', async () => {
  const client = await clientOf('mixed');
  client.send(...[1, 2, 3, 4, 5, 6].map((id) => reading('mixed', id, { qos: (id % 3) as 0 | 1 | 2 })));
  assert.deepEqual(await idsOf(client, 'puback', 2), [1, 4]);
  assert.deepEqual(await idsOf(client, 'pubrec', 2), [2, 5]);
  assert.deepEqual(await readValues('mixed'), [1, 2, 3, 4, 5, 6]);
  await client.end();
});

test('once it is released a packet id is free for the next reading, in the same write', async () => {
  const client = await clientOf('free');
  client.send(reading('free', 7));
  await client.next('pubrec');
  client.send({ cmd: 'pubrel', messageId: 7 }, { ...reading('free', 7), payload: '{"value":8}' });
  assert.equal((await client.next('pubcomp')).messageId, 7);
  assert.equal((await client.next('pubrec')).messageId, 7);
  client.send({ cmd: 'pubrel', messageId: 7 }, { cmd: 'pubrel', messageId: 7 }, { cmd: 'pubrel', messageId: 9 });
  // What is not known is answered as well [MQTT-4.3.3-2].
  assert.deepEqual(await idsOf(client, 'pubcomp', 3), [7, 7, 9]);
  assert.deepEqual(await readValues('free'), [7, 8]);
  await client.end();
});

test('a client is cut that has more messages await PUBREL than may', async () => {
  const client = await clientOf('many');
  const ids = Array.from({ length: limits.inflightMax }, (_, n) => n + 1);
  client.send(...ids.map((id) => reading('many', id)));
  assert.deepEqual(await idsOf(client, 'pubrec', ids.length), ids);
  client.send({ cmd: 'pubrel', messageId: 1 });
  await client.next('pubcomp');
  client.send(reading('many', 1, { value: 2_001 }), reading('many', limits.inflightMax + 1));
  assert.equal((await client.next('pubrec')).messageId, 1);
  await client.closed;
});

test('of a kept session, what was not released is known when its client comes back, though that was away for two hours', async () => {
  const client = await clientOf('kept', { clean: false });
  const ids = Array.from({ length: 100 }, (_, n) => n + 1);
  client.send(...ids.map((id) => reading('kept', id)));
  assert.deepEqual(await idsOf(client, 'pubrec', 100), ids);
  client.send(...ids.slice(0, 50).map((messageId) => ({ cmd: 'pubrel', messageId }) as const));
  assert.deepEqual(await idsOf(client, 'pubcomp', 50), ids.slice(0, 50));
  await client.cut();
  server.clock.advance(7_200_000);
  const back = await RawClient.connect(server, 'owner', { clientId: 'kept', clean: false });
  const open = ids.slice(50);
  back.send(...open.map((id) => reading('kept', id, { dup: true })));
  assert.deepEqual(await idsOf(back, 'pubrec', 50), open);
  back.send(...open.map((messageId) => ({ cmd: 'pubrel', messageId }) as const));
  assert.deepEqual(await idsOf(back, 'pubcomp', 50), open);
  assert.deepEqual(await readValues('kept'), ids);
  await back.end();
});

test('of a kept session, what was not released is not stored again behind a restart', async () => {
  const client = await clientOf('restarted', { clean: false });
  const ids = Array.from({ length: 100 }, (_, n) => n + 1);
  client.send(...ids.map((id) => reading('restarted', id)));
  assert.deepEqual(await idsOf(client, 'pubrec', 100), ids);
  await client.cut();
  await server.restart();
  const back = await RawClient.connect(server, 'owner', { clientId: 'restarted', clean: false });
  back.send(...ids.map((id) => reading('restarted', id, { dup: true })));
  assert.deepEqual(await idsOf(back, 'pubrec', 100), ids);
  back.send(...ids.map((messageId) => ({ cmd: 'pubrel', messageId }) as const));
  // MQTT has no order of PUBCOMPs, and each is written down before it is sent.
  assert.deepEqual(
    (await idsOf(back, 'pubcomp', 100)).toSorted((one, other) => one - other),
    ids,
  );
  back.send(reading('restarted', 1, { value: 101 }));
  await back.next('pubrec');
  assert.deepEqual(await readValues('restarted'), [...ids, 101]);
  await back.end();
});

test('of a kept session, readings and words of QoS 2 to others are answered in their order', async () => {
  const client = await clientOf('both', { clean: false });
  const word = (messageId: number) =>
    ({
      cmd: 'publish',
      topic: 'users/owner/word',
      payload: 'w',
      qos: 2,
      dup: false,
      retain: false,
      messageId,
    }) as const;
  client.send(reading('both', 1), word(2), reading('both', 3), word(4), reading('both', 5));
  assert.deepEqual(await idsOf(client, 'pubrec', 5), [1, 2, 3, 4, 5]);
  client.send(...[1, 2, 3, 4, 5].map((messageId) => ({ cmd: 'pubrel', messageId }) as const));
  assert.deepEqual((await idsOf(client, 'pubcomp', 5)).toSorted(), [1, 2, 3, 4, 5]);
  assert.deepEqual(await readValues('both'), [1, 3, 5]);
  await client.end();
});

async function clientOf(device: string, { clean = true } = {}): Promise<RawClient> {
  await server.call('owner', 'POST', '/devices', { json: { id: device, sensors: [{ id: 's' }] } });
  // In memory, as devices are that send.
  await server.call('owner', 'GET', `/devices/${device}/sensors/s`);
  return RawClient.connect(server, 'owner', { clientId: device, clean });
}

function reading(
  device: string,
  messageId: number,
  { qos = 2, dup = false, value = messageId }: { qos?: 0 | 1 | 2; dup?: boolean; value?: number } = {},
) {
  const topic = `devices/${device}/sensors/s/value`;
  const packet = { cmd: 'publish', topic, payload: `{"value":${value}}`, qos, dup, retain: false } as const;
  return (qos === 0 ? packet : { ...packet, messageId }) satisfies Packet;
}

async function idsOf(client: RawClient, cmd: 'puback' | 'pubrec' | 'pubcomp', count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < count; n++) ids.push((await client.next(cmd)).messageId ?? 0);
  return ids;
}

async function readValues(device: string): Promise<unknown[]> {
  await server.running.idle();
  const { text } = await server.call('owner', 'GET', `/devices/${device}/sensors/s/values?format=ndjson`);
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line).value);
}
