// DISCONNECT of MQTT 5 (3.14), and errors (4.13).
import assert from 'node:assert/strict';
import type { ClauseRow, Scene } from './clause-rows.ts';

export const disconnectRows: readonly ClauseRow[] = [
  ...[0x00, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99].map((reasonCode) => ({
    clauses: ['3.14.4-1', '3.14.4-2', '3.14.2-1'],
    what: `DISCONNECT with reason ${reasonCode.toString(16)} closes the connection, and nothing is said any more`,
    run: async (scene: Scene) => {
      const client = await scene.connect('leaves');
      await client.send(client.bytesOf({ cmd: 'disconnect', reasonCode }), client.bytesOf({ cmd: 'pingreq' }));
      assert.equal(await client.lastWords('DISCONNECT'), undefined);
    },
  })),
  {
    clauses: ['3.14.2.1', '3.14.2.2'],
    what: 'DISCONNECT may leave out its reason, or its properties',
    run: async (scene) => {
      for (const bytes of [
        [0xe0, 0],
        [0xe0, 1, 0],
        [0xe0, 2, 0, 0],
      ]) {
        const client = await scene.connect('leaves');
        await client.send(Buffer.from(bytes));
        assert.equal(await client.lastWords(`${bytes}`), undefined);
      }
    },
  },
  {
    clauses: ['3.14.2.2'],
    what: 'DISCONNECT may bring an expiry, a reason string and user properties',
    run: async (scene) => {
      const client = await scene.connect('leaves', { properties: { sessionExpiryInterval: 10 } });
      const properties = { sessionExpiryInterval: 20, reasonString: 'done', userProperties: { a: ['b', 'c'] } };
      await client.send({ cmd: 'disconnect', reasonCode: 0, properties });
      assert.equal(await client.lastWords('with properties'), undefined);
    },
  },
  {
    clauses: ['3.14.0-1'],
    what: 'no DISCONNECT comes in place of a CONNACK',
    run: async (scene) => {
      const client = await scene.open();
      await client.send({ cmd: 'pingreq' });
      await client.ended('a PINGREQ first');
      assert.equal(await client.next(), undefined);
    },
  },
  {
    clauses: ['3.14.2-2', '3.14.2-3', '4.13.2-1'],
    what: 'the DISCONNECT of the server keeps to the Maximum Packet Size, and names no expiry',
    run: async (scene) => {
      const properties = { maximumPacketSize: 24, sessionExpiryInterval: 10 };
      const client = await scene.connect('small', { properties });
      await client.send(client.connectPacket({ clientId: scene.id('small') }));
      await client.ended('a second CONNECT');
      const last = await client.next();
      assert.ok(last?.cmd === 'disconnect' && last.reasonCode === 0x82, last?.raw.toString('hex'));
      assert.ok(last.raw.length <= 24, last.raw.toString('hex'));
      assert.equal(last.properties?.sessionExpiryInterval, undefined);
    },
  },
  {
    clauses: ['3.12.4-1'],
    what: 'PINGREQ is answered by PINGRESP, as often',
    run: async (scene) => {
      const client = await scene.connect('pings');
      await client.send({ cmd: 'pingreq' }, { cmd: 'pingreq' }, { cmd: 'pingreq' });
      for (let n = 0; n < 3; n++) assert.equal((await client.answer('pingresp')).raw.toString('hex'), 'd000');
    },
  },
];
