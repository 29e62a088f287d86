// PUBACK, PUBREC, PUBREL and PUBCOMP of MQTT 5: their reason codes both ways (3.4 to 3.7, 4.3).
import assert from 'node:assert/strict';
import { packet } from '../../support/mqtt/packet-bytes.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

export const acknowledgementRows: readonly ClauseRow[] = [
  {
    clauses: ['3.4.2-1', '3.5.2-1', '3.7.2-1', '4.3.2-4', '4.3.3-8', '4.3.3-11'],
    what: 'a message that is taken: success, or no matching subscribers',
    run: async (scene) => {
      const client = await scene.connect('says');
      for (const subscribed of [false, true]) {
        if (subscribed) await client.subscribe({ topic: scene.topic(), qos: 0 });
        for (const qos of [1, 2] as const) {
          const first = await client.publish({ topic: scene.topic(), qos });
          const { reasonCode = 0 } = first as { readonly reasonCode?: number };
          assert.ok(reasonCode === 0 || (!subscribed && reasonCode === 0x10), `${reasonCode}`);
        }
      }
    },
  },
  {
    clauses: ['3.6.2-1', '3.7.2-1'],
    what: 'PUBREL of a packet id that nobody knows: packet identifier not found',
    run: async (scene) => {
      const client = await scene.connect('unknown');
      await client.send({ cmd: 'pubrel', messageId: 99 });
      const pubcomp = await client.answer('pubcomp');
      assert.deepEqual([pubcomp.messageId, pubcomp.reasonCode], [99, 0x92]);
    },
  },
  {
    clauses: ['3.6.2-1', '3.5.2-1'],
    what: 'PUBREC of a packet id that nobody knows: PUBREL with packet identifier not found',
    run: async (scene) => {
      const client = await scene.connect('unknown');
      await client.send({ cmd: 'pubrec', messageId: 99 });
      const pubrel = (await client.take(1))[0];
      assert.ok(pubrel?.cmd === 'pubrel');
      assert.deepEqual([pubrel.messageId, pubrel.reasonCode], [99, 0x92]);
    },
  },
  {
    clauses: ['4.3.2', '4.3.3'],
    what: 'a PUBACK and a PUBCOMP that nobody waits for change nothing',
    run: async (scene) => {
      const client = await scene.connect('unasked');
      await client.send({ cmd: 'puback', messageId: 5 }, { cmd: 'pubcomp', messageId: 5 });
      assert.deepEqual(await client.deliveries(), []);
    },
  },
  ...([0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99] as const).map((code) => ({
    clauses: ['3.4.2-1', '3.5.2-1', '4.4.0-2'],
    what: `the server takes reason ${code.toString(16)} in PUBACK and PUBREC, short and with properties`,
    run: async (scene: Scene) => {
      const client = await scene.connect('refuses');
      await client.subscribe(scene.topic());
      const publisher = await scene.connect('says');
      for (const qos of [1, 2] as const)
        for (const rest of [[], [0], [4, 0x1f, 0, 1, 0x78]]) {
          await publisher.publish({ topic: scene.topic(), qos });
          const [{ messageId = 0 } = {}] = await client.take(1);
          await client.send(packet(qos === 1 ? 0x40 : 0x50, [messageId >> 8, messageId & 255, code, ...rest]));
          if (qos === 1 || code >= 0x80) continue;
          const pubrel = (await client.take(1))[0];
          assert.deepEqual([pubrel?.cmd, pubrel?.messageId], ['pubrel', messageId]);
          await client.send({ cmd: 'pubcomp', messageId });
        }
      assert.deepEqual(await scene.heard(client), []);
    },
  })),
  {
    clauses: ['3.6.2-1'],
    what: 'PUBREL with a reason and properties ends a message of QoS 2 like one without',
    run: async (scene) => {
      const client = await scene.connect('says');
      const publish = { cmd: 'publish', topic: scene.topic(), payload: '', qos: 2, retain: false, dup: false } as const;
      for (const rest of [[0], [0, 0], [0, 4, 0x1f, 0, 1, 0x78], [0x92]]) {
        await client.send({ ...publish, messageId: 3 });
        await client.answer('pubrec');
        await client.send(packet(0x62, [0, 3, ...rest]));
        const pubcomp = await client.answer('pubcomp');
        assert.deepEqual([pubcomp.messageId, pubcomp.reasonCode ?? 0], [3, 0]);
      }
    },
  },
  {
    clauses: ['3.4.2.1', '3.5.2.1', '3.7.2.1'],
    what: 'success without properties is said in two bytes',
    run: async (scene) => {
      const client = await scene.connect('says');
      await client.subscribe({ topic: scene.topic(), qos: 0 });
      assert.equal(
        (await client.publish({ topic: scene.topic(), messageId: 0x1234 }))?.raw.toString('hex'),
        '40021234',
      );
      assert.equal(
        (await client.publish({ topic: scene.topic(), messageId: 0x4321, qos: 2 }))?.raw.toString('hex'),
        '50024321',
      );
    },
  },
];
