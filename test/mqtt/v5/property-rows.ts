// Properties of PUBLISH that pass through unaltered (3.3.2.3), to version 5 as they are, to older versions not at all.
import assert from 'node:assert/strict';
import { packet } from '../../support/mqtt/packet-bytes.ts';
import { heard, propertiesOf } from '../../support/mqtt/packet-client.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

const kept = { properties: { sessionExpiryInterval: 1_000 } };

const passed: Readonly<Record<string, readonly [clause: string, properties: object]>> = {
  'payload format indicator 1': ['3.3.2-4', { payloadFormatIndicator: true }],
  'payload format indicator 0': ['3.3.2-4', { payloadFormatIndicator: false }],
  'a response topic': ['3.3.2-15', { responseTopic: 'answers/to/ü' }],
  'correlation data': ['3.3.2-16', { correlationData: Buffer.from([0, 1, 255]) }],
  'correlation data of no bytes': ['3.3.2-16', { correlationData: Buffer.alloc(0) }],
  'a content type': ['3.3.2-20', { contentType: 'application/json; charset=ü' }],
  'a content type of no characters': ['3.3.2-20', { contentType: '' }],
  'user properties': ['3.3.2-17', { userProperties: { a: ['1', '2', '1'], ü: '', '': 'no name' } }],
};

/** Several at once, their order and repetitions one by one. */
const userProperties: readonly (readonly [string, string])[] = [
  ['b', '1'],
  ['a', '2'],
  ['b', '1'],
  ['', ''],
  ['a', '0'],
];

function textBytes(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
}

const userPropertyBytes = Buffer.concat(
  userProperties.map(([name, value]) => Buffer.concat([Buffer.from([0x26]), textBytes(name), textBytes(value)])),
);

export const propertyRows: readonly ClauseRow[] = [
  ...Object.entries(passed).flatMap(([what, [clause, properties]]) => [
    {
      clauses: [clause, '3.3.2.3'],
      what: `${what}, to who is there`,
      run: async (scene: Scene) => {
        const listener = await scene.listener();
        const client = await scene.connect('says');
        for (const qos of [0, 1, 2] as const) {
          await client.publish({ topic: scene.topic(), qos, properties });
          assert.deepEqual(structuredClone(propertiesOf(await listener.take(1))), structuredClone([properties]));
        }
      },
    },
    {
      clauses: [clause, '3.3.2.3'],
      what: `${what}, of what is retained, and of what waits`,
      run: async (scene: Scene) => {
        const away = await scene.connect('away', kept);
        await away.subscribe(scene.topic('#'));
        await away.leave();
        const client = await scene.connect('says');
        await client.publish({ topic: scene.topic(), qos: 1, retain: true, properties });
        await scene.door.settle();
        const again = await scene.connect('away', { ...kept, clean: false });
        assert.deepEqual(structuredClone(propertiesOf(await again.take(1))), structuredClone([properties]));
        const late = await scene.listener();
        assert.deepEqual(structuredClone(propertiesOf(await late.take(1))), structuredClone([properties]));
        await client.publish({ topic: scene.topic(), payload: '', retain: true });
      },
    },
  ]),
  {
    clauses: ['3.3.2-18'],
    what: 'user properties keep their order, also those of one name',
    run: async (scene) => {
      const listener = await scene.listener();
      const client = await scene.connect('says');
      const topic = scene.topic();
      await client.send(packet(0x32, topic, [0, 9], [userPropertyBytes.length], userPropertyBytes, Buffer.from('x')));
      await client.answer('puback');
      const [came] = await listener.take(1);
      assert.ok(came?.raw.includes(userPropertyBytes), came?.raw.toString('hex'));
    },
  },
  {
    clauses: ['3.3.2-18'],
    what: 'user properties keep their order in what is retained and in what waits',
    run: async (scene) => {
      const away = await scene.connect('away', kept);
      await away.subscribe(scene.topic('#'));
      await away.leave();
      const client = await scene.connect('says');
      const topic = scene.topic();
      await client.send(packet(0x33, topic, [0, 9], [userPropertyBytes.length], userPropertyBytes, Buffer.from('x')));
      await client.answer('puback');
      await scene.door.settle();
      const again = await scene.connect('away', { ...kept, clean: false });
      for (const listener of [again, await scene.listener()])
        assert.ok((await listener.take(1))[0]?.raw.includes(userPropertyBytes));
      await client.publish({ topic, payload: '', retain: true });
    },
  },
  {
    clauses: ['3.3.2.3'],
    what: 'nothing of them reaches a client of 3.1 or 3.1.1, which gets the payload',
    run: async (scene) => {
      for (const version of [3, 4] as const) {
        const old = await scene.listener({ version });
        const client = await scene.connect('says');
        const properties = { contentType: 'text/plain', userProperties: { a: 'b' }, correlationData: Buffer.from('c') };
        await client.publish({ topic: scene.topic(), qos: 0, payload: 'for all', properties });
        const [came] = await old.take(1);
        assert.ok(came !== undefined);
        assert.equal(heard([came])[0]?.payload, 'for all');
        assert.ok(!came.raw.includes('text/plain'));
        await old.cut();
      }
    },
  },
  {
    clauses: ['4.10.1'],
    what: 'a request and its response, by response topic and correlation data',
    run: async (scene) => {
      const asks = await scene.connect('asks');
      const answers = await scene.connect('answers');
      await asks.subscribe(scene.topic('answer'));
      await answers.subscribe(scene.topic('question'));
      const properties = { responseTopic: scene.topic('answer'), correlationData: Buffer.from('42') };
      await asks.publish({ topic: scene.topic('question'), payload: '6 × 7?', properties });
      const [question] = await answers.take(1);
      assert.ok(question?.cmd === 'publish');
      const { responseTopic = '', correlationData = Buffer.alloc(0) } = question.properties ?? {};
      await answers.publish({ topic: responseTopic, payload: '42', properties: { correlationData } });
      const [answer] = await asks.take(1);
      assert.ok(answer?.cmd === 'publish');
      assert.deepEqual([`${answer.payload}`, `${answer.properties?.correlationData}`], ['42', '42']);
    },
  },
];
