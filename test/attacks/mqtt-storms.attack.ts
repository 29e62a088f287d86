// Attacks over MQTT by number: everything a client may do, as often and as much at once as it can.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { generate } from 'mqtt-packet';
import { type Attack, type AttackTarget, openSocket, pace, settled } from './harness/attack.ts';
import { addressOf, heard, holdOn, keepOn, makePublicDevice, signIn, written } from './harness/attacker.ts';

const topic = 'devices/stormed/sensors/s/value';
const payload = '{"value":1}';
const prepare = (target: AttackTarget) => makePublicDevice(target, 'stormed');

/** Publishes of QoS 2 with these ids, as one piece. */
const publishes = (from: number, count: number, more: { topic?: string; payload?: string } = {}) =>
  Buffer.concat(
    Array.from({ length: count }, (_, n) =>
      generate({
        ...{ cmd: 'publish', topic, payload, qos: 2, dup: false, retain: false, messageId: 1 + ((from + n) % 65_535) },
        ...more,
      }),
    ),
  );

const filters = Array.from({ length: 500 }, (_, n) => `${'+/'.repeat(1 + (n % 12))}${n}/#`);

export const attacks: readonly Attack[] = [
  {
    name: 'publishes with QoS 2 on fifty connections and never sends PUBREL',
    against: 'memory',
    metBy: 'a client has 1 000 such messages, then it is cut (inflightMax of config/limits.ts)',
    prepare,
    run: async (target) => {
      const text = JSON.stringify({ value: 'x'.repeat(1_000) });
      await keepOn(target, 50, async (connection, round) => {
        const { socket } = await signIn(target, { clientId: `no-pubrel-${connection}`, clean: round % 2 === 0 });
        for (let from = 0; from < 2_000 && !socket.destroyed && !target.isOver(); from += 100) {
          await written(socket, publishes(from, 100, round % 3 === 0 ? { payload: text } : {}));
          await pace(10);
        }
        socket.destroy();
      });
    },
  },
  {
    name: 'subscribes and unsubscribes five hundred filters on fifty connections without a pause',
    against: 'computing',
    metBy: 'filters of those who are connected share one budget (mqtt/routing/live-filters.ts); packets are done for callers in turns (mqtt/packet-reader.ts)', // biome-ignore format: one line
    prepare,
    run: async (target) => {
      const subscriptions = filters.map((filter) => ({ topic: filter, qos: 1 as const }));
      await keepOn(target, 50, async (connection) => {
        const { socket } = await signIn(target, { clientId: `storms-${connection}` });
        while (!target.isOver() && !socket.destroyed) {
          await written(socket, generate({ cmd: 'subscribe', messageId: 1, subscriptions }));
          await written(socket, generate({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: filters }));
          await heard(socket, 1_000);
        }
        socket.destroy();
      });
    },
  },
  {
    name: 'retains messages on ever new topics, and asks for all of them again and again',
    against: 'quotas',
    by: 'user',
    startsAgain: true,
    metBy: 'retained bytes have a quota a user (engines/shared/mqtt/mqtt-usage.ts)',
    run: async (target) => {
      const { username, password } = target;
      const long = 'x'.repeat(16_000);
      const all = [{ topic: `users/${username}/#`, qos: 0 as const }];
      await keepOn(target, 8, async (connection, round) => {
        const { socket, code } = await signIn(target, { clientId: `retains-${connection}`, username, password });
        assert.equal(code, 0);
        for (let n = 0; n < 200 && !target.isOver() && !socket.destroyed; n += 1) {
          const own = `users/${username}/kept/${connection}-${round}-${n}`;
          const packet = { cmd: 'publish', topic: own, payload: long, dup: false, retain: true } as const;
          await written(socket, generate({ ...packet, qos: 1, messageId: 1 + n }));
        }
        await written(socket, generate({ cmd: 'subscribe', messageId: 1, subscriptions: all }));
        await heard(socket, 500);
        socket.destroy();
      });
    },
  },
  {
    name: 'leaves three hundred wills that all go out at one moment, again and again',
    against: 'shares',
    metBy: 'a will is a publish like others, judged and stored in its turn (mqtt/publishing.ts)',
    prepare,
    run: async (target) => {
      const will = { topic, payload: Buffer.from(`{"value":"${'x'.repeat(8_000)}"}`), qos: 1 as const, retain: true };
      while (!target.isOver()) {
        const connections = await Promise.all(
          Array.from({ length: 300 }, (_, n) =>
            signIn(target, { clientId: `dies-${n}`, will, from: addressOf(n % 30) }),
          ),
        );
        for (const { socket } of connections) socket.resetAndDestroy();
      }
    },
  },
  {
    name: 'connects under one client id on forty connections, each taking over from the other',
    against: 'identity',
    metBy: 'one at a time is decided about for each id (domain/gateways/client-ids.ts)',
    run: (target) =>
      keepOn(target, 40, async (connection) => {
        const { socket } = await signIn(target, { clientId: 'taken-over', clean: connection % 2 === 0 });
        await written(socket, generate({ cmd: 'pingreq' }));
        socket.destroy();
      }),
  },
  {
    name: 'publishes to topics that are nobody’s, long and deep ones, as fast as it can',
    against: 'memory',
    metBy: 'topics have a length and levels, what is known of them is weighed (mqtt/topics.ts)',
    run: (target) =>
      keepOn(target, 10, async (connection, round) => {
        const { socket } = await signIn(target, { clientId: `nowhere-${connection}-${round}` });
        for (let n = 0; n < 100 && !target.isOver() && !socket.destroyed; n += 1) {
          const depth = n % 3 === 0 ? 'a/'.repeat(30) : n % 3 === 1 ? `${'x'.repeat(1_000)}/` : 'devices/none/sensors/';
          const pieces = Array.from({ length: 100 }, (_, m) =>
            generate({
              ...{ cmd: 'publish', topic: `${depth}${round}-${n}-${m}`, payload, qos: 1, dup: false, retain: false },
              messageId: 1 + m,
            }),
          );
          await written(socket, Buffer.concat(pieces));
        }
        socket.destroy();
      }),
  },
  {
    name: 'sends packets that are broken, behind CONNECT and instead of it',
    against: 'sockets',
    metBy:
      'a packet is checked as it comes, and its connection cut (mqtt/packets/packet-frame.ts, mqtt/packets/packet-bound.ts)',
    run: async (target) => {
      const connect = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 1 } as const;
      const opening = generate({ ...connect, clientId: 'broken' });
      const broken: readonly Buffer[] = [
        Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        Buffer.from([0x00, 0x00]),
        Buffer.from([0xf0, 0x00]),
        Buffer.from([0x82, 0x02, 0x00, 0x01]),
        Buffer.from([0x82, 0x06, 0x00, 0x01, 0xff, 0xff, 0x61, 0x00]),
        Buffer.from([0x30, 0x05, 0x00, 0x10, 0x61, 0x62, 0x63]),
        Buffer.from([0x36, 0x04, 0x00, 0x01, 0x61, 0x00]),
        Buffer.from([0x62, 0x02, 0x00, 0x01]),
        Buffer.from([0x40, 0x02, 0xff, 0xff]),
        opening,
        Buffer.concat(Array.from({ length: 5_000 }, () => Buffer.from([0xc0, 0x00]))),
        Buffer.concat(Array.from({ length: 5_000 }, (_, n) => Buffer.from([0x50, 0x02, n >> 8, n & 255]))),
      ];
      await keepOn(target, 20, async (connection, round) => {
        const socket: Socket = openSocket(target.mqtt);
        await settled(socket);
        const piece = broken[(connection + round) % broken.length] ?? opening;
        void written(socket, round % 4 === 0 ? piece : Buffer.concat([opening, piece]));
        await heard(socket, 100);
        if (round % 2 === 0) socket.resetAndDestroy();
        else socket.destroy();
      });
    },
  },
  {
    name: 'subscribes to a device on two hundred connections, reads all of it, and publishes there as fast as it can',
    against: 'computing',
    metBy:
      'what goes out to subscribers takes a bounded part of each turn of the event loop (mqtt/routing/delivery-queue.ts)',
    prepare: (target) => makePublicDevice(target, 'loud'),
    run: (target) => shoutAtMany(target, { topic: 'devices/loud/sensors/s/value', subscribers: 200 }),
  },
  {
    name: 'subscribes on two hundred connections to topics of their own, and publishes there as fast as they can',
    against: 'computing',
    by: 'user',
    metBy: 'what a message costs its subscribers counts for the turn of its publisher (mqtt/broker.ts)',
    run: (target) => {
      const { username, password } = target;
      return shoutAtMany(target, { topic: `users/${username}/loud`, subscribers: 200, as: { username, password } });
    },
  },
];

/** Subscribers that read all, and four connections that publish to them without a pause. */
async function shoutAtMany(
  target: AttackTarget,
  options: {
    readonly topic: string;
    readonly subscribers: number;
    readonly as?: { readonly username: string; readonly password: string };
  },
): Promise<void> {
  const { topic, subscribers, as } = options;
  const name = as?.username ?? 'guest';
  const readers: Socket[] = [];
  for (let n = 0; n < subscribers && !target.isOver(); n += 1) {
    const { socket } = await signIn(target, { clientId: `listens-${name}-${n}`, ...as });
    readers.push(socket);
    await written(socket, generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 0 }] }));
  }
  const packet = { cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false } as const;
  const piece = Buffer.concat(Array.from({ length: 200 }, () => generate(packet)));
  const publishers: Socket[] = [];
  for (let n = 0; n < 4; n += 1) {
    const { socket } = await signIn(target, { clientId: `shouts-${name}-${n}`, ...as });
    publishers.push(socket);
    const shout = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', shout);
    shout();
  }
  await holdOn(target, [...publishers, ...readers]);
}
