// Attacks over MQTT by stored data and by names: sessions with as many and as long filters as allowed, sessions that
// every message is queued for, large wills and early packets, and client ids of others.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { generate } from 'mqtt-packet';
import { type Attack, openSocket, pace } from './harness/attack.ts';
import { ask, signIn, written } from './harness/attacker.ts';

const filters = Array.from({ length: 1_000 }, (_, n) => ({ topic: `${'x'.repeat(60_000)}/${n}`, qos: 1 as const }));

export const attacks: readonly Attack[] = [
  {
    name: 'keeps sessions with filters of 60 KB each',
    against: 'quotas',
    startsAgain: true,
    metBy: 'a filter has 1 KiB, guests together 100 sessions and a quota of bytes (engines/shared/mqtt/mqtt-usage.ts)',
    run: async (target) => {
      for (let n = 0; n < 20 && !target.isOver(); n += 1) {
        const { socket } = await signIn(target, { clientId: `fills-${n}`, clean: false });
        for (let from = 0; from < filters.length && !target.isOver(); from += 100) {
          const subscriptions = filters.slice(from, from + 100);
          await written(socket, generate({ cmd: 'subscribe', messageId: from + 1, subscriptions }));
        }
        socket.destroy();
      }
    },
  },
  {
    name: 'leaves sessions behind for which everything is to be kept, each with a thousand filters',
    against: 'memory',
    startsAgain: true,
    metBy: 'a filter is held once and judged once for each user (engines/shared/mqtt/mqtt-filter-index.ts)',
    run: async (target) => {
      const wild = Array.from({ length: 1_000 }, (_, n) => ({
        topic: n < 30 ? `${'+/'.repeat(n)}#` : `${'+/'.repeat(n % 30)}${n}/#`,
        qos: 2 as const,
      }));
      const sockets: Socket[] = [];
      for (let n = 0; n < 300 && !target.isOver(); n += 1) {
        const { socket } = await signIn(target, { clientId: `away-${n}`, clean: false });
        sockets.push(socket);
        await written(socket, generate({ cmd: 'subscribe', messageId: 1, subscriptions: wild }));
        await pace(5);
        if (n % 3 > 0) socket.destroy();
      }
      while (!target.isOver()) await pace(50);
      for (const socket of sockets) socket.destroy();
    },
  },
  {
    name: 'sends large packets and wills before it is let in',
    against: 'memory',
    metBy: 'a handful of packets and 64 KiB before CONNACK, 16 KiB a will (mqtt/packet-reader.ts)',
    run: async (target) => {
      const will = { topic: 'a', payload: Buffer.alloc(60_000), qos: 1 as const, retain: true };
      const large = Buffer.concat([Buffer.from([0x30, 0x80, 0x80, 0x80, 0x07]), Buffer.alloc(1_000_000)]);
      for (let n = 0; n < 200 && !target.isOver(); n += 1) {
        const socket = openSocket(target.mqtt);
        await written(socket, large);
        socket.destroy();
        (await signIn(target, { clientId: `will-${n}`, will })).socket.destroy();
      }
    },
  },
  {
    name: "declares gateways under somebody's client id, and connects under it",
    against: 'identity',
    metBy: 'who signed in keeps the id, and one at a time is decided about (domain/gateways/client-ids.ts)',
    run: async (target) => {
      const { username, password } = target;
      const clientId = `victim-${username}`;
      const victim = await signIn(target, { clientId, clean: false, username, password });
      assert.equal(victim.code, 0);
      let isCut = false;
      victim.socket.once('close', () => {
        isCut = true;
      });
      for (let n = 0; n < 200 && !target.isOver(); n += 1) {
        const [declared, stranger] = await Promise.all([
          ask(target, { path: '/api/v2/gateways', json: { id: clientId } }),
          signIn(target, { clientId, clean: n % 2 === 0 }),
        ]);
        assert.notEqual(declared.status, 200);
        assert.notEqual(stranger.code, 0);
        stranger.socket.destroy();
        assert.equal(isCut, false, 'the victim is cut');
      }
      victim.socket.destroy();
    },
  },
  {
    name: 'connects first under the ids of gateways whose owners then sign in',
    against: 'identity',
    metBy: 'a guest gives way to who signs in (domain/gateways/client-ids.ts)',
    run: async (target) => {
      const { username, password } = target;
      for (let n = 0; n < 100 && !target.isOver(); n += 1) {
        const clientId = `public-id-${n}`;
        const guests = await Promise.all([true, false].map((clean) => signIn(target, { clientId, clean })));
        const gateway = { path: '/api/v2/gateways', token: target.userToken, json: { id: clientId } };
        // Before the owner has declared it, and behind.
        const declared = n % 2 === 0 ? await ask(target, gateway) : undefined;
        const owner = await signIn(target, { clientId, clean: false, username, password });
        assert.equal(owner.code, 0, 'the owner is locked out');
        const after = declared ?? (await ask(target, gateway));
        assert.equal(after.status, 200, after.text);
        const again = await signIn(target, { clientId });
        assert.notEqual(again.code, 0, 'a guest takes the place of the owner');
        for (const { socket } of [...guests, owner, again]) socket.destroy();
      }
    },
  },
];
