// Topic aliases of MQTT 5, both ways (3.3.2.3.4).
import assert from 'node:assert/strict';
import { packet } from '../../support/mqtt/packet-bytes.ts';
import { heard, type PacketClient } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow } from './clause-rows.ts';

const aliased = (topic: string, topicAlias: number, payload: string, qos: 0 | 1 | 2 = 0) =>
  ({ cmd: 'publish', topic, payload, qos, retain: false, dup: false, properties: { topicAlias } }) as const;

const maximumOf = (client: PacketClient) => client.connack?.properties?.topicAliasMaximum ?? 0;

export const aliasRows: readonly ClauseRow[] = [
  {
    clauses: ['3.3.2-12'],
    what: 'each alias up to the greatest stands for its topic, and for another when it is given one',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await scene.connect('says');
      const greatest = maximumOf(client);
      for (const alias of [1, greatest]) {
        await client.send(aliased(scene.topic(`a${alias}`), alias, 'named'), aliased('', alias, 'by alias'));
        await client.send(aliased(scene.topic(`b${alias}`), alias, 'renamed'), aliased('', alias, 'by alias'));
      }
      await client.deliveries();
      assert.deepEqual(
        heard(await scene.heard(listener)).map(({ topic, payload }) => [topic, payload]),
        [1, greatest].flatMap((alias) => [
          [scene.topic(`a${alias}`), 'named'],
          [scene.topic(`a${alias}`), 'by alias'],
          [scene.topic(`b${alias}`), 'renamed'],
          [scene.topic(`b${alias}`), 'by alias'],
        ]),
      );
    },
  },
  {
    clauses: ['3.3.2-12', '3.3.4-1'],
    what: 'an alias serves for QoS 1 and 2',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await scene.connect('says');
      for (const qos of [1, 2] as const) {
        await client.publish({ ...aliased(scene.topic(), 1, 'named', qos), messageId: 5 });
        await client.publish({ ...aliased('', 1, 'by alias', qos), messageId: 6 });
      }
      assert.deepEqual(
        heard(await scene.heard(listener)).map(({ topic, payload, qos }) => [topic, payload, qos]),
        [1, 2].flatMap((qos) => [
          [scene.topic(), 'named', qos],
          [scene.topic(), 'by alias', qos],
        ]),
      );
    },
  },
  {
    clauses: ['3.3.2-7'],
    what: 'an alias is of its connection alone: the next does not know it',
    run: async (scene) => {
      const kept = { properties: { sessionExpiryInterval: 100 } };
      const client = await scene.connect('says', kept);
      await client.send(aliased(scene.topic(), 1, 'named'));
      await client.deliveries();
      await client.cut();
      const again = await scene.connect('says', { ...kept, clean: false });
      await again.send(aliased('', 1, 'by alias'));
      assert.equal(await again.lastWords('an alias that is unknown'), 0x82);
    },
  },
  {
    clauses: ['3.3.2-9', '3.2.2-17'],
    what: 'an alias beyond the greatest is invalid',
    run: async (scene) => {
      const client = await scene.connect('says');
      await client.send(aliased(scene.topic(), maximumOf(client) + 1, 'beyond'));
      assert.equal(await client.lastWords('an alias beyond'), 0x94);
    },
  },
  {
    clauses: ['3.3.2-8'],
    what: 'alias 0 is invalid',
    run: async (scene) => {
      const client = await scene.connect('says');
      await client.send(packet(0x30, scene.topic(), [3, 0x23, 0, 0]));
      const code = (await client.lastWords('alias 0')) ?? 0;
      assert.ok([0x81, 0x82, 0x94].includes(code), `${code}: the specification names none`);
    },
  },
  {
    clauses: ['3.1.2-26', '3.1.2-27'],
    what: 'the server uses no alias where the client allows none',
    run: async (scene) => {
      for (const properties of [{}, { topicAliasMaximum: 0 }]) {
        const client = await scene.connect('hears', { properties });
        await client.subscribe(scene.topic('#'));
        for (let n = 0; n < 3; n++) await client.publish({ topic: scene.topic(), qos: 1 });
        for (const came of await client.take(3)) {
          assert.ok(came.cmd === 'publish' && came.topic === scene.topic());
          assert.equal(came.properties?.topicAlias, undefined);
        }
      }
    },
  },
  {
    clauses: ['3.3.2-11', '3.3.2-10'],
    what: 'aliases of the server keep to the maximum of the client, and each stands for what it was given to last',
    run: async (scene) => {
      const client = await scene.connect('hears', { properties: { topicAliasMaximum: 2 } });
      await client.subscribe({ topic: scene.topic('#'), qos: 0 });
      const order = ['a', 'b', 'a', 'c', 'c', 'a', 'd', 'b', 'a', 'd', 'd'];
      for (const name of order) await client.publish({ topic: scene.topic(name), payload: name });
      const known = new Map<number, string>();
      for (const came of await client.take(order.length)) {
        assert.ok(came.cmd === 'publish');
        const alias = came.properties?.topicAlias;
        if (alias !== undefined) assert.ok(alias >= 1 && alias <= 2, `${alias}`);
        if (alias !== undefined && came.topic !== '') known.set(alias, came.topic);
        const topic = came.topic !== '' ? came.topic : known.get(alias ?? 0);
        assert.equal(topic, scene.topic(`${came.payload}`));
      }
    },
  },
  {
    clauses: ['3.3.2.3.4'],
    what: 'the alias of the publisher is not that of the subscriber',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await scene.connect('says');
      await client.send(aliased(scene.topic(), 1, 'named'));
      const [came] = await listener.take(1);
      assert.ok(came?.cmd === 'publish');
      assert.equal(came.properties?.topicAlias, undefined);
    },
  },
];
