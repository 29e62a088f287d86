// The fast path of usual pushes (src/http/fast-path/push-fast-path.ts) answers exactly like the framework. Each
// request is sent unchanged, in pieces as a network may cut it, and once more with an unknown preference, which makes
// the fast path leave it to the framework: answers and stored rows are the same.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { answersOf, Client, open, readAll } from '../../support/peers/http-connection.ts';
import { properties } from '../../support/properties.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;
const port = () => server.running.ports.http;

/** Of the last two one is what the other means in an address. */
const ids = ['s', 'A', '%41'];
const sensors = ids.map((id) => ({ id }));

before(async () => {
  server = await TestServer.start();
  for (const visibility of ['public', 'private']) {
    await server.call('owner', 'POST', '/devices', { json: { id: visibility, visibility, sensors } });
  }
  await server.call('owner', 'PUT', '/devices/private/shares/sharer', { json: { scopes: ['device-data:create'] } });
});
after(() => server.stop());

interface Asked {
  readonly path: string;
  readonly as: string;
  readonly headers: readonly string[];
  readonly body: string;
  /** Where it is cut, as parts of its length. */
  readonly cuts: readonly number[];
}

const asked: fc.Arbitrary<Asked> = fc.record({
  path: fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom('public', 'private').map((id) => `/api/v2/devices/${id}/sensors/s/values`),
    },
    fc.constantFrom(
      '/api/v2/devices/public/sensors/s/value',
      '/api/v2/devices/public/sensors/s/values/',
      '/api/v2/devices/public/sensors/s/values?a=1',
      '/api/v2/devices/p%75blic/sensors/s/values',
      '/api/v2/devices/public/sensors/A/values',
      '/api/v2/devices/public/sensors/%41/values',
      '/api/v2/devices/public/sensors/%2541/values',
      '/api/v2/devices/public/sensors/none/values',
      '/api/v2/devices/none/sensors/s/values',
      '/api/v2/devices/public/sensors//values',
      '/api/v2/devices//sensors/s/values',
      '/api/v2/devices/values',
      '/api/v2/devices/public/values',
      '/api/v2/devices/public/sensors/values',
      '/api/v2/devices/public/actuators/s/values',
      '/api/v2/devices/../devices/public/sensors/s/values',
      '/api/v1/sensors/public/measurements/s/values',
    ),
  ),
  as: fc.constantFrom('guest', 'stranger', 'sharer', 'owner', 'admin', 'nobody'),
  headers: fc.oneof(
    { weight: 6, arbitrary: fc.constant(['Content-Type: application/json']) },
    fc.constantFrom(
      ['Content-Type: application/json; charset=utf-8'],
      ['Content-Type: application/json; charset=latin1'],
      ['Content-Type: text/plain'],
      ['Content-Type: application/xml'],
      ['Content-Type: application/json', 'Content-Encoding: gzip'],
      ['Content-Type: application/json', 'Origin: http://elsewhere.example'],
      ['Content-Type: application/json', 'Expect: 100-continue'],
      [],
    ),
  ),
  body: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify({ value })),
    },
    { weight: 2, arbitrary: fc.constant('{"value":21.5,"timestamp":"2026-01-10T18:20:27Z"}') },
    fc.json(),
    fc.constantFrom(
      '',
      '[]',
      '[{"value":1},{"value":2}]',
      '{"value":1}{',
      '{"value":1e400}',
      '{"value":1',
      '{"value":1} ',
    ),
    fc.constant(`{"value":"${'x'.repeat(300)}"}`),
  ),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
});

async function request({ path, as, headers, body }: Omit<Asked, 'cuts'>, ...more: readonly string[]): Promise<Buffer> {
  const token = as === 'nobody' ? 'made.up.token' : as === 'guest' ? undefined : await server.token(as);
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: dundun',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...headers,
    ...more,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

const devices = ['public', 'private'];

/** What was stored, but for when and under which number. */
async function stored(): Promise<unknown[]> {
  const texts: unknown[] = [];
  for (const device of devices) {
    for (const id of ids) {
      const path = `/devices/${device}/sensors/${encodeURIComponent(id)}/values?format=ndjson`;
      texts.push((await server.call('owner', 'GET', path)).text.split('\n').sort());
    }
  }
  return texts;
}

async function empty(): Promise<void> {
  for (const device of devices) {
    for (const id of ids) {
      await server.call('owner', 'DELETE', `/devices/${device}/sensors/${encodeURIComponent(id)}`);
      await server.call('owner', 'POST', `/devices/${device}/sensors`, { json: { id } });
    }
  }
}

const withoutDate = (answer: string) => answer.replace(/^Date: .*\r\n/m, '');
const close = 'Connection: close';
/** What the fast path leaves to the framework. */
const unusual = 'Prefer: nothing-known';
const json = ['Content-Type: application/json'];
const usualPath = '/api/v2/devices/public/sensors/s/values';

const push = (value: number, ...more: readonly string[]) =>
  request({ path: usualPath, as: 'owner', headers: json, body: JSON.stringify({ value }) }, ...more);

/** A push whose length nobody tells before. */
async function chunked(value: number): Promise<Buffer> {
  const body = JSON.stringify({ value });
  const head = (await push(value))
    .toString()
    .replace(/Content-Length: .*\r\n\r\n.*/s, 'Transfer-Encoding: chunked\r\n\r\n');
  return Buffer.from(`${head}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
}

suite('a usual push', () => {
  test('is answered and stored as by the framework, whatever is unusual about it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { minLength: 1, maxLength: 5 }), async (all) => {
        const seen = { quick: [] as unknown[], framework: [] as unknown[] };
        const left = { quick: [] as unknown[], framework: [] as unknown[] };
        for (const way of ['quick', 'framework'] as const) {
          let client = await Client.connect(port());
          for (const one of all) {
            const whole = await request(one, ...(way === 'quick' ? [] : [unusual]));
            seen[way].push(withoutDate((await client.ask(whole, one.cuts)) ?? ''));
            if (client.isOpen) continue;
            client.end();
            client = await Client.connect(port());
          }
          client.end();
          left[way] = await stored();
          await empty();
        }
        assert.deepEqual(seen.quick, seen.framework);
        assert.deepEqual(left.quick, left.framework);
      }),
      properties({ factor: 0.5 }),
    );
  });

  test('is answered and stored in its turn, however many are sent at once and however they are cut', async () => {
    const others = fc.constantFrom('GET /health/live HTTP/1.1\r\nHost: dundun\r\n\r\n', undefined);
    const steps = fc.array(fc.record({ isUsual: fc.boolean(), isChunked: fc.boolean(), other: others }), {
      minLength: 1,
      maxLength: 12,
    });
    const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(steps, cuts), { minLength: 1, maxLength: 3 }), async (rounds) => {
        const client = await Client.connect(port());
        let last = 0;
        for (const [round, places] of rounds) {
          const requests = round.map(async ({ isUsual, isChunked, other }) => {
            if (other !== undefined) return Buffer.from(other);
            last += 1;
            return isChunked ? chunked(last) : push(last, ...(isUsual ? [] : [unusual]));
          });
          const answers = await client.askAtOnce(await Promise.all(requests), places);
          const statuses = answers.map((answer) => answer?.slice(9, 12));
          assert.deepEqual(
            statuses,
            round.map(({ other }) => (other === undefined ? '204' : '200')),
          );
        }
        client.end();
        const { body } = await server.call('owner', 'GET', '/devices/public/sensors/s/values?limit=100');
        assert.deepEqual(
          body.map(({ value }: { value: number }) => value),
          Array.from({ length: last }, (_, n) => n + 1),
        );
        await empty();
      }),
      properties({ factor: 0.3 }),
    );
  });

  test('is taken without the server of Node.js once its connection has asked, also in two pieces and several at once', async () => {
    let seen = 0;
    const count = (message: unknown) => {
      const { socket } = message as { readonly socket: Socket };
      if (socket.localPort === server.running.ports.http) seen += 1;
    };
    subscribe('http.server.request.start', count);
    const client = await Client.connect(port());
    for (let value = 1; value <= 3; value++)
      assert.match((await client.ask(await push(value))) ?? '', /^HTTP\/1\.1 204/);
    const whole = await push(4);
    assert.match((await client.ask(whole, [(whole.length - 11) / whole.length])) ?? '', /^HTTP\/1\.1 204/);
    for (const answer of await client.askAtOnce([await push(5), await push(6)]))
      assert.match(answer ?? '', /^HTTP\/1\.1 204/);
    assert.equal(seen, 1);
    assert.match((await client.ask(await push(7, unusual))) ?? '', /^HTTP\/1\.1 204/);
    assert.equal(seen, 2);
    assert.match((await client.ask(await push(8))) ?? '', /^HTTP\/1\.1 204/);
    assert.equal(seen, 2);
    unsubscribe('http.server.request.start', count);
    client.end();
    assert.equal((await server.call('owner', 'GET', '/devices/public/sensors/s/values')).body.length, 8);
    await empty();
  });

  test('that is the first of its connection is answered without the framework, and those behind it come after it', async () => {
    const seen: string[] = [];
    const note = () => seen.push('framework');
    // From now on its device is in memory.
    await server.call('owner', 'POST', '/devices/public/sensors/s/values', { json: { value: 0 } });
    subscribe('tracing:fastify.request.handler:start', note);
    for (const [first, ...more] of [[1], [2, 3], [4, 5, 6]] as [number, ...number[]][]) {
      const socket = await open(port());
      const answers = answersOf(socket);
      socket.end(Buffer.concat(await Promise.all([first, ...more].map((value) => push(value)))));
      const statuses: string[] = [];
      for await (const answer of answers) statuses.push(answer.slice(9, 12));
      assert.deepEqual(statuses, [first, ...more].fill(204).map(String));
    }
    assert.deepEqual(seen, []);
    const socket = await open(port());
    const answers = answersOf(socket);
    socket.write(await push(7, unusual));
    assert.match(String((await answers.next()).value), /^HTTP\/1\.1 204/);
    assert.deepEqual(seen, ['framework']);
    socket.destroy();
    unsubscribe('tracing:fastify.request.handler:start', note);
    const { body } = await server.call('owner', 'GET', '/devices/public/sensors/s/values?limit=100');
    assert.deepEqual(
      body.map(({ value }: { value: number }) => value),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
    await empty();
  });

  test('is stored also where its client reads no answer for a long time', async () => {
    const count = 20_000;
    const requests = await Promise.all(Array.from({ length: count }, (_, n) => push(n)));
    const socket = await open(port());
    socket.write('GET /health/live HTTP/1.1\r\nHost: dundun\r\n\r\n');
    socket.write(
      Buffer.concat([...requests, Buffer.from(`GET /health/live HTTP/1.1\r\nHost: dundun\r\n${close}\r\n\r\n`)]),
    );
    const first = async () => (await server.call('owner', 'GET', '/devices/public/sensors/s/values?limit=1')).body[0];
    await until(async () => (await first()) !== undefined);
    // The long time.
    for (let turns = 0; turns < 1_000; turns++) await turn();
    const text = await readAll(socket);
    assert.equal(text.match(/HTTP\/1\.1 204 No Content/g)?.length, count);
    assert.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, 2);
    const path = '/devices/public/sensors/s/values?format=ndjson&limit=100000';
    const lines = (await server.call('owner', 'GET', path)).text.trim().split('\n');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).value),
      Array.from({ length: count }, (_, n) => n),
    );
    await empty();
  });

  test('goes to the sensor that its address means, where another has the id that it spells', async () => {
    const client = await Client.connect(port());
    for (const sensor of ['s', '%41', 'A']) {
      const path = `/api/v2/devices/public/sensors/${sensor}/values`;
      const whole = await request({ path, as: 'owner', headers: json, body: '{"value":1}' });
      assert.match((await client.ask(whole)) ?? '', /^HTTP\/1\.1 204/);
    }
    client.end();
    assert.equal((await server.call('owner', 'GET', '/devices/public/sensors/A/values')).body.length, 2);
    await empty();
  });

  test('whose end is in doubt is read as Node.js reads it, and nothing is smuggled in behind it', async () => {
    const inner = (await push(666)).toString();
    const usual = (await push(1)).toString();
    const length = /Content-Length: \d+/;
    const variants = [
      usual.replace(length, 'Content-Length: +11'),
      usual.replace(length, 'Content-Length: 0x0b'),
      usual.replace(length, 'Content-Length: 11, 11'),
      usual.replace(length, 'Content-Length: 11\r\nContent-Length: 300'),
      usual.replace(length, 'Content-Length: 300\r\nContent-Length: 11'),
      usual.replace(length, 'Content-Length: 11\r\nTransfer-Encoding: chunked'),
      usual.replace(length, 'Transfer-Encoding: chunked\r\nContent-Length: 11'),
      usual.replace(length, 'Transfer-Encoding: identity\r\nContent-Length: 11'),
      usual.replace(length, 'Content-Length : 11'),
      usual.replace(length, ' Content-Length: 11'),
      usual.replace(length, 'Content-Length:\r\n 11'),
      usual.replace(length, 'Content-Length: 11\nX: y'),
      usual.replace(length, 'Content-Length: 11\rX: y'),
      usual.replace(length, 'X: a\0b\r\nContent-Length: 11'),
      usual.replace(length, 'Content-Length: 011'),
      usual.replace('Host: dundun\r\n', ''),
      usual.replace('Host: dundun\r\n', 'Host: dundun\r\nHost: other\r\n'),
      usual.replace(' HTTP/1.1', ' HTTP/1.0'),
      usual.replace(' HTTP/1.1', ' HTTP/1.1 '),
      usual.replace('POST ', 'POST  '),
      usual.replace('POST ', 'post '),
      usual.replaceAll('\r\n', '\n'),
      usual.replace('Host: dundun\r\n', 'Host: dundun\r\nProxy-Connection: close\r\n'),
      `\r\n\r\n${usual}`,
      `${usual}\r\n`,
    ];
    for (const variant of variants) {
      // Without a host a request is refused by Node.js's server, not by its parser, and nobody says whether what follows counts.
      const bytes = Buffer.from(variant.includes('Host: ') ? `${variant}${inner}` : variant, 'latin1');
      const results = [];
      for (const asked of [[], [Buffer.from('GET /health/live HTTP/1.1\r\nHost: dundun\r\n\r\n')]]) {
        const socket = await open(port());
        const answers = answersOf(socket);
        for (const one of asked) {
          socket.write(one);
          await answers.next();
        }
        socket.write(bytes);
        socket.write(`GET /health/live HTTP/1.1\r\nHost: dundun\r\n${close}\r\n\r\n`);
        const texts: string[] = [];
        for await (const text of answers) texts.push(withoutDate(text));
        await server.running.idle();
        results.push({ texts, stored: (await stored()).map((lines) => (lines as string[]).length) });
        await empty();
      }
      assert.deepEqual(results[1], results[0], JSON.stringify(variant));
    }
  });

  test('that ends before its body does stores nothing, and the server goes on', async () => {
    const whole = await push(1);
    for (const length of [whole.length - 1, whole.length - 11, whole.length - 12]) {
      const socket = await open(port());
      socket.write('GET /health/live HTTP/1.1\r\nHost: dundun\r\n\r\n');
      await once(socket, 'readable');
      socket.end(whole.subarray(0, length));
      assert.match(await readAll(socket), /^HTTP\/1\.1 200.*HTTP\/1\.1 400 Bad Request.*$/s);
    }
    assert.deepEqual(new Set((await stored()).flat()), new Set(['']));
    const client = await Client.connect(port());
    assert.match((await client.ask(whole)) ?? '', /^HTTP\/1\.1 204/);
    client.end();
    await empty();
  });

  test('by somebody whose right was taken away a moment ago is refused', async () => {
    const path = '/api/v2/devices/private/sensors/s/values';
    const whole = await request({ path, as: 'sharer', headers: json, body: '{"value":1}' });
    const client = await Client.connect(port());
    assert.match((await client.ask(whole)) ?? '', /^HTTP\/1\.1 204/);
    assert.match((await client.ask(whole)) ?? '', /^HTTP\/1\.1 204/);
    await server.call('owner', 'DELETE', '/devices/private/shares/sharer');
    assert.match((await client.ask(whole)) ?? '', /^HTTP\/1\.1 403/);
    client.end();
  });
});
