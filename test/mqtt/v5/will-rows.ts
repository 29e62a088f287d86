// Wills of MQTT 5: when they are published, how, and how long they wait (3.1.2.5, 3.1.3.2, 3.14.4).
import assert from 'node:assert/strict';
import type { ConnectOptions, PacketClient } from '../../support/mqtt/packet-client.ts';
import { heard, propertiesOf } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

type Will = NonNullable<ConnectOptions['will']>;

const kept = { sessionExpiryInterval: 1_000 };

async function connectWith(scene: Scene, will: Partial<Will>, options: ConnectOptions = {}): Promise<PacketClient> {
  const whole = { topic: scene.topic('will'), payload: 'gone', qos: 1 as const, retain: false, ...will };
  return scene.connect('dying', { will: { ...whole, payload: Buffer.from(whole.payload) }, ...options });
}

const wordsOf = (came: Parameters<typeof heard>[0]) => heard(came).map(({ payload }) => payload);

export const willRows: readonly ClauseRow[] = [
  ...([0, 1, 2] as const).map((qos) => ({
    clauses: ['3.1.2-8', '3.1.2-12', '3.1.2-14'],
    what: `a will of QoS ${qos} is published when the connection is lost, not retained`,
    run: async (scene: Scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, { qos })).cut();
      assert.deepEqual(heard(await listener.take(1)), [
        { topic: scene.topic('will'), payload: 'gone', qos, retain: false, dup: false },
      ]);
      assert.deepEqual(await scene.heard(await scene.listener()), [], 'nothing is retained');
    },
  })),
  {
    clauses: ['3.1.2-15'],
    what: 'a will is retained where it says so',
    run: async (scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, { retain: true })).cut();
      await listener.take(1);
      const late = await scene.listener();
      const came = await late.take(1);
      assert.deepEqual([wordsOf(came), heard(came)[0]?.retain], [['gone'], true]);
      await (await scene.connect('tidy')).publish({ topic: scene.topic('will'), payload: '', retain: true });
    },
  },
  {
    clauses: ['3.14.4-3', '3.1.2-10'],
    what: 'DISCONNECT takes the will away',
    run: async (scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, {})).leave();
      assert.deepEqual(await scene.heard(listener), []);
    },
  },
  {
    clauses: ['3.14.2.1', '3.1.2-8'],
    what: 'DISCONNECT with will message (0x04) publishes it',
    run: async (scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, {})).leave({ reasonCode: 0x04 });
      assert.deepEqual(wordsOf(await listener.take(1)), ['gone']);
    },
  },
  ...[0x80, 0x98].map((reasonCode) => ({
    clauses: ['3.1.2-8', '3.1.2-10'],
    what: `DISCONNECT with the error ${reasonCode.toString(16)} publishes it: only 0x00 takes it away`,
    run: async (scene: Scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, {})).leave({ reasonCode });
      assert.deepEqual(wordsOf(await listener.take(1)), ['gone']);
    },
  })),
  {
    clauses: ['3.1.2-8', '4.13.1-1'],
    what: 'a protocol error publishes the will',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await connectWith(scene, {});
      await client.send({ cmd: 'auth', reasonCode: 0x19, properties: { authenticationMethod: 'x' } });
      await client.lastWords('an AUTH');
      assert.deepEqual(wordsOf(await listener.take(1)), ['gone']);
    },
  },
  {
    clauses: ['3.1.2-10'],
    what: 'a will is published once, and another connection without one leaves none',
    run: async (scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, {}, { properties: kept })).cut();
      await listener.acknowledge(await listener.take(1));
      await (await scene.connect('dying', { clean: false, properties: kept })).cut();
      assert.deepEqual(await scene.heard(listener), []);
    },
  },
  {
    clauses: ['3.1.3-9'],
    what: 'a will with a delay is not published where its client comes back in time',
    run: async (scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, { properties: { willDelayInterval: 2 } }, { properties: kept })).cut();
      assert.deepEqual(await scene.heard(listener), []);
      const again = await scene.connect('dying', { clean: false, properties: kept });
      await scene.door.pass(3);
      await again.leave();
      assert.deepEqual(await scene.heard(listener), []);
    },
    isOnceEnough: true,
  },
  {
    clauses: ['3.1.3.2.2'],
    what: 'a will with a delay is published when that has passed',
    run: async (scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, { properties: { willDelayInterval: 2 } }, { properties: kept })).cut();
      assert.deepEqual(await scene.heard(listener), []);
      await scene.door.pass(3);
      assert.deepEqual(wordsOf(await listener.take(1)), ['gone']);
    },
    isOnceEnough: true,
  },
  {
    clauses: ['3.1.3.2.2', '3.1.2-8'],
    what: 'a will with a delay is published when the session ends before: at once, where it ends with its connection',
    run: async (scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, { properties: { willDelayInterval: 1_000 } })).cut();
      assert.deepEqual(wordsOf(await listener.take(1)), ['gone']);
    },
  },
  {
    clauses: ['3.1.3.2.2', '3.1.4-4'],
    what: 'a will with a delay is published when a Clean Start ends its session',
    run: async (scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, { properties: { willDelayInterval: 1_000 } }, { properties: kept })).cut();
      assert.deepEqual(await scene.heard(listener), []);
      await scene.connect('dying');
      assert.deepEqual(wordsOf(await listener.take(1)), ['gone']);
    },
  },
  {
    clauses: ['3.1.2-7', '3.1.4-3'],
    what: 'a will without a delay is published when another connection takes over',
    run: async (scene) => {
      const listener = await scene.listener();
      await connectWith(scene, {}, { properties: kept });
      await scene.connect('dying', { clean: false, properties: kept });
      assert.deepEqual(wordsOf(await listener.take(1)), ['gone']);
    },
  },
  {
    clauses: ['3.1.3-10', '3.1.3.2'],
    what: 'the properties of a will are those of its message',
    run: async (scene) => {
      const listener = await scene.listener();
      const properties = {
        payloadFormatIndicator: true,
        contentType: 'text/plain',
        responseTopic: scene.topic('answer'),
        correlationData: Buffer.from([1, 2, 0]),
        userProperties: { a: ['2', '1'], b: 'x' },
      };
      await (await connectWith(scene, { properties: { ...properties, messageExpiryInterval: 600 } })).cut();
      const [came = {}] = propertiesOf(await listener.take(1));
      const { messageExpiryInterval = 0, ...others } = came;
      assert.deepEqual(structuredClone(others), structuredClone(properties));
      assert.ok(messageExpiryInterval > 590 && messageExpiryInterval <= 600);
    },
  },
  {
    clauses: ['3.1.2-9'],
    what: 'a will of no bytes is a message of no bytes',
    run: async (scene) => {
      const listener = await scene.listener();
      await (await connectWith(scene, { payload: '' })).cut();
      assert.deepEqual(wordsOf(await listener.take(1)), ['']);
    },
  },
];
