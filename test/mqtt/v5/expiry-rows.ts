// The expiry of messages in MQTT 5 (3.3.2.3.3).
import assert from 'node:assert/strict';
import { heard, propertiesOf } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

const kept = { properties: { sessionExpiryInterval: 1_000 } };

async function leaveSession(scene: Scene): Promise<void> {
  const away = await scene.connect('away', kept);
  await away.subscribe(scene.topic('#'));
  await away.leave();
}

/** What is left of each message's time. */
const secondsOf = (came: Parameters<typeof propertiesOf>[0]) =>
  propertiesOf(came).map((properties) => properties?.messageExpiryInterval);

export const expiryRows: readonly ClauseRow[] = [
  {
    clauses: ['3.3.2-6'],
    what: 'a message that did not wait keeps its expiry',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await scene.connect('says');
      await client.publish({ topic: scene.topic(), properties: { messageExpiryInterval: 100 } });
      await client.publish({ topic: scene.topic(), properties: { messageExpiryInterval: 0xffff_ffff } });
      await client.publish({ topic: scene.topic() });
      const [first = 0, second = 0, third] = secondsOf(await listener.take(3));
      assert.ok(first >= 99 && first <= 100 && second >= 0xffff_fffe && third === undefined);
    },
  },
  {
    clauses: ['3.3.2-5', '3.3.2-6'],
    what: 'what waits is delivered with the seconds that remain, and not at all when they have passed',
    isOnceEnough: true,
    run: async (scene) => {
      await leaveSession(scene);
      const client = await scene.connect('says');
      const all = { short: 2, long: 100, none: undefined };
      for (const [payload, seconds] of Object.entries(all)) {
        const properties = seconds === undefined ? {} : { properties: { messageExpiryInterval: seconds } };
        await client.publish({ topic: scene.topic(), payload, ...properties });
      }
      await scene.door.settle();
      await scene.door.pass(4);
      const again = await scene.connect('away', { ...kept, clean: false });
      const came = await scene.heard(again);
      assert.deepEqual(
        heard(came).map(({ payload }) => payload),
        ['long', 'none'],
      );
      const [long = 0, none] = secondsOf(came);
      assert.ok(long >= 94 && long <= 96 && none === undefined, `${long}`);
    },
  },
  {
    clauses: ['3.3.2-5', '3.3.2-6'],
    what: 'what is retained is given with the seconds that remain, and not at all when they have passed',
    isOnceEnough: true,
    run: async (scene) => {
      const client = await scene.connect('says');
      await client.publish({ topic: scene.topic('a'), retain: true, properties: { messageExpiryInterval: 2 } });
      await client.publish({ topic: scene.topic('b'), retain: true, properties: { messageExpiryInterval: 100 } });
      await scene.door.pass(4);
      const came = await scene.heard(await scene.listener());
      const [left = 0, ...more] = secondsOf(came);
      assert.ok(more.length === 0 && left >= 94 && left <= 96, `${left}`);
      for (const name of ['a', 'b']) await client.publish({ topic: scene.topic(name), payload: '', retain: true });
    },
  },
  {
    clauses: ['4.3.3-7', '4.3.3-13'],
    what: 'a message that was sent goes on to its end, though its time has passed',
    isOnceEnough: true,
    run: async (scene) => {
      const client = await scene.connect('away', kept);
      await client.subscribe(scene.topic('#'));
      const says = await scene.connect('says');
      await says.publish({ topic: scene.topic(), qos: 2, properties: { messageExpiryInterval: 2 } });
      const [{ messageId = 0 } = {}] = await client.take(1);
      await scene.door.pass(4);
      await client.send({ cmd: 'pubrec', messageId });
      assert.equal((await client.take(1))[0]?.cmd, 'pubrel');
      await client.send({ cmd: 'pubcomp', messageId });
      assert.deepEqual(await scene.heard(client), []);
    },
  },
  {
    clauses: ['3.3.2-5'],
    what: 'to a client of 3.1.1 too an expired message is not delivered, one that is not is',
    isOnceEnough: true,
    run: async (scene) => {
      const old = await scene.connect('old', { version: 4, clean: false });
      await old.subscribe(scene.topic('#'));
      await old.leave();
      const client = await scene.connect('says');
      await client.publish({ topic: scene.topic(), payload: 'short', properties: { messageExpiryInterval: 2 } });
      await client.publish({ topic: scene.topic(), payload: 'long', properties: { messageExpiryInterval: 100 } });
      await scene.door.settle();
      await scene.door.pass(4);
      const again = await scene.connect('old', { version: 4, clean: false });
      assert.deepEqual(
        heard(await scene.heard(again)).map(({ payload }) => payload),
        ['long'],
      );
    },
  },
  {
    clauses: ['3.3.2-6', '3.1.2-5'],
    what: 'several waits count together',
    isOnceEnough: true,
    run: async (scene) => {
      await leaveSession(scene);
      await (await scene.connect('says')).publish({ topic: scene.topic(), properties: { messageExpiryInterval: 100 } });
      await scene.door.settle();
      await scene.door.pass(2);
      // It goes without having taken the message.
      await (await scene.connect('away', { ...kept, clean: false })).cut();
      await scene.door.pass(2);
      const again = await scene.connect('away', { ...kept, clean: false });
      const [left = 0] = secondsOf(await again.take(1));
      assert.ok(left >= 94 && left <= 98, `${left}`);
    },
  },
];
