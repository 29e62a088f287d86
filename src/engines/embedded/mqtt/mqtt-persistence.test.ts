// Messages and wills across restarts, and the suite that aedes-persistence publishes for implementations of its
// interface. All on a real database.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { type TestContext, test } from 'node:test';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { StoredPacket } from '../../../domain/ports/mqtt-sessions.ts';
import { SqliteMqttPersistence } from './mqtt-persistence.ts';
import { client, Folder, isRefusal, makeFolder, message, other, payloads, read, rowsOf } from './mqtt-runs.suite.ts';

test('subscriptions survive a restart', async (t) => {
  const folder = await makeFolder(t);
  const { persistence } = await folder.start();
  const subscriptions = [
    { topic: 'a/+', qos: 1, rh: 0, rap: true, nl: false },
    { topic: 'b/#', qos: 2 },
    { topic: 'c', qos: 0 },
  ];
  await persistence.addSubscriptions(client, subscriptions);
  await persistence.addSubscriptions(other, [{ topic: 'b/x', qos: 1 }]);
  await persistence.addSubscriptions(other, [{ topic: 'd', qos: 1 }]);
  await persistence.removeSubscriptions(other, ['d']);

  const again = (await folder.start()).persistence;
  const restored = await again.subscriptionsByClient(client);
  assert.deepEqual(JSON.parse(JSON.stringify(restored)), subscriptions);
  const takers = (await again.subscriptionsByTopic('b/x')).map(({ clientId, qos }) => `${clientId} ${qos}`);
  assert.deepEqual(takers.sort(), ['c1 2', 'c2 1']);
  assert.deepEqual(await again.subscriptionsByTopic('d'), []);
  assert.deepEqual(await again.countOffline(), { subsCount: 3, clientsCount: 2 });
  assert.equal(again.storedFilters, 3);
});

test('queued messages survive a restart in order, byte by byte', async (t) => {
  const folder = await makeFolder(t);
  const { persistence } = await folder.start();
  const bytes = Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i));
  // A view into a larger buffer, as payloads from a socket are.
  const sent = [bytes, bytes.subarray(100, 110), Buffer.alloc(0), Buffer.from('ü')];
  await Promise.all(
    sent.map((payload, i) => persistence.outgoingEnqueue({ clientId: 'c1' }, message(i + 1, { payload }))),
  );
  await persistence.outgoingEnqueue({ clientId: 'c2' }, message(9));

  const again = (await folder.start()).persistence;
  assert.deepEqual(
    (await read(again.outgoingStream(client))).map(({ payload }) => payload),
    sent,
  );
  assert.deepEqual(await payloads(again.outgoingStream(other)), ['m9']);
  // Numbers continue after the stored ones, so that no message is taken for one of the earlier run.
  const next = message(1, { brokerId: 'run-2', brokerCounter: 0 });
  await again.outgoingEnqueue({ clientId: 'c2' }, next);
  assert.equal(next.brokerCounter, 10);
  assert.deepEqual(await payloads(again.outgoingStream(other)), ['m9', 'm1']);
});

test('a message for many sessions is stored once and goes with the last acknowledgement', async (t) => {
  const folder = await makeFolder(t);
  const run = await folder.start();
  const clients = Array.from({ length: 50 }, (_, i) => ({ id: `c${i}` }));
  const packet = message(1);
  await run.persistence.outgoingEnqueueCombi(
    clients.map(({ id }) => ({ clientId: id, qos: 1 })),
    packet,
  );
  assert.deepEqual([rowsOf(run, 'mqtt_message'), rowsOf(run, 'mqtt_queue')], [1, 50]);
  for (const [i, each] of clients.entries()) {
    assert.equal(rowsOf(run, 'mqtt_message'), 1);
    await run.persistence.outgoingUpdate(each, { ...packet, messageId: i + 1 });
    const cleared = await run.persistence.outgoingClearMessageId(each, { messageId: i + 1 });
    assert.equal(String(cleared?.payload), 'm1');
  }
  assert.deepEqual([rowsOf(run, 'mqtt_message'), rowsOf(run, 'mqtt_queue')], [0, 0]);
});

test('several filters of a client make one message, at the highest QoS of them', async (t) => {
  const { persistence } = await (await makeFolder(t)).start();
  const recipients = [1, 2, 1].map((qos) => ({ clientId: 'c1', qos }));
  await persistence.outgoingEnqueueCombi(recipients, message(1, { qos: 2 }));
  await persistence.outgoingEnqueueCombi([{ clientId: 'c1', qos: 1 }], message(2, { qos: 2 }));
  const queued = await read(persistence.outgoingStream(client));
  assert.deepEqual(
    queued.map(({ qos }) => qos),
    [2, 1],
  );
});

test('packet ids survive a restart, and a message that was sent before is sent with DUP', async (t) => {
  const folder = await makeFolder(t);
  const { persistence } = await folder.start();
  for (const number of [1, 2, 3]) {
    await persistence.outgoingEnqueue({ clientId: 'c1' }, message(number, { qos: 2 }));
    if (number < 3) await persistence.outgoingUpdate(client, message(number, { qos: 2, messageId: 70 + number }));
  }
  await persistence.outgoingUpdate(client, { cmd: 'pubrel', messageId: 71 });

  const again = (await folder.start()).persistence;
  const [released, sent, unsent] = await read(again.outgoingStream(client));
  assert.deepEqual(released, { cmd: 'pubrel', messageId: 71 });
  assert.equal(sent?.messageId, 72);
  assert.equal(unsent?.messageId, undefined);
  const connection = { id: 'c1', clean: false };
  await again.outgoingUpdate(connection, sent as StoredPacket);
  assert.equal(sent?.dup, true);
  // Packet id 72 is in use, so this message gets the next one.
  const packet = { ...unsent, messageId: 72 };
  await again.outgoingUpdate(connection, packet);
  assert.deepEqual([packet.messageId, packet.dup], [73, false]);
  for (const messageId of [71, 72, 73]) await again.outgoingClearMessageId(connection, { messageId });
  assert.deepEqual(await read(again.outgoingStream(client)), []);
});

test('a session holds a bounded number of messages; beyond, the newest is dropped and counted', async (t) => {
  const folder = await makeFolder(t);
  const { persistence } = await folder.start();
  const last = limits.sessionMessagesMax;
  const numbers = Array.from({ length: last + 5 }, (_, i) => i + 1);
  await Promise.all(numbers.map((number) => persistence.outgoingEnqueue({ clientId: 'c1' }, message(number))));
  assert.equal(persistence.dropped, 5);
  await persistence.outgoingEnqueueCombi([{ clientId: 'c1' }, { clientId: 'c2' }], message(last + 6));
  assert.equal(persistence.dropped, 6);
  assert.deepEqual(await payloads(persistence.outgoingStream(other)), [`m${last + 6}`]);

  const again = (await folder.start()).persistence;
  const kept = await payloads(again.outgoingStream(client));
  assert.deepEqual([kept.length, kept.at(0), kept.at(-1)], [last, 'm1', `m${last}`]);
  await again.outgoingEnqueue({ clientId: 'c1' }, message(last + 7));
  assert.equal(again.dropped, 1);
  await again.outgoingUpdate(client, message(1, { messageId: 1 }));
  await again.outgoingClearMessageId(client, { messageId: 1 });
  await again.outgoingEnqueue({ clientId: 'c1' }, message(last + 8));
  assert.deepEqual([again.dropped, (await payloads(again.outgoingStream(client))).at(-1)], [1, `m${last + 8}`]);
});

test('QoS 2 messages that came in are known after a restart', async (t) => {
  const folder = await makeFolder(t);
  const { persistence } = await folder.start();
  const stored = persistence.incomingStorePacket(client, message(1, { qos: 2, messageId: 5 }));
  // A repeat that arrives before the first is stored is recognised, and waits for it.
  const [known] = await Promise.all([persistence.incomingGetPacket(client, { messageId: 5 }), stored]);
  assert.equal(String(known.payload), 'm1');
  await persistence.incomingStorePacket(client, message(2, { qos: 2, messageId: 6 }));
  await persistence.incomingDelPacket(client, { messageId: 6 });
  const connection = { id: 'c2', clean: true };
  await persistence.incomingStorePacket(connection, message(3, { qos: 2, messageId: 7 }));
  assert.equal((await persistence.incomingGetPacket(connection, { messageId: 7 })).messageId, 7);

  const again = (await folder.start()).persistence;
  assert.equal((await again.incomingGetPacket(client, { messageId: 5 })).messageId, 5);
  await assert.rejects(again.incomingGetPacket(client, { messageId: 6 }));
  await assert.rejects(again.incomingGetPacket(other, { messageId: 7 }));
  assert.equal(again.sessionCount, 1);
});

test('inbound QoS 2 messages of a client are bounded across its connections', async (t) => {
  const { persistence } = await (await makeFolder(t)).start();
  for (const from of [client, { id: 'c2', clean: true }]) {
    const ids = Array.from({ length: limits.inflightMax }, (_, i) => i + 1);
    const store = (messageId: number) => persistence.incomingStorePacket(from, message(1, { qos: 2, messageId }));
    await Promise.all(ids.map(store));
    await assert.rejects(store(60_000));
    await persistence.incomingDelPacket(from, { messageId: 1 });
    await store(60_000);
  }
});

test('wills of an earlier run are there until they are removed as that run’s', async (t) => {
  const folder = await makeFolder(t);
  const { persistence } = await folder.start();
  const will = { topic: 'gone', payload: Buffer.from([0, 255]), qos: 1, retain: true, user: 1 };
  await persistence.putWill(client, { ...will });
  await persistence.putWill(other, { ...will });
  await persistence.delWill(other);

  const again = (await folder.start()).persistence;
  // The client is back before the will of its earlier connection is sent.
  assert.equal(await again.delWill(client), undefined);
  await again.putWill(client, { ...will, topic: 'gone again' });
  const theirs = { ...will, clientId: 'c1', brokerId: 'run-1' };
  assert.deepEqual(await read(again.streamWill({ 'run-2': Date.now() })), [theirs]);
  assert.deepEqual(await again.delWill({ id: 'c1', brokerId: 'run-1' }), theirs);
  assert.deepEqual(await read(again.streamWill({ 'run-2': Date.now() })), []);
  assert.equal((await again.getWill(client))?.topic, 'gone again');
});

test('when the disk refuses, nothing is remembered', async (t) => {
  const folder = await makeFolder(t);
  const { store } = await folder.start();
  let refuses = true;
  const persistence = new SqliteMqttPersistence({
    writer: {
      write: (statements) =>
        refuses ? Promise.reject(new Refusal('storage', 'The disk is full.')) : store.writer.write(statements),
    },
    reader: store.reader,
    matchesForm: () => true,
  });
  await persistence.setup({ id: 'run', counter: 0 });
  await assert.rejects(persistence.addSubscriptions(client, [{ topic: 't', qos: 1 }]), isRefusal('storage'));
  assert.deepEqual(await persistence.subscriptionsByTopic('t'), []);
  await assert.rejects(persistence.claimSession('c2', 1), isRefusal('storage'));
  assert.equal(await persistence.findSessionOwner('c2'), undefined);
  await assert.rejects(persistence.outgoingEnqueue({ clientId: 'c1' }, message(1)), isRefusal('storage'));
  await assert.rejects(persistence.storeRetained(message(1, { retain: true })), isRefusal('storage'));
  assert.equal(persistence.retainedCount, 0);
  await assert.rejects(persistence.incomingStorePacket(client, message(1, { messageId: 1 })), isRefusal('storage'));
  await assert.rejects(persistence.incomingGetPacket(client, { messageId: 1 }));
  refuses = false;
  await persistence.outgoingEnqueue({ clientId: 'c1' }, message(2));
  await persistence.outgoingUpdate(client, message(2, { messageId: 4 }));
  refuses = true;
  await assert.rejects(persistence.outgoingClearMessageId(client, { messageId: 4 }), isRefusal('storage'));
  refuses = false;
  await persistence.outgoingClearMessageId(client, { messageId: 4 });
  assert.deepEqual(await read((await folder.start()).persistence.outgoingStream(client)), []);
});

interface Suite {
  readonly test: typeof test;
  /** Whether the methods return promises. */
  readonly testAsync: boolean;
  readonly persistence: () => Promise<SqliteMqttPersistence>;
}

const runSuite = createRequire(import.meta.url)('aedes-persistence/abstract.js') as (suite: Suite) => void;
const folders: Folder[] = [];

runSuite({
  test: ((name: string, run: (t: TestContext) => Promise<void>) =>
    test(name, async (t) => {
      try {
        await run(t);
      } finally {
        for (const folder of folders.splice(0)) await folder.remove();
      }
    })) as typeof test,
  testAsync: true,
  persistence: async () => {
    const folder = await Folder.make();
    folders.push(folder);
    return folder.open();
  },
});
