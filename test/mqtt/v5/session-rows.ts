// Sessions of MQTT 5: what is kept, for how long, and what of it is sent again (3.1.2.4, 3.1.2.11.2, 4.1, 4.4).
import assert from 'node:assert/strict';
import { heard } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

const kept = { properties: { sessionExpiryInterval: 1_000 } };
const back = { ...kept, clean: false };

/** A session with one subscription whose client has gone. */
async function leaveSession(scene: Scene, options = {}): Promise<void> {
  const client = await scene.connect('kept', { ...kept, ...options });
  assert.deepEqual(await client.subscribe(scene.topic('#')), [2]);
  await client.leave();
}

async function isPresent(scene: Scene, options = {}): Promise<boolean | undefined> {
  return (await scene.connect('kept', { ...back, ...options })).connack?.sessionPresent;
}

export const sessionRows: readonly ClauseRow[] = [
  {
    clauses: ['3.1.2-5', '3.1.2-23', '3.2.2-3'],
    what: 'a session with an expiry is there when its client comes back, with its subscriptions',
    run: async (scene) => {
      await leaveSession(scene);
      const again = await scene.connect('kept', back);
      assert.equal(again.connack?.sessionPresent, true);
      await (await scene.connect('other')).publish({ topic: scene.topic() });
      assert.equal((await scene.heard(again)).length, 1);
    },
  },
  {
    clauses: ['3.1.2-6', '3.2.2-3'],
    what: 'without Clean Start and without a session a new one begins',
    run: async (scene) => {
      assert.equal(await isPresent(scene), false);
      assert.equal(await isPresent(scene), true);
    },
  },
  {
    clauses: ['3.10.4-3', '4.4.0-1'],
    what: 'what was sent is sent again as it was, though its filter has gone, or has another QoS',
    run: async (scene) => {
      for (const change of ['lower', 'none'] as const) {
        const client = await scene.connect('kept', kept);
        await client.subscribe({ topic: scene.topic(), qos: 1 });
        await (await scene.connect('other')).publish({ topic: scene.topic() });
        const [first] = await client.take(1);
        if (change === 'none') await client.unsubscribe(scene.topic());
        else await client.subscribe({ topic: scene.topic(), qos: 0 });
        await client.cut();
        await scene.door.settle();
        const again = await scene.connect('kept', back);
        const came = await scene.heard(again);
        assert.deepEqual(
          heard(came).map(({ qos, dup }) => [qos, dup]),
          [[1, true]],
        );
        assert.equal(came[0]?.messageId, first?.messageId);
        await again.send({ cmd: 'puback', messageId: came[0]?.messageId ?? 0 });
        await again.leave({ properties: { sessionExpiryInterval: 0 } });
      }
    },
  },
  {
    clauses: ['3.8.3-3', '4.4.0-1'],
    what: 'a message of QoS 2 that its own client has asked for with QoS 0 alone is not kept for it',
    run: async (scene) => {
      const client = await scene.connect('kept', kept);
      await client.subscribe({ topic: scene.topic(), qos: 0 });
      await client.subscribe({ topic: scene.topic('+'), qos: 2, nl: true, rap: false, rh: 0 });
      await client.publish({ topic: scene.topic(), qos: 2 });
      assert.deepEqual(
        heard(await scene.heard(client)).map(({ qos }) => qos),
        [0],
      );
      await client.cut();
      await scene.door.settle();
      assert.deepEqual(await scene.heard(await scene.connect('kept', back)), []);
    },
  },
  {
    clauses: ['3.1.2-4', '3.1.4-4', '3.2.2-2'],
    what: 'Clean Start takes away a session with what waits in it',
    run: async (scene) => {
      await leaveSession(scene);
      await (await scene.connect('other')).publish({ topic: scene.topic() });
      const clean = await scene.connect('kept', kept);
      assert.equal(clean.connack?.sessionPresent, false);
      await (await scene.connect('other')).publish({ topic: scene.topic() });
      assert.deepEqual(await scene.heard(clean), []);
    },
  },
  {
    clauses: ['4.1.0-2', '3.1.2.11.2'],
    what: 'a session without an expiry ends with its connection, whether it is left or cut',
    run: async (scene) => {
      for (const end of ['leave', 'cut'] as const) {
        const client = await scene.connect('kept', { clean: false });
        await client.subscribe(scene.topic('#'));
        await client[end]();
        assert.equal(await isPresent(scene, { properties: { sessionExpiryInterval: 0 } }), false);
        await (await scene.connect('kept')).leave();
      }
    },
  },
  {
    clauses: ['4.1.0-2'],
    what: 'a session ends when its expiry interval has passed, not before',
    isOnceEnough: true,
    run: async (scene) => {
      const short = { properties: { sessionExpiryInterval: 4 } };
      await leaveSession(scene, short);
      await scene.door.pass(1);
      assert.equal(await isPresent(scene, { ...short, clean: false }), true);
      await (await scene.connect('kept', { ...short, clean: false })).leave();
      await scene.door.pass(6);
      assert.equal(await isPresent(scene), false);
    },
  },
  {
    clauses: ['4.1.0-1'],
    what: 'the interval does not run while the client is connected',
    isOnceEnough: true,
    run: async (scene) => {
      const client = await scene.connect('kept', { properties: { sessionExpiryInterval: 2 } });
      await client.subscribe(scene.topic('#'));
      await scene.door.pass(4);
      assert.deepEqual(await client.deliveries(), []);
      await client.leave();
      assert.equal(await isPresent(scene), true);
    },
  },
  {
    clauses: ['3.1.2.11.2'],
    what: '0xFFFFFFFF keeps a session without an end',
    isOnceEnough: true,
    run: async (scene) => {
      await leaveSession(scene, { properties: { sessionExpiryInterval: 0xffff_ffff } });
      await scene.door.pass(3);
      assert.equal(await isPresent(scene), true);
    },
  },
  {
    clauses: ['3.14.2.2.2'],
    what: 'DISCONNECT may change the expiry: to none, and to another',
    isOnceEnough: true,
    run: async (scene) => {
      const leave = async (sessionExpiryInterval: number) => {
        const client = await scene.connect('kept', kept);
        await client.leave({ properties: { sessionExpiryInterval } });
      };
      await leave(0);
      assert.equal(await isPresent(scene), false);
      await leave(2);
      await scene.door.pass(4);
      assert.equal(await isPresent(scene), false);
    },
  },
  {
    clauses: ['3.14.2.2.2'],
    what: 'a DISCONNECT that gives an expiry to a session without one is a protocol error',
    run: async (scene) => {
      const client = await scene.connect('kept');
      await client.send({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 10 } });
      assert.equal(await client.lastWords('an expiry at the end'), 0x82);
    },
  },
  {
    clauses: ['4.5.0-1'],
    what: 'messages of QoS 1 and 2 wait for who is away, in their order and with their QoS',
    run: async (scene) => {
      await leaveSession(scene);
      const other = await scene.connect('other');
      for (const [n, qos] of ([1, 2, 1, 2] as const).entries())
        await other.publish({ topic: scene.topic(), payload: `${n}`, qos });
      await scene.door.settle();
      const again = await scene.connect('kept', back);
      const came = await again.take(4);
      assert.deepEqual(
        heard(came).map(({ payload, qos, dup }) => [payload, qos, dup]),
        [
          ['0', 1, false],
          ['1', 2, false],
          ['2', 1, false],
          ['3', 2, false],
        ],
      );
      assert.equal(new Set(came.map(({ messageId }) => messageId)).size, 4, '[MQTT-2.2.1-4]');
    },
  },
  {
    clauses: ['4.4.0-1', '3.3.1-1', '4.3.2-3', '4.3.3-3', '4.6.0-1'],
    what: 'what was not acknowledged is sent again with DUP under its packet id, in its order',
    run: async (scene) => {
      const client = await scene.connect('kept', kept);
      await client.subscribe(scene.topic('#'));
      const other = await scene.connect('other');
      for (const [n, qos] of ([1, 2, 1] as const).entries())
        await other.publish({ topic: scene.topic(), payload: `${n}`, qos });
      const first = await client.take(3);
      await client.cut();
      const again = await scene.connect('kept', back);
      const second = await again.take(3);
      assert.deepEqual(
        heard(second),
        heard(first).map((one) => ({ ...one, dup: true })),
      );
      assert.deepEqual(
        second.map(({ messageId }) => messageId),
        first.map(({ messageId }) => messageId),
      );
      assert.deepEqual(await scene.heard(again), []);
    },
  },
  {
    clauses: ['4.4.0-1', '3.3.1-1'],
    what: 'what is retained, was given and was not acknowledged is sent again too',
    run: async (scene) => {
      const other = await scene.connect('other');
      await other.publish({ topic: scene.topic(), retain: true });
      const client = await scene.connect('kept', kept);
      await client.subscribe(scene.topic());
      const first = await client.take(1);
      await client.cut();
      const second = await scene.heard(await scene.connect('kept', back));
      assert.deepEqual(
        second.map(({ messageId }) => messageId),
        first.map(({ messageId }) => messageId),
      );
      assert.equal(heard(second)[0]?.dup, true);
      await other.publish({ topic: scene.topic(), payload: '', retain: true });
    },
  },
  {
    clauses: ['4.4.0-1', '4.3.3-5', '4.3.3-6'],
    what: 'after PUBREC it is PUBREL that is sent again, not the PUBLISH',
    run: async (scene) => {
      const client = await scene.connect('kept', kept);
      await client.subscribe(scene.topic('#'));
      await (await scene.connect('other')).publish({ topic: scene.topic(), qos: 2 });
      const [{ messageId = 0 } = {}] = await client.take(1);
      await client.send({ cmd: 'pubrec', messageId });
      assert.equal((await client.take(1))[0]?.cmd, 'pubrel');
      await client.cut();
      const again = await scene.connect('kept', back);
      const [pubrel] = await again.take(1);
      assert.deepEqual([pubrel?.cmd, pubrel?.messageId], ['pubrel', messageId]);
      await again.send({ cmd: 'pubcomp', messageId });
      assert.deepEqual(await scene.heard(again), []);
      await again.cut();
      assert.deepEqual(await scene.heard(await scene.connect('kept', back)), []);
    },
  },
  {
    clauses: ['4.4.0-2', '4.3.3-4'],
    what: 'a PUBACK or PUBREC of refusal ends a message: it is not sent again',
    run: async (scene) => {
      const client = await scene.connect('kept', kept);
      await client.subscribe(scene.topic('#'));
      const other = await scene.connect('other');
      await other.publish({ topic: scene.topic(), qos: 1 });
      await other.publish({ topic: scene.topic(), qos: 2 });
      for (const { messageId = 0, ...came } of await client.take(2))
        await client.send({ cmd: 'qos' in came && came.qos === 1 ? 'puback' : 'pubrec', messageId, reasonCode: 0x80 });
      assert.deepEqual(await client.deliveries(), [], 'no PUBREL');
      await client.cut();
      assert.deepEqual(await scene.heard(await scene.connect('kept', back)), []);
    },
  },
  {
    clauses: ['4.3.3-10', '4.4.0-1'],
    what: 'the packet ids of QoS 2 that wait for PUBREL are remembered over a lost connection',
    run: async (scene) => {
      const listener = await scene.listener();
      const publish = { cmd: 'publish', topic: scene.topic(), payload: 'once', qos: 2, retain: false } as const;
      const client = await scene.connect('kept', kept);
      await client.send({ ...publish, messageId: 9, dup: false });
      await client.answer('pubrec');
      await client.cut();
      const again = await scene.connect('kept', back);
      await again.send({ ...publish, messageId: 9, dup: true });
      assert.equal((await again.answer('pubrec')).messageId, 9);
      await again.send({ cmd: 'pubrel', messageId: 9 });
      assert.equal((await again.answer('pubcomp')).messageId, 9);
      assert.equal((await scene.heard(listener)).length, 1);
    },
  },
  {
    clauses: ['3.1.3-2'],
    what: 'a session is found from 3.1.1, and from version 5 again',
    run: async (scene) => {
      const old = await scene.connect('kept', { version: 4, clean: false });
      await old.subscribe(scene.topic('#'));
      await old.leave();
      await (await scene.connect('other')).publish({ topic: scene.topic(), payload: 'for both' });
      await scene.door.settle();
      const again = await scene.connect('kept', back);
      assert.equal(again.connack?.sessionPresent, true);
      const came = await again.take(1);
      assert.equal(heard(came)[0]?.payload, 'for both');
      await again.acknowledge(came);
      await again.leave();
      const older = await scene.connect('kept', { version: 4, clean: false });
      assert.equal(older.connack?.sessionPresent, true);
      assert.deepEqual(await scene.heard(older), []);
    },
  },
];
