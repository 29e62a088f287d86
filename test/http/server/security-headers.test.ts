// Every answer has the headers for browsers, whoever writes it: Fastify, framing.ts before a route is found, the fast
// path, and MQTT over WebSocket. With DUNDUN_HSTS all that comes by HTTPS is told to come by nothing else (RFC 6797), and
// what comes by plain HTTP is not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { Env } from '../../../src/config/env.ts';
import { make } from '../../support/api/calls.ts';
import { answersOf, open, readAll } from '../../support/peers/http-connection.ts';
import { TestServer } from '../../support/test-server.ts';

const tlsFolder = fileURLToPath(new URL('../../support/tls', import.meta.url));
const ca = readFileSync(join(tlsFolder, 'cert.pem'), 'utf8');
const tls = { DUNDUN_TLS_CERT: join(tlsFolder, 'cert.pem'), DUNDUN_TLS_KEY: join(tlsFolder, 'key.pem') };
const hsts = { DUNDUN_HSTS: '31536000' };
const proxied = { DUNDUN_TRUST_PROXY: '127.0.0.1' };

async function openTls(port: number): Promise<Socket> {
  const socket = connectTls({ port, host: '127.0.0.1', ca });
  await once(socket, 'secureConnect');
  return socket;
}

interface Door {
  readonly name: string;
  readonly settings: Env;
  readonly connect: (port: number) => Promise<Socket>;
  /** Lines of each request's head beside its own. */
  readonly lines: string;
  readonly asksForTls: boolean;
}

const doors: readonly Door[] = [
  { name: 'TLS', settings: { ...tls, ...hsts }, connect: openTls, lines: '', asksForTls: true },
  {
    name: 'a proxy that speaks TLS',
    settings: { ...proxied, ...hsts },
    connect: open,
    lines: 'X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n',
    asksForTls: true,
  },
  {
    name: 'a proxy that was asked by plain HTTP',
    settings: { ...proxied, ...hsts },
    connect: open,
    lines: 'X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https, http\r\n',
    asksForTls: false,
  },
  {
    name: 'plain HTTP, whatever the client says of itself',
    settings: hsts,
    connect: open,
    lines: 'X-Forwarded-Proto: https\r\n',
    asksForTls: false,
  },
  { name: 'TLS without the setting', settings: tls, connect: openTls, lines: '', asksForTls: false },
];

const handshake =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const json = (body: string) => `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** What follows `Host` and the lines of the door. */
const answers: readonly { what: string; line: string; rest: string; status: number }[] = [
  { what: 'an answer', line: 'GET /health/live HTTP/1.1', rest: '\r\n', status: 200 },
  { what: 'a file', line: 'GET /docs HTTP/1.1', rest: '\r\n', status: 200 },
  { what: 'JSON', line: 'GET /openapi.json HTTP/1.1', rest: '\r\n', status: 200 },
  { what: 'rows', line: 'GET /api/v2/devices/d/sensors/s/values HTTP/1.1', rest: '\r\n', status: 200 },
  { what: 'an unknown path', line: 'GET /nowhere HTTP/1.1', rest: '\r\n', status: 404 },
  { what: 'a malformed path', line: 'GET /%zz HTTP/1.1', rest: '\r\n', status: 400 },
  { what: 'a malformed path of v2', line: 'GET /api/v2/%zz HTTP/1.1', rest: '\r\n', status: 400 },
  { what: 'a malformed path of v1', line: 'GET /api/v1/%zz HTTP/1.1', rest: '\r\n', status: 400 },
  { what: 'a path beyond ASCII', line: 'GET /ä HTTP/1.1', rest: '\r\n', status: 400 },
  { what: 'a method that the path lacks', line: 'DELETE /health/live HTTP/1.1', rest: '\r\n', status: 405 },
  { what: 'a rare method', line: 'PURGE /api/v2/users HTTP/1.1', rest: '\r\n', status: 405 },
  { what: 'a method that is none', line: 'DRUM /api/v2/users HTTP/1.1', rest: '\r\n', status: 501 },
  { what: 'CONNECT', line: 'CONNECT /x HTTP/1.1', rest: '\r\n', status: 501 },
  { what: 'a preflight', line: 'OPTIONS /api/v2/users HTTP/1.1', rest: '\r\n', status: 204 },
  { what: 'a wrong token', line: 'GET /api/v2/devices HTTP/1.1', rest: 'Authorization: Bearer x\r\n\r\n', status: 401 },
  { what: 'an unmet expectation', line: 'GET / HTTP/1.1', rest: 'Expect: 200-ok\r\n\r\n', status: 417 },
  { what: 'two Host headers', line: 'GET / HTTP/1.1', rest: 'Host: y\r\n\r\n', status: 400 },
  { what: 'a header that is none', line: 'GET / HTTP/1.1', rest: 'no colon\r\n\r\n', status: 400 },
  { what: 'a head without an end', line: 'GET / HTTP/1.1', rest: `X: ${'x'.repeat(20_000)}\r\n\r\n`, status: 431 },
  { what: 'faulty JSON', line: 'POST /api/v2/devices HTTP/1.1', rest: json('{'), status: 400 },
  {
    what: 'a type that nobody reads',
    line: 'POST /api/v2/devices HTTP/1.1',
    rest: 'Content-Type: a/b\r\nContent-Length: 1\r\n\r\nx',
    status: 415,
  },
  {
    what: 'a body that is too large',
    line: 'POST /api/v2/users HTTP/1.1',
    rest: `Content-Type: application/json\r\nContent-Length: ${64 * 1024 * 1024}\r\n\r\n`,
    status: 413,
  },
  {
    what: 'a usual push',
    line: 'POST /api/v2/devices/d/sensors/s/values HTTP/1.1',
    rest: json('{"value":1}'),
    status: 204,
  },
  {
    what: 'a push that the fast path leaves to others',
    line: 'POST /api/v2/devices/d/sensors/s/values HTTP/1.1',
    rest: `Prefer: x\r\n${json('{"value":1}')}`,
    status: 204,
  },
  { what: 'MQTT over WebSocket', line: 'GET /mqtt HTTP/1.1', rest: `${handshake}\r\n`, status: 101 },
  { what: 'no upgrade where one is needed', line: 'GET /mqtt HTTP/1.1', rest: '\r\n', status: 426 },
  {
    what: 'a handshake with a faulty key',
    line: 'GET /mqtt HTTP/1.1',
    rest: `${handshake.replace('dGhl', '')}\r\n`,
    status: 426,
  },
  { what: 'an upgrade elsewhere', line: 'GET /nowhere HTTP/1.1', rest: `${handshake}\r\n`, status: 404 },
];

for (const door of doors) {
  suite(`by ${door.name} ${door.asksForTls ? 'HSTS and' : 'no HSTS, but'} nosniff is in`, () => {
    let server: TestServer;

    before(async () => {
      server = await TestServer.start({ ...door.settings, DUNDUN_TLS_CERT: undefined, DUNDUN_TLS_KEY: undefined });
      const sensors = [{ id: 's' }];
      await make(server, { call: 'POST /devices', json: { id: 'd', visibility: 'public', sensors }, expect: 204 });
      if (door.settings['DUNDUN_TLS_CERT'] !== undefined) await server.restart(door.settings);
    });
    after(() => server.stop());

    /** Checks the head of an answer. */
    function check(answer: string, status: number): void {
      const [head = ''] = answer.split('\r\n\r\n', 1);
      const lines = head.toLowerCase().split('\r\n');
      const valuesOf = (name: string) => lines.filter((line) => line.startsWith(`${name}: `));
      assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.deepEqual(valuesOf('x-content-type-options'), ['x-content-type-options: nosniff'], head);
      const asked = door.asksForTls ? ['strict-transport-security: max-age=31536000'] : [];
      assert.deepEqual(valuesOf('strict-transport-security'), asked, head);
    }

    for (const { what, line, rest, status } of answers) {
      test(what, async () => {
        const socket = await door.connect(server.running.ports.http);
        const received = answersOf(socket);
        // The fast path takes over after the first request of a connection, from actors that it knows.
        for (const request of status === 204 ? [line, line, line] : [line]) {
          socket.write(`${request}\r\nHost: dundun\r\n${door.lines}${rest}`);
          // An upgraded connection sends no more by itself.
          const answer = status === 101 ? String((await once(socket, 'data'))[0]) : (await received.next()).value;
          check(answer ?? '', status);
        }
        socket.destroy();
      });
    }

    test('each of several answers that are sent together', async () => {
      const socket = await door.connect(server.running.ports.http);
      const push = `POST /api/v2/devices/d/sensors/s/values HTTP/1.1\r\nHost: dundun\r\n${door.lines}${json('{"value":2}')}`;
      const received = answersOf(socket);
      socket.write(push);
      check((await received.next()).value ?? '', 204);
      socket.write(push.repeat(3));
      for (let n = 0; n < 3; n++) check((await received.next()).value ?? '', 204);
      socket.destroy();
    });

    test('a request without Host, and bytes that are no HTTP', async () => {
      const missing = await door.connect(server.running.ports.http);
      missing.write(`GET / HTTP/1.1\r\n${door.lines}\r\n`);
      check(await readAll(missing), 400);
      const noise = await door.connect(server.running.ports.http);
      noise.write(`no HTTP\r\n${door.lines}\r\n`);
      check(await readAll(noise), 400);
    });
  });
}
