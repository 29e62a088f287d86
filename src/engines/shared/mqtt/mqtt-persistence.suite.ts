// Messages and wills across restarts, on a real database; each engine passes it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { StoredPacket } from '../../../domain/ports/mqtt-sessions.ts';
import { MqttPersistence } from './mqtt-persistence.ts';
import { client, isRefusal, type MqttEngine, makeRuns, message, other, payloads, read } from './mqtt-runs.suite.ts';
import type { MqttTables } from './mqtt-tables.ts';

export function mqttPersistenceSuite(engine: MqttEngine): void {
  suite(`What MQTT stores on ${engine.name}`, () => {
    test('a message for many sessions is stored once and goes with the last acknowledgement', async (t) => {
      const runs = await makeRuns(t, engine);
      const run = await runs.start();
      const clients = Array.from({ length: 50 }, (_, i) => ({ id: `c${i}` }));
      const packet = message(1);
      await run.persistence.outgoingEnqueueCombi(
        clients.map(({ id }) => ({ clientId: id, qos: 1 })),
        packet,
      );
      assert.deepEqual([await run.count('mqtt_message'), await run.count('mqtt_queue')], [1, 50]);
      for (const [i, each] of clients.entries()) {
        assert.equal(await run.count('mqtt_message'), 1);
        await run.persistence.outgoingUpdate(each, { ...packet, messageId: i + 1 });
        await run.persistence.outgoingClearMessageId(each, { messageId: i + 1 });
      }
      assert.deepEqual([await run.count('mqtt_message'), await run.count('mqtt_queue')], [0, 0]);
    });

    test('packet ids survive a restart, and a message that was sent before is sent with DUP', async (t) => {
      const runs = await makeRuns(t, engine);
      const { persistence } = await runs.start();
      for (const number of [1, 2, 3]) {
        await persistence.outgoingEnqueue({ clientId: 'c1' }, message(number, { qos: 2 }));
        if (number < 3) await persistence.outgoingUpdate(client, message(number, { qos: 2, messageId: 70 + number }));
      }
      await persistence.outgoingUpdate(client, { cmd: 'pubrel', messageId: 71 });

      const again = (await runs.start()).persistence;
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
      const runs = await makeRuns(t, engine);
      const { persistence } = await runs.start();
      const last = limits.sessionMessagesMax;
      const numbers = Array.from({ length: last + 5 }, (_, i) => i + 1);
      await Promise.all(numbers.map((number) => persistence.outgoingEnqueue({ clientId: 'c1' }, message(number))));
      assert.equal(persistence.dropped, 5);
      await persistence.outgoingEnqueueCombi([{ clientId: 'c1' }, { clientId: 'c2' }], message(last + 6));
      assert.equal(persistence.dropped, 6);
      assert.deepEqual(await payloads(persistence.outgoingStream(other)), [`m${last + 6}`]);

      const again = (await runs.start()).persistence;
      const kept = await payloads(again.outgoingStream(client));
      assert.deepEqual([kept.length, kept.at(0), kept.at(-1)], [last, 'm1', `m${last}`]);
      await again.outgoingEnqueue({ clientId: 'c1' }, message(last + 7));
      assert.equal(again.dropped, 1);
      await again.outgoingUpdate(client, message(1, { messageId: 1 }));
      await again.outgoingClearMessageId(client, { messageId: 1 });
      await again.outgoingEnqueue({ clientId: 'c1' }, message(last + 8));
      assert.deepEqual([again.dropped, (await payloads(again.outgoingStream(client))).at(-1)], [1, `m${last + 8}`]);
    });

    test('inbound QoS 2 messages of a client are bounded across its connections', async (t) => {
      const { persistence } = await (await makeRuns(t, engine)).start();
      for (const from of [client, { id: 'c2', clean: true }]) {
        const ids = Array.from({ length: limits.inflightMax }, (_, i) => i + 1);
        const store = (messageId: number) => persistence.incomingStorePacket(from, message(1, { qos: 2, messageId }));
        await Promise.all(ids.map(store));
        await assert.rejects(store(60_000));
        await persistence.incomingDelPacket(from, { messageId: 1 });
        await store(60_000);
      }
    });

    test('when the disk refuses, nothing is remembered', async (t) => {
      const runs = await makeRuns(t, engine);
      const { tables } = await runs.start();
      let refuses = true;
      const refusing: MqttTables = {
        reads: tables.reads,
        unitsAtOnce: tables.unitsAtOnce,
        start: (brokerId) => tables.start(brokerId),
        load: (parts) => tables.load(parts),
        write: (changes) =>
          refuses ? Promise.reject(new Refusal('storage', 'The disk is full.')) : tables.write(changes),
        close: () => tables.close(),
      };
      const persistence = new MqttPersistence({ tables: refusing, matchesForm: () => true });
      await persistence.setup({ id: 'run' });
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
      assert.deepEqual(await read((await runs.start()).persistence.outgoingStream(client)), []);
    });
  });
}
