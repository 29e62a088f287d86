// Errors before a route is found, byte by byte on a connection: the answer has the form of every other error (contract
// 1), in both versions, and what follows on a connection that the answer closes is not executed.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { answersOf, open, readAll } from '../../support/peers/http-connection.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const sensors = [{ id: 's' }];
  await make(server, { call: 'POST /devices', json: { id: 'd', visibility: 'public', sensors }, expect: 204 });
});
after(() => server.stop());

interface Said {
  readonly status: number;
  readonly head: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of the body.
  readonly body: any;
}

/** The first answer to these bytes. */
async function ask(bytes: string): Promise<Said> {
  const socket = await open(server.running.ports.http);
  socket.write(bytes);
  const answer = (await answersOf(socket).next()).value ?? '';
  socket.destroy();
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    head,
    body: body === '' ? undefined : JSON.parse(body),
  };
}

const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const handshake = `${upgrade}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;
const host = 'Host: x\r\n';

const refusals: readonly { what: string; request: (path: string) => string; status: number; type: string }[] = [
  { what: 'no Host', request: (path) => `GET ${path} HTTP/1.1\r\n\r\n`, status: 400, type: 'malformed' },
  {
    what: 'no Host, with a body',
    request: (path) => `POST ${path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
    status: 400,
    type: 'malformed',
  },
  {
    what: 'two of them',
    request: (path) => `GET ${path} HTTP/1.1\r\n${host}Host: y\r\n\r\n`,
    status: 400,
    type: 'malformed',
  },
  {
    what: 'an address that cannot be read',
    request: (path) => `GET ${path}/%zz HTTP/1.1\r\n${host}\r\n`,
    status: 400,
    type: 'malformed',
  },
  {
    what: 'an expectation that nobody meets',
    request: (path) => `GET ${path} HTTP/1.1\r\n${host}Expect: 200-ok\r\n\r\n`,
    status: 417,
    type: 'unmet-expectation',
  },
  {
    what: 'an upgrade to where nothing is',
    request: (path) => `GET ${path}/x HTTP/1.1\r\n${host}${handshake}\r\n`,
    status: 404,
    type: 'not-found',
  },
  {
    what: 'a method that nobody knows',
    request: (path) => `DRUM ${path}/x HTTP/1.1\r\n${host}\r\n`,
    status: 501,
    type: 'unknown-method',
  },
  {
    what: 'a method of others where nothing is',
    request: (path) => `PURGE ${path}/x HTTP/1.1\r\n${host}\r\n`,
    status: 404,
    type: 'not-found',
  },
  {
    what: 'a method of others',
    request: (path) => `PURGE ${path}/users HTTP/1.1\r\n${host}\r\n`,
    status: 405,
    type: 'wrong-method',
  },
  {
    what: 'a method of others with a body of no type',
    request: (path) => `QUERY ${path}/users HTTP/1.1\r\n${host}Content-Length: 2\r\n\r\n{}`,
    status: 405,
    type: 'wrong-method',
  },
  {
    what: 'CONNECT',
    request: (path) => `CONNECT ${path}/x HTTP/1.1\r\n${host}\r\n`,
    status: 501,
    type: 'unknown-method',
  },
  {
    what: 'a header that is none',
    request: (path) => `GET ${path}/x HTTP/1.1\r\n${host}no colon\r\n\r\n`,
    status: 400,
    type: 'malformed',
  },
  {
    what: 'headers without an end',
    request: (path) => `GET ${path}/x HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`,
    status: 431,
    type: 'too-large',
  },
];

suite('a request is refused in the form of every other refusal', () => {
  for (const { what, request, status, type } of refusals) {
    test(`for ${what}`, async () => {
      const problem = await ask(request('/api/v2'));
      assert.equal(problem.status, status, problem.head);
      assert.match(problem.head, /\r\ncontent-type: application\/problem\+json; charset=utf-8(\r\n|$)/i);
      assert.match(problem.head, /\r\nx-content-type-options: nosniff(\r\n|$)/i);
      assert.equal(problem.body.type, `urn:dundun:problem:${type}`);
      assert.equal(problem.body.status, status);
      for (const field of ['title', 'detail']) assert.ok(problem.body[field].length > 3, field);
      assert.match(problem.body.instance, /^\/api\/v2/);
      const older = await ask(request('/api/v1'));
      assert.equal(older.status, status);
      assert.match(older.head, /\r\ncontent-type: application\/json; charset=utf-8(\r\n|$)/i);
      assert.deepEqual(Object.keys(older.body), ['error', 'description']);
    });
  }

  test('for bytes that are no HTTP', async () => {
    for (const bytes of [
      '\x16\x03\x01\x02\x00\x01',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\x10\x0c\x00\x04MQTT\x04\x02',
    ]) {
      const { status, body } = await ask(`${bytes}\r\n\r\n`);
      assert.equal(status, 400);
      assert.equal(body.type, 'urn:dundun:problem:malformed');
    }
  });

  test('for a handshake of WebSocket that is none', async () => {
    const bad: readonly [path: string, status: number][] = [
      [`GET /mqtt HTTP/1.1\r\n${host}${upgrade}`, 426],
      [`GET /mqtt HTTP/1.1\r\n${host}${upgrade}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n`, 426],
      [`GET /mqtt HTTP/1.1\r\n${host}${handshake}Sec-WebSocket-Protocol: mqtt,,\r\n`, 426],
      [`GET /mqtt HTTP/1.1\r\n${host}${handshake}Sec-WebSocket-Protocol: mqtt, mqtt\r\n`, 426],
      [`GET /mqtt HTTP/1.1\r\n${host}${handshake.replace('13', '7')}`, 426],
      [`POST /mqtt HTTP/1.1\r\n${host}${handshake}`, 405],
    ];
    for (const [head, expected] of bad) {
      const { status, body } = await ask(`${head}\r\n`);
      assert.equal(status, expected, head);
      assert.equal(body.status, expected);
    }
  });
});

suite('a body in thousands of chunks', () => {
  const path = '/api/v2/devices/d/sensors/s/values';
  const chunked = `POST ${path} HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const inChunks = (text: string) => `${[...text].map((character) => `1\r\n${character}\r\n`).join('')}0\r\n\r\n`;
  const count = async () =>
    (await server.call('admin', 'GET', `${path.slice('/api/v2'.length)}?limit=1000`)).body.length;

  test('is stored, and so is what follows on its connection, while others have their turns', async () => {
    const earlier = await count();
    const body = inChunks(`{${' '.repeat(30_000)}"value":1}`);
    const sockets = await Promise.all(Array.from({ length: 5 }, () => open(server.running.ports.http)));
    const statuses = await Promise.all(
      sockets.map(async (socket) => {
        const answers = answersOf(socket);
        socket.write(`${chunked}${body}${chunked}${inChunks('{"value":2}')}`);
        const heads = [(await answers.next()).value, (await answers.next()).value];
        socket.destroy();
        return heads.map((head) => head?.slice(0, 12));
      }),
    );
    assert.deepEqual(new Set(statuses.flat()), new Set(['HTTP/1.1 204']));
    assert.equal(await count(), earlier + 10);
  });

  test('is read on where it comes behind as many requests as may wait', async () => {
    const earlier = await count();
    const socket = await open(server.running.ports.http);
    const answers = answersOf(socket);
    const before = limits.pipelinedRequestsWanted + 2;
    const gets = `GET /api/v2/devices/d HTTP/1.1\r\n${host}\r\n`.repeat(before);
    socket.write(`${chunked}${inChunks('{"value":3}')}${gets}${chunked}`);
    for (let n = 0; n <= before; n += 1) assert.match((await answers.next()).value ?? '', /^HTTP\/1.1 20/);
    socket.write(inChunks('{"value":4}'));
    assert.match((await answers.next()).value ?? '', /^HTTP\/1.1 204/);
    socket.destroy();
    assert.equal(await count(), earlier + 2);
  });

  test('is not stored where its sender goes away', async () => {
    const earlier = await count();
    const body = inChunks(`{${' '.repeat(30_000)}"value":1}`).slice(0, -20);
    for (const leave of ['end', 'resetAndDestroy'] as const) {
      const socket = await open(server.running.ports.http);
      await new Promise((resolve) => socket.write(`${chunked}${body}`, resolve));
      socket.resume()[leave]();
      await new Promise((resolve) => socket.once('close', resolve));
    }
    await server.running.idle();
    assert.equal(await count(), earlier);
  });
});

test('bytes behind a handshake in one packet reach the WebSocket whole, or end the connection', async () => {
  for (const bytes of [100, 60_000]) {
    const socket = await open(server.running.ports.http);
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.resume().once('close', resolve));
    // No frame at all: its first bytes are reserved.
    socket.write(`GET /mqtt HTTP/1.1\r\n${host}${handshake}Sec-WebSocket-Protocol: mqtt\r\n\r\n${'z'.repeat(bytes)}`);
    await closed;
  }
  assert.equal((await server.call('guest', 'GET', '/devices/d')).status, 200);
});

test('a client that expects 100-continue is told to go on', async () => {
  const socket = await open(server.running.ports.http);
  const push = `POST /api/v2/devices/d/sensors/s/values HTTP/1.1\r\n${host}Expect: 100-continue\r\n`;
  socket.write(`${push}Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{"value":1}`);
  assert.match((await answersOf(socket).next()).value ?? '', /^HTTP\/1\.1 100 .*HTTP\/1\.1 204 /s);
  socket.destroy();
});

test('OPTIONS names the methods that exist there, and 405 the same', async () => {
  const rows: readonly [path: string, allow: string | undefined][] = [
    ['/api/v2/devices', 'GET HEAD OPTIONS POST'],
    ['/api/v2/devices/d', 'DELETE GET HEAD OPTIONS'],
    ['/api/v2/devices/d/name', 'OPTIONS PUT'],
    ['/api/v2/devices/d/sensors/s/values/', 'DELETE GET HEAD OPTIONS POST'],
    ['/api/v1/sensors?x=1', 'GET HEAD OPTIONS POST'],
    ['/health/live', 'GET HEAD OPTIONS'],
    // The one path is found before the other, of which it would be one: it has no PUT and no DELETE.
    ['/api/v2/users/me', 'GET HEAD OPTIONS'],
    ['/api/v2/users/%6de', 'GET HEAD OPTIONS'],
    ['/api/v2/users/awa', 'DELETE GET HEAD OPTIONS PUT'],
    ['*', 'DELETE GET HEAD OPTIONS PATCH POST PUT'],
    ['/api/v2/nothing', undefined],
    ['/api/v1/nothing', undefined],
  ];
  for (const [path, allow] of rows) {
    const { status, head } = await ask(`OPTIONS ${path} HTTP/1.1\r\n${host}\r\n`);
    assert.equal(status, allow === undefined ? 404 : 204, path);
    assert.equal(allowIn(head), allow, path);
    if (allow === undefined || path === '*') continue;
    const refused = await ask(`PURGE ${path} HTTP/1.1\r\n${host}\r\n`);
    assert.equal(refused.status, 405);
    assert.equal(allowIn(refused.head), allow, path);
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => !allow.includes(name))) {
      const usual = await ask(`${method} ${path} HTTP/1.1\r\n${host}\r\n`);
      assert.equal(usual.status, 405, `${method} ${path}`);
      assert.equal(allowIn(usual.head), allow, `${method} ${path}`);
    }
  }
});

function allowIn(head: string): string | undefined {
  return /\r\nallow: ([^\r]+)/i.exec(head)?.[1]?.split(', ').sort().join(' ');
}

suite('behind an answer that ends its connection', () => {
  const push = (value: number) => {
    const body = JSON.stringify({ value });
    const head = `POST /api/v2/devices/d/sensors/s/values HTTP/1.1\r\n${host}Content-Type: application/json\r\n`;
    return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  };
  const known = `GET /health/live HTTP/1.1\r\n${host}\r\n`;
  const chunked = `POST /api/v2/devices/d/sensors/s/values HTTP/1.1\r\n${host}Content-Type: application/json\r\n`;
  /** Requests whose answer ends the connection. */
  const last: Readonly<Record<string, string>> = {
    'a client that asks for it': `GET /health/live HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    'HTTP/1.0': `GET /health/live HTTP/1.0\r\n${host}\r\n`,
    'no Host': 'GET /health/live HTTP/1.1\r\n\r\n',
    'a method that nobody knows': `DRUM / HTTP/1.1\r\n${host}\r\n`,
    CONNECT: `CONNECT x:1 HTTP/1.1\r\n${host}\r\n`,
    'a bad chunk': `${chunked}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    'an unmet expectation': `GET / HTTP/1.1\r\n${host}Expect: 200-ok\r\n\r\n`,
    'a body too large': `${chunked}Content-Length: 17000000\r\n\r\n`,
  };
  for (const [what, request] of Object.entries(last)) {
    for (const isKnown of [true, false]) {
      test(`(${what}, ${isKnown ? 'a later' : 'the first'} request) nothing is stored without an answer`, async () => {
        const before = await stored();
        const socket = await open(server.running.ports.http);
        const text = readAll(socket);
        if (isKnown) {
          socket.write(known);
          await server.send('GET', '/health/live');
        }
        socket.write(`${request}${push(11)}${push(12)}`);
        const answers = (await text).match(/^HTTP\/1\.1 2\d\d No Content/gm)?.length ?? 0;
        await server.running.idle();
        assert.equal((await stored()) - before, answers);
        assert.equal(answers, 0);
      });
    }
  }

  test('what came whole in front of it is answered and stored, in its turn', async () => {
    for (const [what, request] of Object.entries(last)) {
      const before = await stored();
      const socket = connect(server.running.ports.http, '127.0.0.1');
      const text = readAll(socket);
      // The second is not for the fast path.
      const unusual = push(2).replace(host, `${host}Idempotency-Key: ${what}\r\n`);
      socket.write(`${push(1)}${unusual}${push(3)}${request}${push(4)}`);
      const statuses = (await text).match(/^HTTP\/1\.1 \d\d\d/gm)?.map((line) => line.slice(9)) ?? [];
      assert.deepEqual(statuses.slice(0, 3), ['204', '204', '204'], what);
      assert.equal(statuses.length, 4, what);
      await server.running.idle();
      assert.equal((await stored()) - before, 3, what);
    }
  });

  async function stored(): Promise<number> {
    const { body } = await make(server, { call: 'GET /devices/d/sensors/s/values?lastN=30000', expect: 200 });
    return body.length;
  }
});
