// SUBSCRIBE, UNSUBSCRIBE and their answers in MQTT 5, and the options of a subscription (3.8 to 3.11).
import assert from 'node:assert/strict';
import { heard } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow } from './clause-rows.ts';

export const subscribeRows: readonly ClauseRow[] = [
  {
    clauses: ['3.8.4-1', '3.8.4-2', '3.8.4-5', '3.8.4-6', '3.8.4-7', '3.9.3-1', '3.9.3-2', '2.2.1-6'],
    what: 'a SUBACK has a code for each filter in their order, under the packet id',
    run: async (scene) => {
      const client = await scene.connect('many');
      const subscriptions = ([0, 1, 2, 1, 0] as const).map((qos, n) => ({ topic: scene.topic(`${n % 4}`), qos }));
      await client.send({ cmd: 'subscribe', messageId: 0xabcd, subscriptions });
      const suback = await client.answer('suback');
      assert.deepEqual([suback.messageId, suback.granted], [0xabcd, [0, 1, 2, 1, 0]]);
    },
  },
  {
    clauses: ['3.8.4-3', '3.8.4-8'],
    what: 'the same filter again takes the place of the subscription: another QoS, and one message',
    run: async (scene) => {
      const client = await scene.connect('again');
      for (const qos of [2, 0, 1] as const) {
        assert.deepEqual(await client.subscribe({ topic: scene.topic(), qos }), [qos]);
        await client.publish({ topic: scene.topic(), qos: 2 });
        assert.deepEqual(
          heard(await scene.heard(client)).map((one) => one.qos),
          [qos],
        );
      }
    },
  },
  {
    clauses: ['3.8.4-5'],
    what: 'one SUBSCRIBE with a filter twice counts as two, the second in place of the first',
    run: async (scene) => {
      const client = await scene.connect('twice');
      const topic = scene.topic();
      assert.deepEqual(
        await client.subscribe([
          { topic, qos: 2 },
          { topic, qos: 0 },
        ]),
        [2, 0],
      );
      await client.publish({ topic, qos: 1 });
      assert.deepEqual(
        heard(await scene.heard(client)).map(({ qos }) => qos),
        [0],
      );
    },
  },
  {
    clauses: ['3.8.3-3'],
    what: 'No Local: not to the client that published it, to every other',
    run: async (scene) => {
      const client = await scene.connect('local');
      await client.subscribe({ topic: scene.topic(), qos: 1, nl: true });
      const other = await scene.connect('other');
      await other.subscribe({ topic: scene.topic(), qos: 1, nl: true });
      await client.publish({ topic: scene.topic(), payload: 'own' });
      await other.publish({ topic: scene.topic(), payload: 'of the other' });
      const words = async (who: typeof client) => heard(await scene.heard(who)).map(({ payload }) => payload);
      assert.deepEqual([await words(client), await words(other)], [['of the other'], ['own']]);
    },
  },
  {
    clauses: ['3.8.3-3'],
    what: 'No Local holds for the client id, though the message waits and the connection is another',
    run: async (scene) => {
      const kept = { properties: { sessionExpiryInterval: 1_000 } };
      const client = await scene.connect('local', kept);
      await client.subscribe({ topic: scene.topic(), qos: 1, nl: true });
      await client.publish({ topic: scene.topic(), payload: 'own' });
      await client.leave();
      const again = await scene.connect('local', { ...kept, clean: false });
      assert.deepEqual(await scene.heard(again), []);
      await again.publish({ topic: scene.topic(), payload: 'own' });
      assert.deepEqual(await scene.heard(again), []);
    },
  },
  {
    clauses: ['3.8.3-3', '3.3.4-4'],
    what: 'No Local of one subscription leaves another that matches as it is',
    run: async (scene) => {
      const client = await scene.connect('local');
      await client.subscribe({ topic: scene.topic('a'), qos: 1, nl: true }, 1);
      await client.subscribe({ topic: scene.topic('+'), qos: 0 }, 2);
      await client.publish({ topic: scene.topic('a') });
      const [came, ...more] = await scene.heard(client);
      assert.ok(came?.cmd === 'publish' && more.length === 0);
      assert.deepEqual([came.qos, [came.properties?.subscriptionIdentifier].flat()], [0, [2]]);
    },
  },
  {
    clauses: ['3.10.4-1', '3.10.4-2', '3.10.4-4', '3.10.4-5', '3.10.4-6', '3.11.3-1', '3.11.3-2'],
    what: 'an UNSUBACK has a code for each filter: taken away, or none there',
    run: async (scene) => {
      const client = await scene.connect('leaves');
      await client.subscribe([
        { topic: scene.topic('a'), qos: 1 },
        { topic: scene.topic('+'), qos: 1 },
      ]);
      assert.deepEqual(
        await client.unsubscribe(scene.topic('b'), scene.topic('a'), scene.topic('a'), scene.topic('#')),
        [0x11, 0, 0x11, 0x11],
      );
      await client.publish({ topic: scene.topic('a') });
      assert.equal((await scene.heard(client)).length, 1, 'the other subscription stays');
      assert.deepEqual(await client.unsubscribe(scene.topic('+')), [0]);
      await client.publish({ topic: scene.topic('a') });
      assert.deepEqual(await scene.heard(client), []);
    },
  },
  {
    clauses: ['3.10.4-3'],
    what: 'what was under way when its subscription went is brought to its end',
    run: async (scene) => {
      const client = await scene.connect('leaves');
      await client.subscribe(scene.topic());
      await (await scene.connect('says')).publish({ topic: scene.topic(), qos: 2 });
      const [{ messageId = 0 } = {}] = await client.take(1);
      assert.deepEqual(await client.unsubscribe(scene.topic()), [0]);
      await client.send({ cmd: 'pubrec', messageId });
      const pubrel = (await client.take(1))[0];
      assert.deepEqual([pubrel?.cmd, pubrel?.messageId], ['pubrel', messageId]);
      await client.send({ cmd: 'pubcomp', messageId });
      assert.deepEqual(await scene.heard(client), []);
    },
  },
  {
    clauses: ['3.8.4'],
    what: 'SUBSCRIBE and UNSUBSCRIBE may bring user properties',
    run: async (scene) => {
      const client = await scene.connect('tells');
      const properties = { userProperties: { a: ['1', '2'] } };
      await client.send({
        cmd: 'subscribe',
        messageId: 1,
        subscriptions: [{ topic: scene.topic(), qos: 1 }],
        properties,
      });
      assert.deepEqual((await client.answer('suback')).granted, [1]);
      await client.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: [scene.topic()], properties });
      assert.deepEqual((await client.answer('unsuback')).granted, [0]);
    },
  },
  {
    clauses: ['3.8.2.1.2'],
    what: 'the identifier of a subscription is part of the session',
    run: async (scene) => {
      const kept = { properties: { sessionExpiryInterval: 1_000 } };
      const client = await scene.connect('kept', kept);
      await client.subscribe({ topic: scene.topic(), qos: 1 }, 4_711);
      await client.leave();
      await (await scene.connect('says')).publish({ topic: scene.topic() });
      await scene.door.settle();
      const again = await scene.connect('kept', { ...kept, clean: false });
      await again.acknowledge(await again.take(1));
      await (await scene.connect('says')).publish({ topic: scene.topic() });
      const [came] = await again.take(1);
      assert.equal(came?.cmd === 'publish' && came.properties?.subscriptionIdentifier, 4_711);
    },
  },
];
