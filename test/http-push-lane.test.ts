// The lane of usual pushes (src/http/push-lane.ts): nobody can tell from outside whether a push took it. Each request is
// sent as it is, in pieces as a network cuts it, and once more with a preference that nobody knows, which the lane leaves to
// the framework: the answers are the same, and so is what is stored.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { properties } from './support/properties.ts';
import { TestServer } from './support/test-server.ts';

let server: TestServer;

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

/** Sends bytes in pieces, each in a turn of its own; all that comes back until the server ends the connection. */
async function exchange(bytes: Buffer, cuts: readonly number[] = []): Promise<string> {
  const socket = await open();
  const places = [0, ...cuts.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b), bytes.length];
  for (const [i, place] of places.slice(1).entries()) {
    socket.write(bytes.subarray(places[i], place));
    for (let turns = 0; turns < 3; turns++) await turn();
  }
  return readAll(socket);
}

async function open(): Promise<Socket> {
  const socket = connect(server.running.ports.http, '127.0.0.1').setNoDelay();
  await once(socket, 'connect');
  return socket;
}

async function readAll(socket: Socket): Promise<string> {
  let text = '';
  for await (const piece of socket.setEncoding('utf8')) text += piece;
  return text;
}

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

suite('a usual push', () => {
  test('is answered and stored as by the framework, whatever is unusual about it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { minLength: 1, maxLength: 4 }), async (all) => {
        const seen = { quick: [] as string[], framework: [] as string[] };
        const left = { quick: [] as unknown[], framework: [] as unknown[] };
        for (const way of ['quick', 'framework'] as const) {
          for (const one of all) {
            const more = way === 'quick' ? [close] : [close, 'Prefer: nothing-known'];
            seen[way].push(withoutDate(await exchange(await request(one, ...more), one.cuts)));
          }
          left[way] = await stored();
          await empty();
        }
        assert.deepEqual(seen.quick, seen.framework);
        assert.deepEqual(left.quick, left.framework);
      }),
      properties({ factor: 0.5 }),
    );
  });

  test('goes to the sensor that its address means, where another has the id that it spells', async () => {
    const usual = { as: 'owner', headers: ['Content-Type: application/json'], body: '{"value":1}' };
    for (const sensor of ['s', '%41']) {
      const path = `/api/v2/devices/public/sensors/${sensor}/values`;
      assert.match(await exchange(await request({ ...usual, path }, close)), /^HTTP\/1\.1 204/);
    }
    assert.equal((await server.call('owner', 'GET', '/devices/public/sensors/A/values')).body.length, 1);
    await empty();
  });

  test('keeps its turn among the requests of its connection', async () => {
    const usual = {
      path: '/api/v2/devices/public/sensors/s/values',
      as: 'owner',
      headers: ['Content-Type: application/json'],
    };
    const one = (value: number, ...more: string[]) => request({ ...usual, body: JSON.stringify({ value }) }, ...more);
    const unusual = 'Prefer: nothing-known';
    const sent = [one(1), one(2, unusual), one(3), one(4), one(5, unusual), one(6), one(7, close)];
    const answer = await exchange(Buffer.concat(await Promise.all(sent)));
    assert.equal(answer.match(/HTTP\/1\.1 204 No Content/g)?.length, 7);
    const { body } = await server.call('owner', 'GET', '/devices/public/sensors/s/values');
    assert.deepEqual(
      body.map(({ value }: { value: number }) => value),
      [1, 2, 3, 4, 5, 6, 7],
    );
    await empty();
  });

  test('that ends before its body does stores nothing, and the server goes on', async () => {
    const usual = {
      path: '/api/v2/devices/public/sensors/s/values',
      as: 'owner',
      headers: ['Content-Type: application/json'],
    };
    const whole = await request({ ...usual, body: '{"value":1}' }, close);
    for (const length of [whole.length - 1, whole.length - 11, whole.length - 12]) {
      const socket = await open();
      socket.end(whole.subarray(0, length));
      assert.match(await readAll(socket), /^(HTTP\/1\.1 400|$)/);
    }
    assert.deepEqual(new Set((await stored()).flat()), new Set(['']));
    assert.match(await exchange(whole), /^HTTP\/1\.1 204/);
    await empty();
  });

  test('by somebody whose right was taken away a moment ago is refused', async () => {
    const usual = {
      path: '/api/v2/devices/private/sensors/s/values',
      as: 'sharer',
      headers: ['Content-Type: application/json'],
    };
    const whole = await request({ ...usual, body: '{"value":1}' }, close);
    assert.match(await exchange(whole), /^HTTP\/1\.1 204/);
    await server.call('owner', 'DELETE', '/devices/private/shares/sharer');
    assert.match(await exchange(whole), /^HTTP\/1\.1 403/);
  });
});
