// CONNECT and CONNACK of MQTT 5 (3.1, 3.2), and enhanced authentication, which is refused (4.12).
import assert from 'node:assert/strict';
import { connectOf } from '../../support/mqtt/packet-bytes.ts';
import { PacketClient } from '../../support/mqtt/packet-client.ts';
import { password } from '../../support/people.ts';
import type { ClauseRow, Scene } from './clause-rows.ts';

export const connectRows: readonly ClauseRow[] = [
  {
    clauses: ['3.1.4-5', '3.2.0-1', '3.2.2-1', '3.2.2-2'],
    what: 'a CONNECT is answered by a CONNACK first, with no session and no reserved bit',
    run: async (scene) => {
      const client = await scene.open();
      await client.send(client.connectPacket({ clientId: scene.id() }), { cmd: 'pingreq' });
      const connack = await client.answer('connack');
      assert.deepEqual([connack.reasonCode, connack.raw[2]], [0, 0]);
      await client.answer('pingresp');
    },
  },
  {
    clauses: ['3.2.2.3', '3.2.2-9', '3.2.2-17'],
    what: 'CONNACK tells what the server takes: all of MQTT 5, and how much of it',
    run: async (scene) => {
      const { connack } = await scene.connect('told');
      const { maximumQoS, retainAvailable = true, ...more } = connack?.properties ?? {};
      const { wildcardSubscriptionAvailable: wildcards = true, sharedSubscriptionAvailable: shared = true } = more;
      const { subscriptionIdentifiersAvailable: identifiers = true, topicAliasMaximum = 0 } = more;
      assert.deepEqual([maximumQoS, retainAvailable], [undefined, true]);
      assert.deepEqual([wildcards, shared, identifiers], [true, true, true]);
      assert.ok(topicAliasMaximum > 0);
      assert.notEqual(more.receiveMaximum, 0);
      assert.notEqual(more.maximumPacketSize, 0);
      assert.equal(more.assignedClientIdentifier, undefined, 'it has a client id');
      assert.equal(more.sessionExpiryInterval ?? 0, 0);
    },
  },
  {
    clauses: ['3.1.3-6', '3.1.3-7', '3.2.2-16'],
    what: 'an empty client id is given one that nobody has, under which the session is found again',
    run: async (scene) => {
      const first = await scene.connect('', { clientId: '', properties: { sessionExpiryInterval: 1_000 } });
      const second = await scene.connect('', { clientId: '' });
      const [one = '', two = ''] = [first, second].map(({ connack }) => connack?.properties?.assignedClientIdentifier);
      assert.ok(one !== '' && two !== '' && one !== two, `${one}, ${two}`);
      await first.leave();
      const again = await scene.connect('', { clientId: one, clean: false });
      assert.equal(again.connack?.sessionPresent, true);
      assert.equal(again.connack?.properties?.assignedClientIdentifier, undefined);
    },
  },
  {
    clauses: ['3.1.3-3'],
    what: 'an empty client id is given one without Clean Start too',
    run: async (scene) => {
      const client = await scene.open();
      await client.send(connectOf({ level: 5, flags: 0xc0 }, [0], '', 'owner', password));
      const connack = await client.answer('connack');
      assert.deepEqual(
        [connack.sessionPresent, typeof connack.properties?.assignedClientIdentifier],
        [false, 'string'],
      );
    },
  },
  {
    clauses: ['3.1.3-5', '1.5.4-3'],
    what: 'client ids of all letters and digits, and with U+FEFF, which makes another one',
    run: async (scene) => {
      const all = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
      for (const clientId of [all.slice(0, 23), all.slice(23, 46), all.slice(46)])
        await scene.connect('', { clientId });
      const first = await scene.connect('marked');
      await scene.connect('', { clientId: `\uFEFF${scene.id('marked')}` });
      assert.deepEqual(await first.deliveries(), [], 'is connected still');
    },
  },
  {
    clauses: ['3.1.0-2', '4.13.1-1'],
    what: 'a second CONNECT is a protocol error',
    run: async (scene) => {
      const client = await scene.connect('twice');
      await client.send(client.connectPacket({ clientId: scene.id('twice') }));
      assert.equal(await client.lastWords('a second CONNECT'), 0x82);
    },
  },
  {
    clauses: ['3.1.4-3', '3.1.3-2'],
    what: 'a second connection of a client id takes over: the first is told so and closed',
    run: async (scene) => {
      const first = await scene.connect('same');
      const second = await scene.connect('same');
      assert.equal(await first.lastWords('taken over'), 0x8e);
      assert.deepEqual(await second.deliveries(), []);
    },
  },
  ...([3, 4] as const).flatMap((version) => [
    {
      clauses: ['3.1.4-3'],
      what: `a connection of version 5 takes over one of level ${version}, which is told nothing`,
      run: async (scene: Scene) => {
        const first = await scene.connect('same', { version });
        await scene.connect('same');
        await first.ended('taken over');
        assert.equal(await first.next(), undefined);
      },
    },
    {
      clauses: ['3.1.4-3'],
      what: `a connection of level ${version} takes over one of version 5, which is told so`,
      run: async (scene: Scene) => {
        const first = await scene.connect('same');
        await scene.connect('same', { version });
        assert.equal(await first.lastWords('taken over'), 0x8e);
      },
    },
  ]),
  {
    clauses: ['3.1.2-22', '3.2.2-22'],
    what: 'who says nothing for one and a half of the keep-alive is cut, and told why',
    isOnceEnough: true,
    run: async (scene) => {
      const client = await scene.connect('silent', { keepalive: 1 });
      assert.equal(client.connack?.properties?.serverKeepAlive, undefined);
      const sinceMs = performance.now();
      assert.equal(await client.lastWords('silent'), 0x8d);
      assert.ok(performance.now() - sinceMs >= 1_000);
    },
  },
  {
    clauses: ['3.1.2-28'],
    what: 'response information is given to who asks for it alone',
    run: async (scene) => {
      for (const properties of [{}, { requestResponseInformation: false }]) {
        const { connack } = await scene.connect('asks', { properties });
        assert.equal(connack?.properties?.responseInformation, undefined);
      }
    },
  },
  {
    clauses: ['3.2.2-19', '3.2.2-20'],
    what: 'CONNACK keeps to the Maximum Packet Size of the client',
    run: async (scene) => {
      const { connack } = await scene.connect('small', { properties: { maximumPacketSize: 24 } });
      assert.ok((connack?.raw.length ?? 0) <= 24, connack?.raw.toString('hex'));
    },
  },
  {
    clauses: ['4.12.0-6', '4.12.0-7'],
    what: 'no authentication method where none was asked for',
    run: async (scene) => {
      const { connack } = await scene.connect('plain');
      assert.equal(connack?.properties?.authenticationMethod, undefined);
      assert.equal(connack?.properties?.authenticationData, undefined);
    },
  },
  {
    clauses: ['4.12.0-1', '3.2.2-7'],
    what: 'an authentication method is refused: bad authentication method',
    run: async (scene) => {
      const client = await scene.open();
      const properties = { authenticationMethod: 'SCRAM-SHA-256', authenticationData: Buffer.from('n,,n=owner') };
      const connack = await client.signIn({ clientId: scene.id(), properties });
      assert.deepEqual([connack.reasonCode, connack.sessionPresent], [0x8c, false]);
      await client.ended('a bad method');
    },
  },
  {
    clauses: ['3.15.1-1', '4.12.1-1'],
    what: 'AUTH of who gave no authentication method is a protocol error',
    run: async (scene) => {
      const client = await scene.connect('auth');
      const properties = { authenticationMethod: 'SCRAM-SHA-256' };
      await client.send({ cmd: 'auth', reasonCode: 0x19, properties });
      assert.equal(await client.lastWords('AUTH'), 0x82);
    },
  },
  {
    clauses: ['3.1.4'],
    what: 'packets behind CONNECT need not wait for CONNACK',
    run: async (scene) => {
      const client = await scene.open();
      const topic = scene.topic();
      await client.send(
        client.connectPacket({ clientId: scene.id('hurried') }),
        { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 0 }] },
        { cmd: 'publish', topic, payload: 'early', qos: 1, messageId: 2, retain: false, dup: false },
      );
      assert.equal((await client.answer('connack')).reasonCode, 0);
      assert.deepEqual((await client.answer('suback')).granted, [0]);
      assert.equal((await client.answer('puback')).messageId, 2);
      assert.equal((await scene.heard(client)).length, 1);
    },
  },
  {
    clauses: ['6.0.0-2'],
    what: 'packets may lie anyhow in the frames of WebSocket',
    run: async ({ door }) => {
      const client = await PacketClient.open(door, { way: 'over WebSocket' });
      const bytes = Buffer.concat([
        client.bytesOf(client.connectPacket({ clientId: 'frames' })),
        client.bytesOf({ cmd: 'pingreq' }),
        client.bytesOf({ cmd: 'pingreq' }),
      ]);
      for (const piece of [bytes.subarray(0, 3), bytes.subarray(3, 9), bytes.subarray(9)]) await client.send(piece);
      await client.answer('connack');
      await client.answer('pingresp');
      await client.answer('pingresp');
      await client.cut();
    },
  },
];
