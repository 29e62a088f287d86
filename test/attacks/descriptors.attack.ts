// An attack on a service that may open few descriptors: more connections than it can have.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type Attack, openSocket, settled } from './harness/attack.ts';
import { holdOn } from './harness/attacker.ts';

const prlimit = process.env['DUNDUN_TEST_PRLIMIT'];
const descriptors = 512;

export const attacks: readonly Attack[] = [
  {
    name: `opens two thousand connections to a service that may have ${descriptors} descriptors`,
    against: 'shares',
    metBy:
      'connections are bounded by the descriptors of the process, with a reserve (domain/callers/connection-limiter.ts)',
    leftOut: prlimit === undefined ? 'prlimit is not there: run it by `npm test`' : undefined,
    ...(prlimit === undefined ? {} : { startedBy: [prlimit, `--nofile=${descriptors}:${descriptors}`] }),
    run: async (target) => {
      const sockets: Socket[] = [];
      for (let n = 0; n < 2_000 && !target.isOver(); n += 1) {
        const socket = openSocket(n % 2 === 0 ? target.http : target.mqtt);
        sockets.push(socket.resume());
        if (n % 50 === 49) await settled(socket);
      }
      await holdOn(target, sockets);
    },
    hold: ({ log }) => {
      const told = log.split('\n').filter((line) => line.includes('nearly all connections are taken'));
      assert.equal(told.length, 1, `told ${told.length} times\n${log}`);
      assert.doesNotMatch(log, /EMFILE|ENFILE/);
    },
  },
];
