// The suite of MqttSessions, which every engine passes: stored data is the same after a restart. engines.test.ts runs
// it on each engine.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, suite, test } from 'node:test';
import type { MqttSessions, StoredPacket } from '../../src/domain/ports/mqtt-sessions.ts';
import type { EngineKind, OpenedEngine } from './engines.ts';

const client = { id: 'c1' };
const other = { id: 'c2' };
const guest = 99;

export function mqttSessionsSuite({ name, open }: EngineKind): void {
  suite(`MQTT sessions on ${name}`, () => {
    let opened: OpenedEngine;
    let runs = 0;

    beforeEach(async () => {
      opened = await open();
      runs = 0;
    });
    afterEach(() => opened.close());

    /** Begins the next run of the broker, without a word to the one before. */
    const start = async (): Promise<MqttSessions> => {
      if (runs > 0) await opened.reopen();
      runs += 1;
      const sessions = opened.openMqttSessions({
        matchesForm: () => true,
        mayReceive: () => true,
        isInUse: () => false,
        expiryMsOf: () => undefined,
        guest,
        onRefused: (user, kind) => assert.fail(`the quota ${kind} of ${user} refused`),
        onQuotaChange: () => {},
      });
      await sessions.setup({ id: `run-${runs}` });
      return sessions;
    };

    test('subscriptions survive a restart', async () => {
      const sessions = await start();
      const subscriptions = [
        { topic: 'a/+', qos: 1, rh: 0, rap: true, nl: false },
        { topic: 'b/#', qos: 2 },
        { topic: 'c', qos: 0 },
      ];
      await sessions.addSubscriptions(client, subscriptions);
      await sessions.addSubscriptions(other, [{ topic: 'b/x', qos: 1 }]);
      await sessions.addSubscriptions(other, [{ topic: 'd', qos: 1 }]);
      await sessions.removeSubscriptions(other, ['d']);

      const again = await start();
      const restored = await again.subscriptionsByClient(client);
      assert.deepEqual(JSON.parse(JSON.stringify(restored)), subscriptions);
      const takers = (await again.subscriptionsByTopic('b/x')).map(({ clientId, qos }) => `${clientId} ${qos}`);
      assert.deepEqual(takers.sort(), ['c1 2', 'c2 1']);
      assert.deepEqual(await again.subscriptionsByTopic('d'), []);
      assert.deepEqual(await again.countOffline(), { subsCount: 3, clientsCount: 2 });
      assert.equal(again.storedFilters, 3);
    });

    test('queued messages survive a restart in order, byte by byte', async () => {
      const sessions = await start();
      const bytes = Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i));
      // A view into a larger buffer, as payloads from a socket are.
      const sent = [bytes, bytes.subarray(100, 110), Buffer.alloc(0), Buffer.from('ü')];
      await Promise.all(
        sent.map((payload, i) => sessions.outgoingEnqueue({ clientId: 'c1' }, message(i + 1, { payload }))),
      );
      await sessions.outgoingEnqueue({ clientId: 'c2' }, message(9));

      const again = await start();
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

    test('several filters of a client make one message, at the highest QoS of them', async () => {
      const sessions = await start();
      const recipients = [1, 2, 1].map((qos) => ({ clientId: 'c1', qos }));
      await sessions.outgoingEnqueueCombi(recipients, message(1, { qos: 2 }));
      await sessions.outgoingEnqueueCombi([{ clientId: 'c1', qos: 1 }], message(2, { qos: 2 }));
      const queued = await read(sessions.outgoingStream(client));
      assert.deepEqual(
        queued.map(({ qos }) => qos),
        [2, 1],
      );
    });

    test('QoS 2 messages that came in are known after a restart', async () => {
      const sessions = await start();
      const stored = sessions.incomingStorePacket(client, message(1, { qos: 2, messageId: 5 }));
      // A repeat that arrives before the first is stored is recognised, and waits for it.
      const [known] = await Promise.all([sessions.incomingGetPacket(client, { messageId: 5 }), stored]);
      assert.equal(String(known.payload), 'm1');
      await sessions.incomingStorePacket(client, message(2, { qos: 2, messageId: 6 }));
      await sessions.incomingDelPacket(client, { messageId: 6 });
      const connection = { id: 'c2', clean: true };
      await sessions.incomingStorePacket(connection, message(3, { qos: 2, messageId: 7 }));
      assert.equal((await sessions.incomingGetPacket(connection, { messageId: 7 })).messageId, 7);

      const again = await start();
      assert.equal((await again.incomingGetPacket(client, { messageId: 5 })).messageId, 5);
      await assert.rejects(again.incomingGetPacket(client, { messageId: 6 }));
      await assert.rejects(again.incomingGetPacket(other, { messageId: 7 }));
    });

    test('wills of an earlier run are there until they are removed as that run’s', async () => {
      const sessions = await start();
      const will = { topic: 'gone', payload: Buffer.from([0, 255]), qos: 1, retain: true, user: 1 };
      await sessions.putWill(client, { ...will });
      await sessions.putWill(other, { ...will });
      await sessions.delWill(other);

      const again = await start();
      // The client is back before the will of its earlier connection is sent.
      assert.equal(await again.delWill(client), undefined);
      await again.putWill(client, { ...will, topic: 'gone again' });
      const theirs = { ...will, clientId: 'c1', brokerId: 'run-1' };
      assert.deepEqual(await read(again.streamWill({ 'run-2': Date.now() })), [theirs]);
      assert.deepEqual(await again.delWill({ id: 'c1', brokerId: 'run-1' }), theirs);
      assert.deepEqual(await read(again.streamWill({ 'run-2': Date.now() })), []);
      assert.equal((await again.getWill(client))?.topic, 'gone again');
    });

    test('the last retained message of a topic survives a restart, byte by byte', async () => {
      const sessions = await start();
      const bytes = Buffer.from(Uint8Array.from({ length: 256 }, (_, i) => i));
      await Promise.all([retain(sessions, 'a', 'first'), retain(sessions, 'a', bytes), retain(sessions, 'b', 'x')]);
      await retain(sessions, 'b', '');
      const again = await start();
      const packet: StoredPacket = { cmd: 'publish', topic: 'a', payload: bytes, qos: 1, retain: true };
      assert.deepEqual(await read(again.createRetainedStream('#')), [packet]);
    });

    test('a filter gets what it matches, each message once', async () => {
      const sessions = await start();
      const topics = ['a', 'a/b', 'a/b/c', 'a/bc', 'a-b', 'a0', 'ä/b', '/a', '/a/b', '/', 'a/', 'a//b', 'b', '$SYS/a'];
      await Promise.all(topics.map((topic) => retain(sessions, topic, 'x')));
      const expected: Record<string, readonly string[]> = {
        '#': topics.filter((topic) => !topic.startsWith('$')),
        '+/#': topics.filter((topic) => !topic.startsWith('$')),
        '+': ['a', 'a-b', 'a0', 'b'],
        '+/b': ['a/b', 'ä/b'],
        '+/a': ['/a'],
        '/+': ['/a', '/'],
        '/#': ['/', '/a', '/a/b'],
        'a/#': ['a', 'a/', 'a//b', 'a/b', 'a/b/c', 'a/bc'],
        'a/+': ['a/', 'a/b', 'a/bc'],
        'a/+/b': ['a//b'],
        'a/b/#': ['a/b', 'a/b/c'],
        'a/b': ['a/b'],
        'ä/#': ['ä/b'],
        '$SYS/#': ['$SYS/a'],
        'no/#': [],
        no: [],
      };
      const topicsOf = async (filters: readonly string[]) =>
        (await read(sessions.createRetainedStreamCombi(filters))).map(({ topic }) => topic).sort();
      for (const [filter, matches] of Object.entries(expected)) {
        assert.deepEqual(await topicsOf([filter]), [...matches].sort(), filter);
      }
      assert.deepEqual(await topicsOf(['a/b', 'a/#', 'b', '#']), [...(expected['#'] ?? [])].sort());
    });
  });
}

function message(number: number, more: StoredPacket = {}): StoredPacket {
  return { topic: 't', payload: Buffer.from(`m${number}`), qos: 1, brokerCounter: number, ...more };
}

async function read(messages: AsyncIterable<unknown>): Promise<StoredPacket[]> {
  return (await Array.fromAsync(messages)) as StoredPacket[];
}

async function payloads(messages: AsyncIterable<unknown>): Promise<string[]> {
  return (await read(messages)).map(({ payload }) => String(payload));
}

function retain(sessions: MqttSessions, topic: string, payload: string | Uint8Array): Promise<void> {
  return sessions.storeRetained({ cmd: 'publish', topic, payload, qos: 1, retain: true });
}
