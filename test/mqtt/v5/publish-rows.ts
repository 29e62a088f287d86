// PUBLISH of MQTT 5 to whom it goes, and how (3.3, 4.3, 4.5, 4.6, 4.7).
import assert from 'node:assert/strict';
import { heard } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

const payloadsOf = (came: Parameters<typeof heard>[0]) => heard(came).map(({ payload }) => payload);

/** Whether a message to the topic, below that of the row, reaches a subscriber of the filter. */
const matching: readonly (readonly [clause: string, filter: string, topic: string, reaches: boolean])[] = [
  ['3.3.2-3', 'a', 'a', true],
  ['3.3.2-3', 'a', 'b', false],
  ['4.7.3-4', 'a', 'A', false],
  ['4.7.3-4', 'a', 'a ', false],
  ['4.7.3-4', 'a', 'a/', false],
  ['4.7.3-4', 'a/', 'a/', true],
  ['4.7.3-4', 'a//b', 'a//b', true],
  ['4.7.3-4', 'a/b', 'a//b', false],
  ['4.7.3-4', '\u00e9', 'e\u0301', false],
  ['4.7.3-4', '\u00e9', '\u00e9', true],
  ['4.7.1-1', '#', 'a', true],
  ['4.7.1-1', '#', 'a/b/c', true],
  ['4.7.1-1', 'a/#', 'a', true],
  ['4.7.1-1', 'a/#', 'a/', true],
  ['4.7.1-1', 'a/#', 'a/b/c', true],
  ['4.7.1-1', 'a/#', 'ab', false],
  ['4.7.1-1', 'a/b/#', 'a', false],
  ['4.7.1-2', '+', 'a', true],
  ['4.7.1-2', '+', 'a/b', false],
  ['4.7.1-2', '+', 'a/', false],
  ['4.7.1-2', '+/+', 'a/', true],
  ['4.7.1-2', '+/b', 'a/b', true],
  ['4.7.1-2', '+/b', 'a/b/c', false],
  ['4.7.1-2', 'a/+/c', 'a//c', true],
  ['4.7.1-2', 'a/+/c', 'a/b/c', true],
  ['4.7.1-2', 'a/+/#', 'a', false],
  ['4.7.1-2', 'a/+/#', 'a/b', true],
  ['4.7.2-1', 'a/$x', 'a/$x', true],
  ['4.7.2-1', 'a/+', 'a/$x', true],
];

export const publishRows: readonly ClauseRow[] = [
  ...matching.map(([clause, filter, topic, reaches]) => ({
    clauses: [clause, '4.5.0-1'],
    what: `${JSON.stringify(topic)} ${reaches ? 'reaches' : 'does not reach'} a subscriber of ${JSON.stringify(filter)}`,
    run: async (scene: Scene) => {
      const client = await scene.connect('one');
      assert.deepEqual(await client.subscribe(scene.topic(filter)), [2]);
      await client.publish({ topic: scene.topic(topic) });
      const names = heard(await scene.heard(client)).map(({ topic: name }) => name);
      assert.deepEqual(names, reaches ? [scene.topic(topic)] : []);
    },
  })),
  ...([0, 1, 2] as const).flatMap((sent) =>
    ([0, 1, 2] as const).map((granted) => ({
      clauses: ['3.8.4-8', '3.3.4-1', '4.3.1-1', '4.3.2-2', '4.3.3-2', '3.3.1-2'],
      what: `a message of QoS ${sent} reaches a subscription of QoS ${granted} with the lesser, and without DUP`,
      run: async (scene: Scene) => {
        const subscriber = await scene.connect('hears');
        assert.deepEqual(await subscriber.subscribe({ topic: scene.topic(), qos: granted }), [granted]);
        const publisher = await scene.connect('says');
        await publisher.publish({ topic: scene.topic(), qos: sent });
        const came = await subscriber.take(1);
        const qos = Math.min(sent, granted) as 0 | 1 | 2;
        const all = { topic: scene.topic(), payload: 'payload', qos, retain: false, dup: false };
        assert.deepEqual(heard(came), [all]);
        assert.equal((came[0]?.messageId ?? 0) > 0, qos > 0, '[MQTT-2.2.1-2, -4]');
        await subscriber.acknowledge(came);
        assert.deepEqual(await scene.heard(subscriber), []);
      },
    })),
  ),
  {
    clauses: ['3.3.1-3'],
    what: 'DUP of the publisher is not that of the subscriber',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await scene.connect('again');
      for (const qos of [1, 2] as const) await client.publish({ topic: scene.topic(), qos, dup: true });
      assert.deepEqual(
        heard(await listener.take(2)).map(({ dup }) => dup),
        [false, false],
      );
    },
  },
  {
    clauses: ['4.3.3-8', '4.3.3-10', '4.3.3-11', '4.3.3-12'],
    what: 'a message of QoS 2 is delivered once until its PUBREL, and one behind it is another',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await scene.connect('twice');
      const publish = { cmd: 'publish', topic: scene.topic(), qos: 2, messageId: 5, retain: false } as const;
      await client.send({ ...publish, payload: 'one', dup: false });
      assert.equal((await client.answer('pubrec')).messageId, 5);
      await client.send({ ...publish, payload: 'one', dup: true });
      assert.equal((await client.answer('pubrec')).messageId, 5);
      await client.send({ cmd: 'pubrel', messageId: 5 });
      assert.deepEqual([(await client.answer('pubcomp')).messageId], [5]);
      await client.send({ ...publish, payload: 'two', dup: false });
      assert.equal((await client.answer('pubrec')).messageId, 5);
      await client.send({ cmd: 'pubrel', messageId: 5 });
      await client.answer('pubcomp');
      assert.deepEqual(payloadsOf(await scene.heard(listener)), ['one', 'two']);
    },
  },
  {
    clauses: ['4.3.2-5'],
    what: 'after PUBACK a message under the same packet id is another',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await scene.connect('again');
      for (const payload of ['one', 'two']) await client.publish({ topic: scene.topic(), payload, messageId: 7 });
      assert.deepEqual(payloadsOf(await scene.heard(listener)), ['one', 'two']);
    },
  },
  {
    clauses: ['4.6.0-5', '4.6.0-6'],
    what: 'messages of one publisher to one topic come in their order',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await scene.connect('many');
      const words = Array.from({ length: 24 }, (_, n) => `${n}`);
      await client.send(
        ...words.map((payload, n) => {
          const qos = ([1, 1, 0, 2] as const)[n % 4] ?? 0;
          const id = qos === 0 ? {} : { messageId: n + 1 };
          return {
            cmd: 'publish',
            topic: scene.topic(`${n % 2}/${qos}`),
            payload,
            qos,
            ...id,
            retain: false,
            dup: false,
          } as const;
        }),
      );
      for (let due = 18; due > 0; ) {
        const came = await client.next();
        if (came?.cmd === 'pubrec') await client.send({ cmd: 'pubrel', messageId: came.messageId ?? 0 });
        else due -= 1;
      }
      const all = heard(await scene.heard(listener));
      assert.equal(all.length, 24);
      for (const topic of new Set(all.map((one) => one.topic))) {
        const own = all.filter((one) => one.topic === topic).map(({ payload }) => Number(payload));
        assert.deepEqual(
          own,
          own.toSorted((a, b) => a - b),
          topic,
        );
      }
    },
  },
  {
    clauses: ['4.6.0-2', '4.6.0-3'],
    what: 'PUBACKs and PUBRECs come in the order of their PUBLISHes',
    run: async (scene) => {
      const client = await scene.connect('many');
      for (const [qos, cmd] of [
        [1, 'puback'],
        [2, 'pubrec'],
      ] as const) {
        const ids = Array.from({ length: 12 }, (_, n) => 100 - n);
        const fates = [scene.topic(), 'nowhere', 'devices/none/sensors/s/value'];
        await client.send(
          ...ids.map((messageId, n) => {
            const topic = fates[n % 3] as string;
            return { cmd: 'publish', topic, payload: 'x', qos, messageId, retain: false, dup: false } as const;
          }),
        );
        for (const messageId of ids) assert.equal((await client.answer(cmd)).messageId, messageId);
      }
    },
  },
  {
    clauses: ['3.3.4-2'],
    what: 'overlapping subscriptions give a message once at most for each, with the greatest QoS',
    run: async (scene) => {
      const client = await scene.connect('overlaps');
      await client.subscribe({ topic: scene.topic('a'), qos: 0 });
      await client.subscribe({ topic: scene.topic('+'), qos: 1 });
      await client.subscribe({ topic: scene.topic('#'), qos: 2 });
      await client.publish({ topic: scene.topic('a'), qos: 2 });
      const came = heard(await scene.heard(client));
      assert.deepEqual(
        came.map(({ qos }) => qos),
        [2],
      );
    },
  },
  {
    clauses: ['3.3.4-3', '3.3.4-4'],
    what: 'the one copy names the subscription identifiers of all that match, and of no other',
    run: async (scene) => {
      const client = await scene.connect('overlaps');
      const filters = { a: 5, '+': 268_435_455, '#': 128, b: 7 };
      for (const [filter, id] of Object.entries(filters))
        await client.subscribe({ topic: scene.topic(filter), qos: 1 }, id);
      await client.subscribe({ topic: scene.topic('+/#'), qos: 1 });
      await client.publish({ topic: scene.topic('a') });
      const [came] = await scene.heard(client);
      assert.ok(came?.cmd === 'publish');
      const ids = [came.properties?.subscriptionIdentifier ?? []].flat();
      assert.deepEqual(
        ids.toSorted((a, b) => a - b),
        [5, 128, 268_435_455],
      );
    },
  },
  {
    clauses: ['3.3.2.3.8', '3.8.2.1.2'],
    what: 'a subscription made again without an identifier has none any more, and with another has that',
    run: async (scene) => {
      const client = await scene.connect('renews');
      const seen: unknown[] = [];
      for (const id of [1, 2, undefined]) {
        await client.subscribe({ topic: scene.topic(), qos: 0 }, id);
        await client.publish({ topic: scene.topic() });
        const [came] = await scene.heard(client);
        seen.push(came?.cmd === 'publish' ? came.properties?.subscriptionIdentifier : 'nothing');
      }
      assert.deepEqual(seen, [1, 2, undefined]);
    },
  },
  ...([3, 4, 5] as const).flatMap((from) =>
    ([3, 4, 5] as const).map((to) => ({
      clauses: ['4.5.0-1'],
      what: `from a client of level ${from} to one of level ${to}`,
      run: async (scene: Scene) => {
        const subscriber = await scene.connect('to', { version: to });
        assert.deepEqual(await subscriber.subscribe(scene.topic('+')), [2]);
        const publisher = await scene.connect('from', { version: from });
        const properties = from === 5 ? { properties: { contentType: 'x', messageExpiryInterval: 50 } } : {};
        await publisher.publish({ topic: scene.topic(), qos: 2, ...properties });
        const came = await subscriber.take(1);
        assert.deepEqual(payloadsOf(came), ['payload']);
        await subscriber.acknowledge(came);
        assert.deepEqual(await scene.heard(subscriber), []);
      },
    })),
  ),
];
