// Shared subscriptions of MQTT 5 (4.8.2).
import assert from 'node:assert/strict';
import { heard, type PacketClient } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

const kept = { properties: { sessionExpiryInterval: 1_000 } };

async function join(
  scene: Scene,
  name: string,
  { group = 'g', qos = 1 as 0 | 1 | 2, options = {} } = {},
): Promise<PacketClient> {
  const client = await scene.connect(name, options);
  assert.deepEqual(await client.subscribe({ topic: `$share/${group}/${scene.topic('#')}`, qos }), [qos]);
  return client;
}

async function publish(scene: Scene, count: number, qos: 0 | 1 | 2 = 1): Promise<string[]> {
  const publisher = await scene.connect('says');
  const words = Array.from({ length: count }, (_, n) => `${n}`);
  for (const payload of words) await publisher.publish({ topic: scene.topic(), payload, qos });
  await publisher.deliveries();
  await scene.door.settle();
  return words;
}

const payloadsOf = (came: Parameters<typeof heard>[0]) => heard(came).map(({ payload }) => payload);

export const sharedRows: readonly ClauseRow[] = [
  {
    clauses: ['4.8.2-1', '4.8.2', '4.5.0-1'],
    what: 'each message reaches one member of a group, and all members get some',
    run: async (scene) => {
      const members = [await join(scene, 'a'), await join(scene, 'b'), await join(scene, 'c')];
      const words = await publish(scene, 12);
      const shares = await Promise.all(members.map(async (member) => payloadsOf(await scene.heard(member))));
      assert.deepEqual(
        shares.flat().toSorted((a, b) => Number(a) - Number(b)),
        words,
      );
      assert.ok(
        shares.every((share) => share.length > 0),
        JSON.stringify(shares),
      );
    },
  },
  {
    clauses: ['4.8.2'],
    what: 'each group gets a message, and each subscription that is not shared',
    run: async (scene) => {
      const client = await join(scene, 'a', { group: 'g' });
      const other = await join(scene, 'b', { group: 'h' });
      const plain = await scene.listener();
      const words = await publish(scene, 3);
      for (const one of [client, other, plain]) assert.deepEqual(payloadsOf(await scene.heard(one)), words);
    },
  },
  {
    clauses: ['4.8.2', '3.8.4-3'],
    what: 'a client with a shared and another subscription of one filter gets a message by each',
    run: async (scene) => {
      const client = await join(scene, 'a');
      await client.subscribe({ topic: scene.topic('#'), qos: 1 });
      await publish(scene, 1);
      assert.deepEqual(payloadsOf(await scene.heard(client)), ['0', '0']);
    },
  },
  {
    clauses: ['3.8.4', '4.8.2'],
    what: 'a shared subscription is given nothing that is retained',
    run: async (scene) => {
      const publisher = await scene.connect('says');
      await publisher.publish({ topic: scene.topic(), retain: true });
      const client = await join(scene, 'a');
      assert.deepEqual(await scene.heard(client), []);
      await publisher.publish({ topic: scene.topic(), payload: '', retain: true });
    },
  },
  {
    clauses: ['4.8.2-3'],
    what: 'each member gets the QoS that it was granted',
    run: async (scene) => {
      const nought = await join(scene, 'a', { qos: 0 });
      const one = await join(scene, 'b', { qos: 1 });
      await publish(scene, 8, 2);
      for (const [client, qos] of [
        [nought, 0],
        [one, 1],
      ] as const) {
        const came = heard(await scene.heard(client));
        assert.ok(came.length > 0 && came.every((message) => message.qos === qos));
      }
    },
  },
  {
    clauses: ['4.8.2', '3.3.4-3'],
    what: 'a message by a shared subscription names its identifier',
    run: async (scene) => {
      const client = await scene.connect('a');
      await client.subscribe({ topic: `$share/g/${scene.topic('#')}`, qos: 1 }, 12);
      await publish(scene, 1);
      const [came] = await scene.heard(client);
      assert.equal(came?.cmd === 'publish' && came.properties?.subscriptionIdentifier, 12);
    },
  },
  {
    clauses: ['3.3.4-3', '4.8.2'],
    what: 'a message by a shared subscription names no identifier of another subscription',
    run: async (scene) => {
      const client = await scene.connect('a');
      await client.subscribe({ topic: `$share/g/${scene.topic('#')}`, qos: 1 });
      await client.subscribe({ topic: scene.topic(), qos: 1 }, 12);
      await publish(scene, 1);
      const ids = (await scene.heard(client)).map(
        (came) => came.cmd === 'publish' && came.properties?.subscriptionIdentifier,
      );
      assert.deepEqual(ids.toSorted(), [12, undefined]);
    },
  },
  {
    clauses: ['3.10.4-1', '4.8.2'],
    what: 'who unsubscribes is no member any more, nor who has gone',
    run: async (scene) => {
      const leaves = await join(scene, 'a');
      const goes = await join(scene, 'b');
      const stays = await join(scene, 'c');
      assert.deepEqual(await leaves.unsubscribe(`$share/g/${scene.topic('#')}`), [0]);
      await goes.leave();
      const words = await publish(scene, 4);
      assert.deepEqual(payloadsOf(await scene.heard(stays)), words);
      assert.deepEqual(await scene.heard(leaves), []);
    },
  },
  {
    clauses: ['4.8.2'],
    what: 'what a member of a session that ends had not acknowledged goes to another',
    run: async (scene) => {
      const first = await join(scene, 'a');
      const words = await publish(scene, 4);
      assert.deepEqual(payloadsOf(await scene.heard(first)), words);
      const second = await join(scene, 'b');
      await first.cut();
      assert.deepEqual(payloadsOf(await second.take(4)), words);
    },
  },
  {
    clauses: ['4.8.2-4', '4.4.0-1'],
    what: 'QoS 2 that is under way at a member whose session is kept is brought to its end there',
    run: async (scene) => {
      const first = await join(scene, 'a', { qos: 2, options: kept });
      await publish(scene, 1, 2);
      const [{ messageId = 0 } = {}] = await first.take(1);
      await first.send({ cmd: 'pubrec', messageId });
      await first.take(1);
      await first.cut();
      const second = await join(scene, 'b', { qos: 2 });
      assert.deepEqual(await scene.heard(second), []);
      const again = await scene.connect('a', { ...kept, clean: false });
      const [pubrel] = await again.take(1);
      assert.deepEqual([pubrel?.cmd, pubrel?.messageId], ['pubrel', messageId]);
    },
  },
  {
    clauses: ['4.8.2-5'],
    what: 'QoS 2 that was sent to a member whose session ends goes to no other',
    run: async (scene) => {
      const first = await join(scene, 'a', { qos: 2 });
      await publish(scene, 1, 2);
      await first.take(1);
      const second = await join(scene, 'b', { qos: 2 });
      await first.cut();
      assert.deepEqual(await scene.heard(second), []);
    },
  },
  {
    clauses: ['4.8.2-6'],
    what: 'what a member refuses is offered to no other',
    run: async (scene) => {
      const members = [await join(scene, 'a'), await join(scene, 'b')];
      await publish(scene, 1);
      let count = 0;
      for (const member of members)
        for (const { messageId = 0 } of await scene.heard(member)) {
          count += 1;
          await member.send({ cmd: 'puback', messageId, reasonCode: 0x80 });
        }
      for (const member of members) count += (await scene.heard(member)).length;
      assert.equal(count, 1);
    },
  },
  {
    clauses: ['4.8.2-2', '4.7.1-1'],
    what: 'the filter of a group may have wildcards, and two groups of one name and other filters are two',
    run: async (scene) => {
      const client = await scene.connect('a');
      assert.deepEqual(
        await client.subscribe([
          { topic: `$share/g/${scene.topic('+')}`, qos: 1 },
          { topic: `$share/g/${scene.topic('t')}`, qos: 1 },
        ]),
        [1, 1],
      );
      await publish(scene, 2);
      assert.deepEqual(payloadsOf(await scene.heard(client)).toSorted(), ['0', '0', '1', '1']);
    },
  },
  {
    clauses: ['4.8.2'],
    what: 'messages wait for a group whose members are away, and are not lost',
    run: async (scene) => {
      const client = await join(scene, 'a', { options: kept });
      await client.leave();
      const words = await publish(scene, 3);
      const again = await scene.connect('a', { ...kept, clean: false });
      assert.deepEqual(payloadsOf(await again.take(3)), words);
    },
  },
];
