// Attacks by many small or invalid requests: pipelines, unknown methods, broken upgrades, many addresses.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { generate } from 'mqtt-packet';
import { type Attack, type AttackTarget, openSocket, pace, settled, stranger } from './harness/attack.ts';
import { addressOf, ask, heard, keepOn, makePublicDevice, postHead, written } from './harness/attacker.ts';

const pipelined = 2_500;
const push = '{"value":1}';

/** Sends it as one piece and hears what comes until the other side ends, or says nothing for a while. */
async function sendAll(target: AttackTarget, bytes: Buffer | string, { from = stranger } = {}): Promise<number> {
  const socket = openSocket(target.http, { from });
  await settled(socket);
  let received = 0;
  socket.on('data', (piece) => {
    received += piece.length;
  });
  void written(socket, bytes);
  while (!target.isOver() && !socket.destroyed) if ((await heard(socket, 2_000)) === undefined) break;
  socket.destroy();
  return received;
}

const handshake = (lines: string, path = '/mqtt') => `GET ${path} HTTP/1.1\r\nHost: d\r\n${lines}\r\n\r\n`;
const good =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Protocol: mqtt\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

/** A frame of WebSocket as a client sends it, or not. */
const frame = (first: number, length: readonly number[], rest: Buffer = Buffer.alloc(0)) =>
  Buffer.concat([Buffer.from([first, ...length]), rest]);

const brokenUpgrades: readonly (string | Buffer)[] = [
  handshake(good.replace('13', '99')),
  handshake(good.replace(/Sec-WebSocket-Key.*$/, 'Sec-WebSocket-Key: short')),
  handshake(good.replace('websocket', 'h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__')),
  handshake(`${good}\r\n${good}`),
  handshake(`${good}\r\nContent-Length: 100000`),
  handshake(`${good}\r\nTransfer-Encoding: chunked`),
  handshake(`${good}\r\nSec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99`),
  handshake(`${good}\r\nSec-WebSocket-Extensions: ${'permessage-deflate, '.repeat(400)}x`),
  handshake(`${good}\r\nSec-WebSocket-Protocol: ${'mqtt, '.repeat(1_000)}mqtt`),
  handshake(good, `/mqtt?${'x'.repeat(8_000)}`),
  handshake(good, '/mqtt/../api'),
];

/** What comes behind a handshake that was good. */
const brokenFrames: readonly Buffer[] = [
  // A length of 2^63, one beyond a packet's, without a mask, of an unknown kind, with reserved bits.
  frame(0x82, [0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]),
  frame(0x82, [0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3, 4], Buffer.alloc(60_000)),
  frame(0x82, [0x05], Buffer.from('hello')),
  frame(0x83, [0x80, 0, 0, 0, 0]),
  frame(0xf2, [0x80, 0, 0, 0, 0]),
  // A ping in pieces, a close with half a code, text that is no UTF-8, a thousand pings, MQTT that is none.
  frame(0x09, [0x81, 0, 0, 0, 0], Buffer.from('x')),
  frame(0x88, [0x81, 0, 0, 0, 0], Buffer.from('x')),
  frame(0x81, [0x82, 0, 0, 0, 0], Buffer.from([0xc0, 0x80])),
  Buffer.concat(Array.from({ length: 1_000 }, () => frame(0x89, [0x80, 0, 0, 0, 0]))),
  Buffer.concat(Array.from({ length: 1_000 }, () => frame(0x02, [0x81, 0, 0, 0, 0], Buffer.from([0x10])))),
  frame(0x82, [0xfe, 0xff, 0xff, 0, 0, 0, 0], randomBytes(65_535)),
];

const oddRequests = [
  'OPTIONS * HTTP/1.1\r\nHost: d\r\n\r\n',
  'OPTIONS /api/v2/devices/a/sensors/b/values HTTP/1.1\r\nHost: d\r\n\r\n',
  'PROPFIND /api/v2/devices HTTP/1.1\r\nHost: d\r\n\r\n',
  'TRACE / HTTP/1.1\r\nHost: d\r\nMax-Forwards: 10\r\n\r\n',
  'M-SEARCH * HTTP/1.1\r\nHost: d\r\nMan: "ssdp:discover"\r\n\r\n',
  'GET http://d/health/live HTTP/1.1\r\nHost: d\r\n\r\n',
  'PUT /api/v2/devices/none/name HTTP/1.1\r\nHost: d\r\nContent-Length: 0\r\n\r\n',
  'POST /api/v2/devices HTTP/1.1\r\nHost: d\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}',
  `GET /${'%2e%2e%2f'.repeat(800)} HTTP/1.1\r\nHost: d\r\n\r\n`,
];
/** Those that end their connection. */
const lastRequests = [
  'GET / HTTP/1.1\r\n\r\n',
  'POST / HTTP/1.1\r\nHost: d\r\nExpect: 200-ok\r\nContent-Length: 2\r\n\r\n{}',
  'BREW /pot HTTP/1.1\r\nHost: d\r\n\r\n',
  'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: d\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  `GET / HTTP/1.1\r\nHost: d\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
];

export const attacks: readonly Attack[] = [
  {
    name: 'sends two thousand five hundred requests at once on each of four connections, again and again',
    against: 'shares',
    metBy: 'requests of a connection wait for each other (http/server/request-order.ts), and a push for those before it (push-connection.ts)', // biome-ignore format: one line
    prepare: (target) => makePublicDevice(target, 'pipelined'),
    run: async (target) => {
      const kinds = [
        'GET /health/live HTTP/1.1\r\nHost: d\r\n\r\n',
        `${postHead('/api/v2/devices/pipelined/sensors/s/values', push.length)}${push}`,
        'GET /api/v2/devices/pipelined HTTP/1.1\r\nHost: d\r\n\r\n',
        'GET /api/v2/devices/none HTTP/1.1\r\nHost: d\r\n\r\n',
      ];
      let received = 0;
      await keepOn(target, 4, async (connection) => {
        received += await sendAll(target, (kinds[connection] ?? '').repeat(pipelined));
      });
      assert.ok(received > 0, 'nothing was answered');
    },
  },
  {
    name: 'sends OPTIONS, methods nobody knows and requests that are none on twenty connections',
    against: 'sockets',
    metBy: 'what fails before a route is found is answered in one place (http/server/framing.ts)',
    run: (target) =>
      keepOn(target, 20, async (connection, round) => {
        const last = lastRequests[(connection + round) % lastRequests.length] ?? '';
        await sendAll(target, `${oddRequests.join('').repeat(20)}${last}`);
      }),
  },
  {
    name: 'sends bodies in chunks of one byte, sixty thousand at once, on twenty connections',
    against: 'computing',
    metBy: 'what Node.js parses goes to it in short pieces, callers in turns (http/fast-path/push-connection.ts)',
    run: async (target) => {
      const head =
        'POST /api/v2/users HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
      const body = `${head}${'1\r\n \r\n'.repeat(60_000)}0\r\n\r\n`;
      await keepOn(target, 20, () => sendAll(target, body));
    },
  },
  {
    name: 'sends WebSocket messages of one byte, pings and empty messages on sixty connections',
    against: 'computing',
    metBy: 'frames are parsed in turns, and no further ones before their messages are read (mqtt/websocket-socket.ts)',
    run: async (target) => {
      const signIn = generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId: '', clean: true });
      const halves = [0xc0, 0].map((byte) => frame(0x82, [0x81, 0, 0, 0, 0], Buffer.from([byte])));
      const kinds = [...[[frame(0x89, [0x80, 0, 0, 0, 0])], [frame(0x82, [0x80, 0, 0, 0, 0])]], halves];
      const floods = kinds.map((frames) => Buffer.concat(Array.from({ length: 20_000 }, () => frames).flat()));
      await keepOn(target, 60, async (connection, round) => {
        const socket = openSocket(target.http);
        socket.write(handshake(good));
        await heard(socket);
        socket.resume().write(frame(0x82, [0x80 | signIn.length, 0, 0, 0, 0], signIn));
        await heard(socket);
        await written(socket, floods[(connection + round) % floods.length] ?? '');
        await pace(50);
        socket.destroy();
      });
    },
  },
  {
    name: 'asks for upgrades to WebSocket in every broken form',
    against: 'sockets',
    metBy:
      'only a whole handshake leaves HTTP (http/server/upgrades.ts); frames are bounded as packets are (mqtt/websockets.ts)',
    run: (target) =>
      keepOn(target, 8, async (connection, round) => {
        const forms = [...brokenUpgrades, ...brokenFrames.map((frames) => Buffer.concat([Buffer.from(handshake(good)), frames]))]; // biome-ignore format: one line
        const socket = openSocket(target.http);
        socket.resume().write(forms[(connection * 5 + round) % forms.length] ?? '');
        await heard(socket, 100);
        if (round % 2 === 0) socket.resetAndDestroy();
        else socket.destroy();
      }),
  },
  {
    name: 'comes from a thousand addresses with small requests, each on a connection of its own',
    against: 'shares',
    metBy: 'addresses are bounded, and each costs little (domain/callers/callers.ts)',
    prepare: (target) => makePublicDevice(target, 'many-addresses'),
    run: async (target) => {
      let next = 0;
      const statuses = new Set<number>();
      await keepOn(target, 30, async (_, round) => {
        next += 1;
        const from = addressOf(next % 1_000);
        const values = '/api/v2/devices/many-addresses/sensors/s/values';
        const asked = [
          { path: '/api/v2/devices/many-addresses' },
          { path: values, json: { value: 1 } },
          { path: values },
        ];
        const { status } = await ask(target, { from, ...(asked[round % 3] ?? { path: '/' }) });
        statuses.add(status);
      });
      for (const status of statuses) assert.ok([0, 200, 204, 429, 503, 403].includes(status), String(status));
    },
  },
  {
    name: 'pushes under Idempotency-Keys of 256 characters, each a new one, from two hundred addresses',
    against: 'memory',
    metBy: 'the keys of a caller are bounded and lie on disk (idempotencyKeysMax of config/limits.ts)',
    prepare: (target) => makePublicDevice(target, 'keyed'),
    run: async (target) => {
      let count = 0;
      await Promise.all(
        Array.from({ length: 200 }, async (_, n) => {
          const socket = openSocket(target.http, { from: addressOf(n) });
          await settled(socket);
          while (!target.isOver() && !socket.destroyed) {
            count += 1;
            const key = `Idempotency-Key: ${`${n}-${count}`.padEnd(256, 'k')}\r\n`;
            await written(socket, `${postHead('/api/v2/devices/keyed/sensors/s/values', push.length, key)}${push}`);
            await heard(socket);
            await pace(20);
          }
          socket.destroy();
        }),
      );
    },
  },
];
