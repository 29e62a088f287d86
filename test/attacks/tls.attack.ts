// Attacks on TLS at both ports: handshakes that stall, are reset or are invalid; and as many handshakes as possible,
// with renegotiation, while certificates are reloaded.
import { randomBytes } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { makeFolder, root } from '../support/process.ts';
import { type Attack, openSocket, pace, settled, stranger } from './harness/attack.ts';
import { ca, heard, keepOn } from './harness/attacker.ts';

const pairs = join(root, 'test/support/tls');
const fixed = { DUNDUN_TLS_CERT: join(pairs, 'cert.pem'), DUNDUN_TLS_KEY: join(pairs, 'key.pem') };

/** A ClientHello of TLS 1.2 with one suite and no extension, whole. */
const hello = (() => {
  const body = Buffer.concat([Buffer.from([3, 3]), randomBytes(32), Buffer.from([0, 0, 2, 0xc0, 0x2f, 1, 0])]);
  const message = Buffer.concat([Buffer.from([1, 0, 0, body.length]), body]);
  return Buffer.concat([Buffer.from([0x16, 3, 1, 0, message.length]), message]);
})();

/** What comes instead of a handshake, or of a part of it. */
const beginnings: readonly (Buffer | string)[] = [
  '',
  hello.subarray(0, 1),
  hello.subarray(0, 5),
  hello.subarray(0, 20),
  hello,
  Buffer.concat([hello, hello]),
  // A record that announces 16 KiB, an alert, a record of another kind, other protocols.
  Buffer.concat([Buffer.from([0x16, 3, 3, 0x40, 0]), Buffer.alloc(8_000)]),
  Buffer.from([0x15, 3, 3, 0, 2, 2, 40]),
  Buffer.from([0x17, 3, 3, 0, 1, 0]),
  'GET / HTTP/1.1\r\nHost: d\r\n\r\n',
  Buffer.from([0x10, 0x0c, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 60, 0, 0]),
  randomBytes(3_000),
];

/** A handshake made whole; undefined where it is refused. */
function shakeHands(port: number, maxVersion: 'TLSv1.2' | 'TLSv1.3'): Promise<TLSSocket | undefined> {
  const options = { port, host: '127.0.0.1', localAddress: stranger, ca: [...ca], maxVersion };
  return new Promise((resolve) => {
    const socket = connect({ ...options, servername: 'localhost' }, () => resolve(socket));
    socket.on('error', () => resolve(undefined)).on('close', () => resolve(undefined));
  });
}

const changing = (() => {
  const folder = makeFolder();
  const file = (name: string) => join(folder, name);
  const put = (start: '' | 'next-') => {
    for (const name of ['key.pem', 'cert.pem']) copyFileSync(join(pairs, `${start}${name}`), file(name));
  };
  put('');
  return { put, settings: { DUNDUN_TLS_CERT: file('cert.pem'), DUNDUN_TLS_KEY: file('key.pem') } };
})();

export const attacks: readonly Attack[] = [
  {
    name: 'begins six hundred handshakes of TLS, and stalls or resets them',
    against: 'sockets',
    metBy: 'a handshake has a time, each socket a listener from its first moment (base/network/sockets.ts)',
    settings: fixed,
    run: async (target) => {
      const ports = [target.http, target.mqtts];
      const stalled: Socket[] = [];
      for (let n = 0; n < 600 && !target.isOver(); n += 1) {
        const socket = openSocket(ports[n % 2] ?? 0).resume();
        socket.write(beginnings[n % beginnings.length] ?? '');
        stalled.push(socket);
        if (n % 50 === 49) await settled(socket);
      }
      await keepOn(target, 10, async (connection, round) => {
        const socket = openSocket(ports[round % 2] ?? 0);
        socket.write(beginnings[(connection + round) % beginnings.length] ?? '');
        await heard(socket, round % 20);
        socket.resetAndDestroy();
      });
      for (const socket of stalled) socket.destroy();
    },
  },
  {
    name: 'makes handshakes of TLS and asks for new ones within them, while certificates are read anew',
    against: 'computing',
    metBy: 'Node.js bounds renegotiation; a certificate is read beside what is open (base/network/certificates.ts)',
    settings: changing.settings,
    run: async (target) => {
      const change = (async () => {
        for (let n = 1; !target.isOver(); n += 1) {
          changing.put(n % 2 === 0 ? '' : 'next-');
          await pace(300);
        }
        changing.put('');
      })();
      await keepOn(target, 4, async (connection, round) => {
        const isOld = (connection + round) % 2 === 0;
        const port = round % 3 === 0 ? target.mqtts : target.http;
        const socket = await shakeHands(port, isOld ? 'TLSv1.2' : 'TLSv1.3');
        if (socket === undefined) return;
        socket.resume().on('error', () => {});
        const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
        for (let n = 0; isOld && n < 10 && !socket.destroyed; n += 1) {
          const renewed = new Promise<void>((resolve) => {
            if (!socket.renegotiate({}, () => resolve())) resolve();
          });
          await Promise.race([closed, renewed]);
        }
        socket.destroy();
      });
      await change;
    },
  },
];
