// Flow control of MQTT 5: Receive Maximum and Maximum Packet Size, both ways (4.9, 3.1.2.11, 3.3.4).
import assert from 'node:assert/strict';
import { heard } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

const words = (count: number) => Array.from({ length: count }, (_, n) => `${n}`);

export const flowRows: readonly ClauseRow[] = [
  ...([1, 2] as const).map((qos) => ({
    clauses: ['3.3.4-9', '4.9.0-1', '4.9.0-2', '3.3.4-10', '4.9.0-3'],
    what: `no more than Receive Maximum of QoS ${qos} are under way; QoS 0 and answers go on`,
    run: async (scene: Scene) => {
      const client = await scene.connect('slow', { properties: { receiveMaximum: 2 } });
      await client.subscribe(scene.topic('#'));
      const publisher = await scene.connect('says');
      for (const payload of words(5)) await publisher.publish({ topic: scene.topic(), payload, qos });
      await publisher.publish({ topic: scene.topic('nought'), payload: 'nought', qos: 0 });
      await publisher.deliveries();
      const first = await scene.heard(client);
      assert.equal(first.filter((came) => came.cmd === 'publish' && came.qos === qos).length, 2);
      assert.equal((await client.subscribe(scene.topic('other'))).length, 1);
      const seen = [...first];
      for (const came of first) {
        if (came.cmd !== 'publish' || came.qos === 0) continue;
        await client.acknowledge([came]);
        seen.push(...(await client.take(1)));
      }
      await client.acknowledge(seen.slice(first.length, first.length + 1));
      seen.push(...(await client.take(1)));
      assert.deepEqual(
        heard(seen)
          .filter((one) => one.qos > 0)
          .map(({ payload }) => payload),
        words(5),
      );
    },
  })),
  {
    clauses: ['3.3.4-9', '4.9.0-2'],
    what: 'Receive Maximum holds for what waited in the session too',
    run: async (scene) => {
      const kept = { sessionExpiryInterval: 1_000 };
      const client = await scene.connect('slow', { properties: kept });
      await client.subscribe({ topic: scene.topic(), qos: 1 });
      await client.leave();
      const publisher = await scene.connect('says');
      for (const payload of words(6)) await publisher.publish({ topic: scene.topic(), payload });
      await scene.door.settle();
      const again = await scene.connect('slow', { clean: false, properties: { ...kept, receiveMaximum: 3 } });
      const seen = await scene.heard(again);
      assert.equal(seen.length, 3);
      for (const came of [...seen]) {
        await again.acknowledge([came]);
        seen.push(...(await again.take(1)));
      }
      assert.deepEqual(
        heard(seen).map(({ payload }) => payload),
        words(6),
      );
    },
  },
  {
    clauses: ['4.9', '3.3.4-9'],
    what: 'a PUBREC of refusal gives room again, one of acceptance does not before PUBCOMP',
    run: async (scene) => {
      const client = await scene.connect('slow', { properties: { receiveMaximum: 1 } });
      await client.subscribe(scene.topic());
      const publisher = await scene.connect('says');
      for (const payload of words(3)) await publisher.publish({ topic: scene.topic(), payload, qos: 2 });
      const [first] = await client.take(1);
      await client.send({ cmd: 'pubrec', messageId: first?.messageId ?? 0, reasonCode: 0x80 });
      const [second] = await client.take(1);
      await client.send({ cmd: 'pubrec', messageId: second?.messageId ?? 0 });
      assert.deepEqual(
        (await scene.heard(client)).map(({ cmd }) => cmd),
        ['pubrel'],
      );
      await client.send({ cmd: 'pubcomp', messageId: second?.messageId ?? 0 });
      assert.equal(heard(await client.take(1))[0]?.payload, '2');
    },
  },
  {
    clauses: ['3.3.4-7', '4.9'],
    what: 'a client that sends more of QoS 2 than the server’s Receive Maximum is cut: receive maximum exceeded',
    isOnceEnough: true,
    run: async (scene) => {
      const client = await scene.connect('hasty');
      const { receiveMaximum = 65_535 } = client.connack?.properties ?? {};
      // What is answered is no longer under way for QoS 1, so it is PUBREL that is held back.
      const publishes = Array.from({ length: receiveMaximum + 1 }, (_, n) =>
        client.bytesOf({
          ...{ cmd: 'publish', topic: scene.topic(), payload: '', qos: 2, retain: false, dup: false },
          messageId: n + 1,
        }),
      );
      if (publishes.length > 65_535) return;
      for (let n = 0; n < publishes.length; n += 100) {
        await client.send(Buffer.concat(publishes.slice(n, n + 100)));
        for (let m = n; m < Math.min(n + 100, receiveMaximum); m++) await client.answer('pubrec');
      }
      assert.equal(await client.lastWords('too many'), 0x93);
    },
  },
  {
    clauses: ['3.1.2-24', '3.1.2-25'],
    what: 'a message larger than the client takes is not sent to it, and those behind it are',
    run: async (scene) => {
      const client = await scene.connect('small', { properties: { maximumPacketSize: 100, receiveMaximum: 1 } });
      await client.subscribe(scene.topic());
      const all = await scene.listener();
      const publisher = await scene.connect('says');
      for (const qos of [0, 1, 2] as const) {
        await publisher.publish({ topic: scene.topic(), payload: 'x'.repeat(200), qos });
        await publisher.publish({ topic: scene.topic(), payload: `after ${qos}`, qos });
        const came = await client.take(1);
        assert.equal(heard(came)[0]?.payload, `after ${qos}`);
        assert.ok((came[0]?.raw.length ?? 0) <= 100);
        await client.acknowledge(came);
        const both = await all.take(2);
        await all.acknowledge(both);
      }
    },
  },
  {
    clauses: ['3.1.2-24', '3.1.2-25'],
    what: 'a retained and a waiting message larger than the client takes are not sent to it',
    run: async (scene) => {
      const properties = { sessionExpiryInterval: 1_000, maximumPacketSize: 100 };
      const client = await scene.connect('small', { properties });
      await client.subscribe(scene.topic('waits'));
      await client.leave();
      const publisher = await scene.connect('says');
      const large = 'x'.repeat(200);
      for (const payload of [large, 'small']) await publisher.publish({ topic: scene.topic('waits'), payload });
      await publisher.publish({ topic: scene.topic('retained'), payload: large, retain: true });
      await scene.door.settle();
      const again = await scene.connect('small', { clean: false, properties });
      await again.subscribe({ topic: scene.topic('retained'), qos: 0 });
      assert.deepEqual(
        heard(await scene.heard(again)).map(({ payload }) => payload),
        ['small'],
      );
      await publisher.publish({ topic: scene.topic('retained'), payload: '', retain: true });
    },
  },
];
