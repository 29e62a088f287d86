// Attacks on what callers share: memory of bodies, password hashes, live streams, places in the ingest queue.
import type { Socket } from 'node:net';
import { type Attack, type AttackTarget, openSocket, pace, settled } from './harness/attack.ts';
import { heard, holdOn, postHead } from './harness/attacker.ts';

const mib = 1024 * 1024;

export const attacks: readonly Attack[] = [
  {
    name: 'begins forty bodies, sends 15 of 16 MB of each, and falls silent',
    against: 'shares',
    metBy: 'what is received shares one budget, and what stands still is cut (domain/callers/byte-budget.ts)',
    run: async (target) => {
      const piece = Buffer.alloc(mib, ' ');
      const sockets = Array.from({ length: 40 }, () => openSocket(target.http));
      await Promise.all(sockets.map(settled));
      for (const socket of sockets) {
        socket.resume().write(postHead('/api/v2/auth/token', 16 * mib));
        for (let n = 0; n < 15 && !target.isOver(); n++) socket.write(piece);
        await pace(20);
      }
      while (!target.isOver()) await pace(50);
      for (const socket of sockets) socket.destroy();
    },
  },
  {
    name: 'signs in under invented names on a hundred and forty connections',
    against: 'shares',
    metBy: 'addresses take turns in the queue of password hashes (domain/callers/fair-queue.ts)',
    run: async (target) => {
      let names = 0;
      const attempt = async () => {
        while (!target.isOver()) {
          names += 1;
          const body = JSON.stringify({ username: `invented-${names}`, password: 'wrong password' });
          const socket = openSocket(target.http);
          socket.write(`${postHead('/api/v2/auth/token', body.length)}${body}`);
          await heard(socket);
          socket.destroy();
        }
      };
      await Promise.all(Array.from({ length: 140 }, attempt));
    },
  },
  {
    name: 'opens fifteen hundred live streams and reads none',
    against: 'shares',
    metBy: 'who has most live streams loses the oldest (domain/live/live.ts)',
    prepare: (target) => makePublicDevice(target, 'followed'),
    run: async (target) => {
      const sockets = [];
      for (let n = 0; n < 1_500 && !target.isOver(); n++) {
        const socket = openSocket(target.http);
        socket.write('GET /api/v2/devices/followed/live HTTP/1.1\r\nHost: d\r\n\r\n');
        sockets.push(socket);
        if (n % 50 === 49) await settled(socket);
      }
      while (!target.isOver()) await pace(50);
      for (const socket of sockets) socket.destroy();
    },
  },
  {
    name: 'opens seven hundred live streams of a device, reads all of them, and pushes there as fast as it can',
    against: 'shares',
    metBy: 'each stream takes its turn with what waits for it (domain/live/live.ts)',
    prepare: (target) => makePublicDevice(target, 'famous'),
    run: async (target) => {
      const streams: Socket[] = [];
      for (let n = 0; n < 700 && !target.isOver(); n += 1) {
        const socket = openSocket(target.http);
        socket.write('GET /api/v2/devices/famous/live HTTP/1.1\r\nHost: d\r\n\r\n');
        socket.resume();
        streams.push(socket);
        if (n % 50 === 49) await settled(socket);
      }
      const push = `${postHead('/api/v2/devices/famous/sensors/s/values', 11)}{"value":1}`;
      for (let n = 0; n < 4; n += 1) {
        const socket = openSocket(target.http);
        socket.resume();
        const shout = () => {
          while (!socket.destroyed && socket.write(push.repeat(50)));
        };
        socket.on('drain', shout);
        shout();
        streams.push(socket);
      }
      await holdOn(target, streams);
    },
  },
  {
    name: 'pushes arrays of thirty thousand datapoints on eight connections without a pause',
    against: 'shares',
    metBy: 'places in the ingest queue are shared out, and who pushes little goes first (writer.ts, writer-queue.ts)',
    prepare: (target) => makePublicDevice(target, 'flooded'),
    run: async (target) => {
      const body = Buffer.from(JSON.stringify(Array.from({ length: 30_000 }, (_, n) => ({ value: n }))));
      const flood = async () => {
        const socket = openSocket(target.http);
        await settled(socket);
        while (!target.isOver() && !socket.destroyed) {
          socket.write(postHead('/api/v2/devices/flooded/sensors/s/values', body.length));
          socket.write(body);
          await heard(socket);
        }
        socket.destroy();
      };
      await Promise.all(Array.from({ length: 8 }, flood));
    },
  },
];

async function makePublicDevice(target: AttackTarget, id: string): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${target.adminToken}` };
  const body = JSON.stringify({ id, visibility: 'public', sensors: [{ id: 's' }] });
  await fetch(`${target.url}/api/v2/devices`, { method: 'POST', headers, body });
}
