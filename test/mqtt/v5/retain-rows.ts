// Retained messages of MQTT 5, and how a subscription wants them (3.3.1.3, 3.8.3.1).
import assert from 'node:assert/strict';
import { heard, type PacketClient } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

/** What a new subscriber of all topics of the row is given at once. */
async function retained(scene: Scene): Promise<(readonly [payload: string, retain: boolean])[]> {
  const late = await scene.listener();
  return heard(await scene.heard(late)).map(({ payload, retain }) => [payload, retain]);
}

/** A row that leaves nothing retained behind. */
const row = (clauses: readonly string[], what: string, run: (scene: Scene, client: PacketClient) => Promise<void>) => ({
  clauses,
  what,
  run: async (scene: Scene) => {
    const client = await scene.connect('retains');
    await run(scene, client);
    await client.publish({ topic: scene.topic(), payload: '', retain: true });
  },
});

export const retainRows: readonly ClauseRow[] = [
  row(
    ['3.3.1-5', '3.3.1-9'],
    'a message with RETAIN is given to who subscribes later, with RETAIN',
    async (scene, client) => {
      await client.publish({ topic: scene.topic(), payload: 'one', retain: true });
      await client.publish({ topic: scene.topic(), payload: 'two', retain: true });
      assert.deepEqual(await retained(scene), [['two', true]]);
    },
  ),
  row(['3.3.1-5'], 'a message of QoS 0 with RETAIN takes the place of one of QoS 2', async (scene, client) => {
    await client.publish({ topic: scene.topic(), payload: 'two', qos: 2, retain: true });
    await client.publish({ topic: scene.topic(), payload: 'nought', qos: 0, retain: true });
    await client.deliveries();
    await scene.door.settle();
    const late = await scene.listener();
    assert.deepEqual(
      heard(await late.take(1)).map(({ payload, qos }) => [payload, qos]),
      [['nought', 0]],
    );
  }),
  row(['3.3.1-6', '3.3.1-7'], 'one of no bytes takes it away, and is delivered', async (scene, client) => {
    const listener = await scene.listener();
    await client.publish({ topic: scene.topic(), payload: 'one', retain: true });
    await client.publish({ topic: scene.topic(), payload: '', retain: true });
    assert.deepEqual(
      heard(await listener.take(2)).map(({ payload }) => payload),
      ['one', ''],
    );
    assert.deepEqual(await retained(scene), []);
  }),
  row(
    ['3.8.3-3'],
    'No Local holds for what its own client has retained, by the subscriptions that ask for it',
    async (scene, client) => {
      await client.publish({ topic: scene.topic('a'), payload: 'own', retain: true });
      const other = await scene.connect('other');
      await other.publish({ topic: scene.topic('b'), payload: 'of the other', retain: true });
      await client.subscribe({ topic: scene.topic('+'), qos: 1, nl: true });
      const words = async () => heard(await scene.heard(client)).map(({ payload }) => payload);
      assert.deepEqual(await words(), ['of the other']);
      await client.subscribe({ topic: scene.topic('a'), qos: 1 });
      assert.deepEqual(await words(), ['own']);
      for (const topic of ['a', 'b']) await other.publish({ topic: scene.topic(topic), payload: '', retain: true });
    },
  ),
  row(
    ['3.8.4-8'],
    'each SUBSCRIBE is given what is retained in the QoS that it was granted, though another came behind it',
    async (scene, client) => {
      await client.publish({ topic: scene.topic(), payload: 'one', qos: 2, retain: true });
      for (const granted of [
        [1, 0],
        [0, 2],
        [2, 1, 0],
      ] as const) {
        const late = await scene.connect('late');
        const subscribes = granted.map((qos, n) => ({
          ...{ cmd: 'subscribe' as const, messageId: n + 1 },
          subscriptions: [{ topic: scene.topic(), qos }],
        }));
        await late.send(...subscribes);
        await late.answers(granted.length);
        assert.deepEqual(
          heard(await late.take(granted.length)).map(({ qos }) => qos),
          granted,
        );
        await late.leave();
      }
    },
  ),
  row(['3.8.4-8', '3.3.4-2'], 'of several filters of one SUBSCRIBE the highest QoS counts', async (scene, client) => {
    await client.publish({ topic: scene.topic(), payload: 'one', qos: 2, retain: true });
    const late = await scene.connect('late');
    await late.subscribe([
      { topic: scene.topic('#'), qos: 0 },
      { topic: scene.topic(), qos: 1 },
    ]);
    const came = heard(await scene.heard(late)).map(({ qos }) => qos);
    assert.equal(Math.max(...came), 1);
    await late.leave();
  }),
  row(['3.3.1-8'], 'a message without RETAIN is not retained, and leaves what is', async (scene, client) => {
    await client.publish({ topic: scene.topic('other'), payload: 'never' });
    await client.publish({ topic: scene.topic(), payload: 'one', retain: true });
    await client.publish({ topic: scene.topic(), payload: 'two' });
    await client.publish({ topic: scene.topic(), payload: '' });
    assert.deepEqual(await retained(scene), [['one', true]]);
  }),
  row(
    ['3.3.1-9'],
    'Retain Handling 0: with each SUBSCRIBE, though the subscription is there',
    async (scene, client) => {
      await client.publish({ topic: scene.topic(), retain: true });
      for (let n = 0; n < 2; n++) {
        await client.subscribe({ topic: scene.topic(), qos: 1, rh: 0 });
        assert.equal((await scene.heard(client)).length, 1);
      }
    },
  ),
  row(['3.3.1-10'], 'Retain Handling 1: where the subscription is new', async (scene, client) => {
    await client.publish({ topic: scene.topic(), retain: true });
    const seen: number[] = [];
    for (const step of ['new', 'again', 'other options', 'removed', 'new'] as const) {
      if (step === 'removed') assert.deepEqual(await client.unsubscribe(scene.topic()), [0]);
      else await client.subscribe({ topic: scene.topic(), qos: step === 'other options' ? 0 : 1, rh: 1 });
      seen.push((await scene.heard(client)).length);
    }
    assert.deepEqual(seen, [1, 0, 0, 0, 1]);
  }),
  row(['3.3.1-11'], 'Retain Handling 2: never', async (scene, client) => {
    await client.publish({ topic: scene.topic(), retain: true });
    await client.subscribe({ topic: scene.topic(), qos: 1, rh: 2 });
    assert.deepEqual(await scene.heard(client), []);
  }),
  ...([false, true] as const).flatMap((rap) =>
    ([false, true] as const).map((retain) =>
      row(
        [rap ? '3.3.1-13' : '3.3.1-12'],
        `RETAIN ${Number(retain)} reaches a subscription ${rap ? 'with' : 'without'} Retain As Published as ${Number(rap && retain)}`,
        async (scene, client) => {
          await client.subscribe({ topic: scene.topic(), qos: 1, rap });
          await client.publish({ topic: scene.topic(), retain });
          assert.deepEqual(
            heard(await scene.heard(client)).map((one) => one.retain),
            [rap && retain],
          );
        },
      ),
    ),
  ),
  row(
    ['3.3.1-13'],
    'what waits for who is away keeps RETAIN where the subscription wants it as published',
    async (scene, client) => {
      const kept = { properties: { sessionExpiryInterval: 1_000 } };
      const away = await scene.connect('away', kept);
      await away.subscribe({ topic: scene.topic(), qos: 1, rap: true });
      await away.leave();
      await client.publish({ topic: scene.topic(), payload: 'kept', retain: true });
      await client.publish({ topic: scene.topic(), payload: 'not', retain: false });
      await scene.door.settle();
      const again = await scene.connect('away', { ...kept, clean: false });
      assert.deepEqual(
        heard(await again.take(2)).map(({ payload, retain }) => [payload, retain]),
        [
          ['kept', true],
          ['not', false],
        ],
      );
    },
  ),
  row(['3.3.1.3'], 'a retained message is given with the identifier of the subscription', async (scene, client) => {
    await client.publish({ topic: scene.topic(), retain: true });
    await client.subscribe({ topic: scene.topic(), qos: 1 }, 77);
    const [came] = await scene.heard(client);
    assert.equal(came?.cmd === 'publish' && came.properties?.subscriptionIdentifier, 77);
  }),
  row(['3.8.4-4'], 'a subscription made again loses no message', async (scene, client) => {
    const publisher = await scene.connect('says');
    for (let n = 0; n < 5; n++) {
      await client.subscribe({ topic: scene.topic(), qos: 1 });
      await publisher.publish({ topic: scene.topic(), payload: `${n}` });
    }
    assert.deepEqual(
      heard(await scene.heard(client)).map(({ payload }) => payload),
      ['0', '1', '2', '3', '4'],
    );
  }),
];
