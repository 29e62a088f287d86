// What microcontrollers in the field send, byte by byte (contract 1): heads whose lines end in bare line feeds, JSON as a
// form, a NUL behind it, addresses with two slashes. And that none of it lets anybody smuggle a request.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
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

const values = '/api/v2/devices/d/sensors/s/values';

/** A push of this value with these ends of lines and headers. */
function push(
  value: number,
  { eol = '\n', head = [] as readonly string[], version = '1.1', body = `{"value":${value}}` } = {},
): string {
  const lines = [
    `POST ${values} HTTP/${version}`,
    'Host: dundun',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...head,
  ];
  return `${lines.join(eol)}${eol}${eol}${body}`;
}

async function stored(at = server): Promise<number[]> {
  await at.running.idle();
  const { body } = await at.call('guest', 'GET', '/devices/d/sensors/s/values?limit=30000');
  return body.map(({ value }: { value: number }) => value);
}

const statusesOf = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d\d\d) /g)].map(([, status]) => Number(status));

/** The statuses of all answers until the server ends the connection, or until so many have come. */
async function say(pieces: readonly string[], count: number, socket?: Socket): Promise<number[]> {
  const connection = socket ?? (await open(server.running.ports.http));
  const answers = answersOf(connection);
  const sent = (async () => {
    for (const piece of pieces) {
      connection.write(piece, 'latin1');
      for (let turns = 0; turns < 3; turns++) await turn();
    }
  })();
  const statuses: number[] = [];
  while (statuses.length < count) {
    const { value, done } = await answers.next();
    if (done) break;
    statuses.push(...statusesOf(value));
  }
  await sent;
  connection.destroy();
  return statuses;
}

let next = 100;
const value = () => next++;

suite('a head with bare line feeds', () => {
  test('is taken, the first and later ones of a connection, and of it alone or with what comes behind it', async () => {
    const [a, b, c, d] = [value(), value(), value(), value()];
    const known = (await stored()).length;
    assert.deepEqual(await say([push(a), push(b), push(c) + push(d)], 4), [204, 204, 204, 204]);
    assert.deepEqual((await stored()).slice(known), [a, b, c, d]);
  });

  test('is taken however it is cut, byte by byte too', async () => {
    const known = (await stored()).length;
    const text = push(value());
    for (let at = 1; at < text.length; at += 7) {
      assert.deepEqual(await say([text.slice(0, at), text.slice(at)], 1), [204], String(at));
    }
    const two = push(value()) + push(value());
    assert.deepEqual(await say([...two], 2), [204, 204]);
    assert.equal((await stored()).length - known, Math.ceil((text.length - 1) / 7) + 2);
  });

  test('is taken beside heads with CRLF, on one connection', async () => {
    const known = (await stored()).length;
    const [a, b, c, d] = [value(), value(), value(), value()];
    const crlf = { eol: '\r\n' };
    assert.deepEqual(await say([push(a), push(b, crlf), push(c) + push(d, crlf)], 4), [204, 204, 204, 204]);
    assert.deepEqual((await stored()).slice(known), [a, b, c, d]);
  });

  test('is taken with line ends behind the body, and lines that end in CRLF behind a first one that does not', async () => {
    const known = (await stored()).length;
    const [a, b, c] = [value(), value(), value()];
    const mixed = push(c).replaceAll('\n', '\r\n').replace('\r\n', '\n');
    assert.deepEqual(await say([`${push(a)}\n`, `\r\n\r\n${push(b)}`, `\r\n${mixed}`], 3), [204, 204, 204]);
    assert.deepEqual((await stored()).slice(known), [a, b, c]);
  });

  test('ends its connection where it asks for that', async () => {
    for (const last of [{ head: ['Connection: close'] }, { version: '1.0' }]) {
      const known = (await stored()).length;
      assert.deepEqual(await say([push(value()), push(value(), last) + push(value())], 3), [204, 204]);
      assert.equal((await stored()).length - known, 2);
    }
  });

  test('is read by every route, with every header', async () => {
    const token = (await server.call('owner', 'POST', '/auth/token', { json: { username: 'owner', password: 'x' } }))
      .status;
    assert.equal(token, 401);
    const get = 'GET /api/v2/devices/d HTTP/1.1\nHost: x\nAccept: application/json\nAccept: */*\nX-Name: käse\n\n';
    const created = '{"id":"by-lf"}';
    const post = `POST /api/v1/sensors HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: ${created.length}\n\n${created}`;
    assert.deepEqual(
      await say([get, get + post, 'DELETE /api/v2/devices/by-lf HTTP/1.1\nHost: x\n\n'], 4),
      [200, 200, 200, 204],
    );
  });

  test('is taken over TLS', async () => {
    const folder = 'test/support/tls';
    const tls = await TestServer.start({ DUNDUN_TLS_CERT: `${folder}/cert.pem`, DUNDUN_TLS_KEY: `${folder}/key.pem` });
    try {
      const socket = connectTls({ port: tls.running.ports.http, host: '127.0.0.1', rejectUnauthorized: false });
      await new Promise((resolve) => socket.once('secureConnect', resolve));
      const heartbeat = 'GET /health/live HTTP/1.1\nHost: x\n\n';
      assert.deepEqual(await say([heartbeat.slice(0, 9), heartbeat.slice(9), heartbeat], 2, socket), [200, 200]);
    } finally {
      await tls.stop();
    }
  });
});

suite('where the framing is in doubt nothing is taken', () => {
  const inner = (eol: string) => push(1, { eol });
  const h = 'Host: x';
  const rows: Readonly<Record<string, (smuggled: string) => string>> = {
    'Transfer-Encoding': (s) => `POST ${values} HTTP/1.1\n${h}\nTransfer-Encoding: chunked\n\n0\r\n\r\n${s}`,
    'Transfer-Encoding beside Content-Length': (s) =>
      `POST ${values} HTTP/1.1\n${h}\nContent-Length: 4\nTransfer-Encoding: chunked\n\n0\r\n\r\n${s}`,
    'Transfer-Encoding with a blank before the colon': (s) =>
      `POST ${values} HTTP/1.1\n${h}\nTransfer-Encoding : chunked\n\n0\r\n\r\n${s}`,
    'two lengths that differ': (s) => `POST ${values} HTTP/1.1\n${h}\nContent-Length: 2\nContent-Length: 0\n\n{}${s}`,
    'two lengths that are the same': (s) =>
      `POST ${values} HTTP/1.1\n${h}\nContent-Length: 2\nContent-Length: 2\n\n{}${s}`,
    'a list of lengths': (s) => `POST ${values} HTTP/1.1\n${h}\nContent-Length: 2, 2\n\n{}${s}`,
    'a signed length': (s) => `POST ${values} HTTP/1.1\n${h}\nContent-Length: +2\n\n{}${s}`,
    'a hexadecimal length': (s) => `POST ${values} HTTP/1.1\n${h}\nContent-Length: 0x2\n\n{}${s}`,
    'an empty length': (s) => `POST ${values} HTTP/1.1\n${h}\nContent-Length:\n\n${s}`,
    'a length before a space that is none of ASCII': (s) =>
      `POST ${values} HTTP/1.1\n${h}\nContent-Length: 2\xa0\n\n{}${s}`,
    'a continued line': (s) => `POST ${values} HTTP/1.1\n${h}\nX: a\n Content-Length: 2\n\n{}${s}`,
    'a continued line with a tab': (s) => `POST ${values} HTTP/1.1\n${h}\nX: a\n\tb\n\n${s}`,
    'a bare CR in a header': (s) => `POST ${values} HTTP/1.1\n${h}\nX: a\rContent-Length: 2\n\n{}${s}`,
    'a bare CR for the end of a line': (s) => `POST ${values} HTTP/1.1\r${h}\r\r${s}`,
    'a bare CR before the empty line': (s) => `POST ${values} HTTP/1.1\n${h}\r\n\r${s}`,
    'a NUL in a header': (s) => `POST ${values} HTTP/1.1\n${h}\nX: a\0b\n\n${s}`,
    'a line without a colon': (s) => `POST ${values} HTTP/1.1\n${h}\nX\n\n${s}`,
    'a header without a name': (s) => `POST ${values} HTTP/1.1\n${h}\n: 2\n\n${s}`,
    'a bare line feed behind a request line with CRLF': (s) =>
      `POST ${values} HTTP/1.1\r\n${h}\r\nX: a\nContent-Length: 2\r\n\r\n{}${s}`,
    'a head that ends in bare line feeds behind CRLF': (s) => `POST ${values} HTTP/1.1\r\n${h}\r\n\n${s}`,
    'an upgrade': (s) => `GET /mqtt HTTP/1.1\n${h}\nUpgrade: websocket\nConnection: Upgrade\n\n${s}`,
    'an expectation': (s) => `POST ${values} HTTP/1.1\n${h}\nExpect: 100-continue\nContent-Length: 2\n\n{}${s}`,
    'a trailer': (s) => `POST ${values} HTTP/1.1\n${h}\nTrailer: X\n\n${s}`,
    CONNECT: (s) => `CONNECT x:1 HTTP/1.1\n${h}\n\n${s}`,
    'another version': (s) => `GET / HTTP/2.0\n${h}\n\n${s}`,
    'no version': (s) => `GET /\n\n${s}`,
    'a target with a blank': (s) => `GET /a b HTTP/1.1\n${h}\n\n${s}`,
  };
  for (const [what, bytes] of Object.entries(rows)) {
    test(what, async () => {
      for (const eol of ['\n', '\r\n']) {
        for (const isKnown of [false, true]) {
          const before = (await stored()).length;
          const socket = await open(server.running.ports.http);
          const text = readAll(socket);
          if (isKnown) {
            socket.write('GET /health/live HTTP/1.1\nHost: x\n\n');
            await server.send('GET', '/health/live');
          }
          socket.write(bytes(inner(eol)), 'latin1');
          socket.end();
          const statuses = statusesOf(await text).slice(isKnown ? 1 : 0);
          assert.deepEqual(statuses, [400], `${JSON.stringify(eol)} ${isKnown}`);
          assert.equal((await stored()).length, before, what);
        }
      }
    });
  }

  test('two hosts, and none, are refused as with CRLF', async () => {
    for (const hosts of ['', 'Host: a\nHost: b\n']) {
      assert.deepEqual(await say([`GET /health/live HTTP/1.1\n${hosts}\n`], 1), [400]);
    }
  });

  test('a head longer than 16 KiB, and one that does not come to its end', async () => {
    const endless = `GET / HTTP/1.1\nHost: x\nX: ${'x'.repeat(20_000)}\n\n`;
    const [status] = await say([endless], 1);
    assert.ok(status === 400 || status === 431, String(status));
    const socket = await open(server.running.ports.http);
    const text = readAll(socket);
    socket.end('GET /health/live HTTP/1.1\nHost: x\n');
    assert.deepEqual(statusesOf(await text), [400]);
  });

  test('from a trusted proxy, which never writes bare line feeds by itself', async () => {
    const behind = await TestServer.start({ DUNDUN_TRUST_PROXY: '127.0.0.1' });
    try {
      const socket = connect(behind.running.ports.http, '127.0.0.1');
      assert.deepEqual(await say(['GET /health/live HTTP/1.1\nHost: x\n\n'], 1, socket), [400]);
    } finally {
      await behind.stop();
    }
  });
});

suite('JSON', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };

  test('is taken as a form at every door, and what is no JSON is not', async () => {
    const v = value();
    const answers = await Promise.all([
      server.send('POST', values, { headers: form, body: `{"value":${v}}` }),
      server.send('POST', values, {
        headers: { 'content-type': `${form['content-type']}; charset=UTF-8` },
        body: `[{"value":${v}}]`,
      }),
      server.send('POST', '/api/v1/sensors/d/measurements/s/values', { headers: form, body: `{"value":${v}}` }),
      server.send('POST', '/api/v2/devices', { headers: form, body: '{"id":"by-form"}' }),
      server.send('POST', '/api/v2/auth/token', { headers: form, body: '{"username":"owner","password":"wrong"}' }),
      server.send('POST', values, { headers: form, body: `value=${v}` }),
      server.send('POST', values, {
        headers: { 'content-type': 'application/x-www-form-urlencoded2' },
        body: `{"value":${v}}`,
      }),
    ]);
    assert.deepEqual(answers.map(({ status }) => status), [204, 204, 200, 204, 401, 400, 415]); // biome-ignore format: one line
    assert.equal((await stored()).filter((one) => one === v).length, 3);
  });

  test('is no form where a page signs in, nor from a page that may not call the service', async () => {
    const json = '{"username":"owner","password":"wrong"}';
    assert.equal((await server.send('POST', '/api/v2/auth/session', { headers: form, body: json })).status, 415);
    const guarded = await TestServer.start({ DUNDUN_CORS_ORIGINS: 'https://good.example' });
    try {
      const create = async (id: string, origin: Record<string, string>) =>
        (await guarded.send('POST', '/api/v2/devices', { headers: { ...form, ...origin }, body: `{"id":"${id}"}` }))
          .status;
      assert.equal(await create('a', { origin: 'https://evil.example' }), 415);
      assert.equal(await create('b', { origin: 'null' }), 415);
      assert.equal(await create('c', { origin: 'https://good.example' }), 204);
      assert.equal(await create('d', {}), 204);
    } finally {
      await guarded.stop();
    }
  });

  test('may have NULs behind it, and nowhere else', async () => {
    const v = value();
    const json = { 'content-type': 'application/json' };
    const rows: readonly (readonly [string, number])[] = [
      [`{"value":${v}}\0`, 204],
      [`[{"value":${v}}]\0\0\0`, 204],
      [`{"value":${v}\0}`, 400],
      [`\0{"value":${v}}`, 400],
      [`{"value":${v}}\0{"value":${v}}`, 400],
      ['\0', 400],
    ];
    for (const [body, expected] of rows) {
      assert.equal((await server.send('POST', values, { headers: json, body })).status, expected, JSON.stringify(body));
    }
    assert.equal((await stored()).filter((one) => one === v).length, 2);
  });
});

test('addresses that begin with several slashes are those with one', async () => {
  const json = { headers: { 'content-type': 'application/json' }, body: '{"value":1}' };
  for (const path of [`/${values}`, `//${values}`, '//api/v1/sensors/d/measurements/s/values']) {
    assert.ok((await server.send('POST', path, json)).status < 300, path);
  }
  assert.equal((await server.send('GET', '//api/v2/devices//d')).status, 404);
  assert.equal((await server.send('GET', '//evil.example/api/v2/devices')).status, 404);
});
