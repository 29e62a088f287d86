// Attacks by slowness: requests that are sent a byte at a time, and answers that are read a byte at a time.
import type { Socket } from 'node:net';
import { type Attack, openSocket, pace, settled } from './harness/attack.ts';
import { fillDevice, makePublicDevice, postHead } from './harness/attacker.ts';

const senders = 400;
const readers = 200;

/** Parts of requests that go on for as long as anybody listens. */
const beginnings = [
  'GET /health/live HTTP/1.1\r\nHost: d\r\nX-Long: ',
  'GET /',
  `${postHead('/api/v2/auth/token', 4_000)}{"username":"`,
  'POST /api/v2/auth/token HTTP/1.1\r\nHost: d\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=',
  'GET /mqtt HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Long: ',
];

export const attacks: readonly Attack[] = [
  {
    name: 'sends requests a byte at a time on four hundred connections',
    against: 'sockets',
    metBy: 'head and body have a time each (requestMsMax, bodyStallMs of config/limits.ts)',
    run: async (target) => {
      const sockets: Socket[] = [];
      for (let n = 0; n < senders && !target.isOver(); n += 1) {
        const socket = openSocket(target.http).resume();
        socket.write(beginnings[n % beginnings.length] ?? '');
        sockets.push(socket);
        if (n % 50 === 49) await settled(socket);
      }
      while (!target.isOver()) {
        for (const socket of sockets) if (socket.writable) socket.write('x');
        await pace(20);
      }
      for (const socket of sockets) socket.destroy();
    },
  },
  {
    name: 'reads long answers a few bytes at a time on two hundred connections',
    against: 'memory',
    metBy: 'answers that wait for readers share one budget of bytes (http/lists/answer-budget.ts)',
    prepare: async (target) => {
      await makePublicDevice(target, 'slowly-read');
      await fillDevice(target, 'slowly-read', { datapoints: 30_000 });
    },
    run: async (target) => {
      const paths = [
        '/openapi.json',
        '/api/v2/devices/slowly-read/sensors/s/values?limit=30000',
        '/api/v2/devices/slowly-read/sensors/s/values?format=csv',
        '/docs',
      ];
      const sockets: Socket[] = [];
      for (let n = 0; n < readers && !target.isOver(); n += 1) {
        const socket = openSocket(target.http);
        sockets.push(socket);
        await settled(socket);
        socket.pause();
        // Each asks for several at once: nobody has to wait with the next request for the answer before it.
        socket.write(`GET ${paths[n % paths.length]} HTTP/1.1\r\nHost: d\r\n\r\n`.repeat(4));
      }
      while (!target.isOver()) {
        for (const socket of sockets) socket.read(64);
        await pace(50);
      }
      for (const socket of sockets) socket.destroy();
    },
  },
];
