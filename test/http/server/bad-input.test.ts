// Invalid input of every kind gets a clear 4xx, stores nothing, and leaves the service working (contract 1).
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const parts = { sensors: [{ id: 's' }], actuators: [{ id: 'a' }] };
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', ...parts } });
});
after(() => server.stop());
afterEach(async () => {
  assert.deepEqual(server.errors, []);
  assert.equal((await server.request('guest', 'GET', '/health/ready')).status, 200);
});

/** Doors that take JSON, each with a body that it would take. */
const doors: readonly (readonly [call: string, good: string])[] = [
  ['POST /auth/token', '{"username":"owner","password":"talking drum"}'],
  ['POST /devices', '{"id":"new"}'],
  ['PUT /devices/d/name', '"new"'],
  ['PUT /devices/d/location', '{"latitude":1,"longitude":2}'],
  ['PUT /devices/d/meta', '{"a":1}'],
  ['PUT /devices/d/deployed', 'true'],
  ['PUT /devices/d/shares/sharer', '{"scopes":["device:view"]}'],
  ['POST /devices/d/sensors', '{"id":"new"}'],
  ['PUT /devices/d/sensors/s/calib', '{}'],
  ['POST /devices/d/sensors/s/values', '{"value":1}'],
  ['POST /devices/d/actuators', '{"id":"new"}'],
  ['PUT /devices/d/actuators/a/value', '1'],
];

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const bytes = (...parts: (string | readonly number[])[]) => {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
};

/** What no door takes as JSON. */
const malformed: Readonly<Record<string, string | Uint8Array>> = {
  'an empty body': '',
  'white space': ' \n ',
  'an object without an end': '{"id":"x"',
  'a trailing comma': '{"id":"x",}',
  'single quotes': "{'id':'x'}",
  'no quotes': '{id:"x"}',
  'a comment': '{"id":"x"} // why',
  'two values': '{"id":"x"}{"id":"y"}',
  'a word': 'drum',
  undefined: 'undefined',
  NaN: 'NaN',
  'a number with a leading zero': '{"id":"x","value":01}',
  'a control character in a string': '{"id":"x","name":"a\u0001b"}',
  'a NUL byte': '{"id":"x"\u0000}',
  'an escaped NUL': '{"id":"x","value":"a\\u0000b","username":"x","password":"\\u0000"}',
  'an escaped NUL in a key': '{"id":"x","value":{"\\u0000":1}}',
  'half a surrogate pair, escaped': '{"id":"x","value":"\\ud83e"}',
  'the other half': '{"id":"x","value":"\\udd41\\ud83e"}',
  'half a surrogate pair in a key': '{"id":"x","value":{"\\ud83e":1}}',
  'half a surrogate pair as bytes': bytes('{"id":"x","value":"', [0xed, 0xa0, 0xbe], '"}'),
  'invalid UTF-8': bytes('{"id":"x","value":"', [0xff, 0xfe], '"}'),
  'an overlong encoding': bytes('{"id":"x","value":"', [0xc0, 0xaf], '"}'),
  'UTF-8 cut short': bytes('{"id":"x","value":"', [0xe2, 0x82], '"}'),
  'UTF-16': Buffer.from('{"id":"x"}', 'utf16le'),
  'gzip without saying so': bytes([0x1f, 0x8b, 0x08, 0x00]),
  __proto__: '{"id":"x","value":1,"__proto__":{"admin":true}}',
  '__proto__ deeper': '{"id":"x","value":{"a":[{"__proto__":{}}]}}',
  '__proto__, escaped': '{"id":"x","value":{"\\u005f\\u005fproto\\u005f\\u005f":1}}',
  'constructor.prototype': '{"id":"x","value":{"constructor":{"prototype":{}}}}',
  'a number beyond all numbers': '{"id":"x","value":1e400}',
  'nesting of 33 levels': `{"id":"x","value":${nested(32)}}`,
  'nesting of 100 000 levels': nested(100_000),
  'nesting of 150 000 objects': `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`,
};

for (const [call, good] of doors) {
  suite(call, () => {
    const headers = { 'content-type': 'application/json' };
    for (const [what, body] of Object.entries(malformed)) {
      test(`refuses ${what}`, async () => {
        await make(server, { as: 'owner', call, body, headers, expect: 400 });
      });
    }

    test('refuses a body beyond 16 MiB', async () => {
      const length = String(16 * 1024 * 1024 + 1);
      await make(server, {
        as: 'owner',
        call,
        body: '[',
        headers: { ...headers, 'content-length': length },
        expect: 413,
      });
    });

    test('takes what it should after all of that', async () => {
      const status = call === 'POST /auth/token' ? 200 : 204;
      await make(server, { as: 'owner', call, body: good, headers, expect: status });
      if (call === 'POST /devices') await make(server, { as: 'owner', call: 'DELETE /devices/new', expect: 204 });
    });
  });
}

suite('a body is as long as its path needs', () => {
  const bytes = 1024 * 1024 + 1;
  const headers = { 'content-type': 'application/json' };
  const body = `"${'x'.repeat(bytes)}"`;
  for (const call of ['POST /auth/token', 'PUT /devices/d/name', 'PUT /devices/d/meta', 'POST /projects/p/none']) {
    test(`${call} takes no more than 1 MiB, with its length said or not`, async () => {
      const [method = '', path = ''] = call.split(' ');
      const said = await server.call('owner', method, path, { body, headers });
      assert.ok([404, 413].includes(said.status), String(said.status));
      if (said.status === 413) assert.match(said.body.detail, /1 MiB/);
    });
  }

  test('what is sent in pieces of no known length has the same bound', async () => {
    const stream = new ReadableStream({
      start(controller) {
        for (let n = 0; n < 20; n += 1) controller.enqueue(Buffer.alloc(64 * 1024, 0x20));
        controller.close();
      },
    });
    const init = { method: 'POST', headers, body: stream, duplex: 'half' } as RequestInit;
    const answer = await fetch(`${server.url}/api/v2/auth/token`, init);
    assert.equal(answer.status, 413);
  });

  test('datapoints, devices and projects take more', async () => {
    const padding = ' '.repeat(2 * 1024 * 1024);
    for (const [call, good] of [
      ['POST /devices/d/sensors/s/values', '{"value":1}'],
      ['POST /devices', '{"id":"long"}'],
      ['POST /datapoints', '[{"device_id":"d","sensor_id":"s","value":1}]'],
      ['POST /projects', '{"id":"long"}'],
    ] as const) {
      const [method = '', path = ''] = call.split(' ');
      const { status } = await server.call('owner', method, path, { body: padding + good, headers });
      assert.ok(status < 300, `${call}: ${status}`);
    }
  });
});

test('every answer says that it is of no other type than it says', async () => {
  for (const path of ['/health/live', '/api/v2/devices', '/api/v2/nothing', '/nothing', '/openapi.json']) {
    const { headers } = await server.request('guest', 'GET', path);
    assert.equal(headers['x-content-type-options'], 'nosniff', path);
  }
  const { headers } = await server.call('owner', 'POST', '/devices', { json: {} });
  assert.equal(headers['x-content-type-options'], 'nosniff');
});

suite('fields of a new device', () => {
  const rows: readonly (readonly [json: unknown, pointer: string])[] = [
    [{}, '/id'],
    [{ id: null }, '/id'],
    [{ id: 5 }, '/id'],
    [{ id: ['x'] }, '/id'],
    [{ id: {} }, '/id'],
    [{ id: 'x', name: 5 }, '/name'],
    [{ id: 'x', name: true }, '/name'],
    [{ id: 'x', name: ['a'] }, '/name'],
    [{ id: 'x', name: { toString: 'a' } }, '/name'],
    [{ id: 'x', domain: 1 }, '/domain'],
    [{ id: 'x', gateway_id: 1 }, '/gateway_id'],
    [{ id: 'x', visibility: 'secret' }, '/visibility'],
    [{ id: 'x', visibility: true }, '/visibility'],
    [{ id: 'x', deployed: 'true' }, '/deployed'],
    [{ id: 'x', deployed: 1 }, '/deployed'],
    [{ id: 'x', location: 'here' }, '/location'],
    [{ id: 'x', location: [1, 2] }, '/location'],
    [{ id: 'x', location: { latitude: '1', longitude: 1 } }, '/location/latitude'],
    [{ id: 'x', location: { latitude: 1, longitude: true } }, '/location/longitude'],
    [{ id: 'x', meta: 'a' }, '/meta'],
    [{ id: 'x', meta: [] }, '/meta'],
    [{ id: 'x', meta: 5 }, '/meta'],
    [{ id: 'x', sensors: {} }, '/sensors'],
    [{ id: 'x', sensors: 's' }, '/sensors'],
    [{ id: 'x', sensors: [{ id: 's' }, {}] }, '/sensors/1/id'],
    [{ id: 'x', sensors: [null] }, '/sensors/0'],
    [{ id: 'x', sensors: ['s'] }, '/sensors/0'],
    [{ id: 'x', sensors: [{ id: 's', unit: 5 }] }, '/sensors/0/unit'],
    [{ id: 'x', actuators: [{ id: 'a', value_type: 'float' }] }, '/actuators/0/value_type'],
    [{ id: 'x', actuators: [{ name: 'a' }] }, '/actuators/0/id'],
    [[], ''],
    [[{ id: 'x' }], ''],
    ['x', ''],
    [5, ''],
    [true, ''],
    [null, ''],
  ];
  for (const [json, pointer] of rows) {
    test(`${JSON.stringify(json)} is refused at ${pointer || 'the body'}`, async () => {
      const { body } = await make(server, { as: 'owner', call: 'POST /devices', json, expect: 400 });
      assert.equal(body.errors[0].pointer, pointer);
    });
  }
});

suite('what is too large', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `s${n}` }));
  const big = 'x'.repeat(65_537);
  const rows: readonly (readonly [what: string, json: unknown, expect: readonly number[]])[] = [
    ['a name of 4097 characters', { id: 'x', name: 'x'.repeat(4097) }, [400, 413]],
    ['a meta object beyond 64 KiB', { id: 'x', meta: { big } }, [413]],
    ['a location beyond 64 KiB', { id: 'x', location: { latitude: 1, longitude: 1, big } }, [413]],
    ['a meta object of a sensor beyond 64 KiB', { id: 'x', sensors: [{ id: 's', meta: { big } }] }, [413]],
    ['a value of an actuator beyond 64 KiB', { id: 'x', actuators: [{ id: 'a', value: big }] }, [413]],
    ['10 001 sensors', { id: 'x', sensors: many(10_001) }, [413]],
    ['6000 sensors and 6000 actuators', { id: 'x', sensors: many(6_000), actuators: many(6_000) }, [413]],
  ];
  for (const [what, json, expected] of rows) {
    test(`${what} is refused`, async () => {
      const { status } = await server.call('owner', 'POST', '/devices', { json });
      assert.ok(expected.includes(status), String(status));
      await make(server, { as: 'owner', call: 'POST /devices', json, expect: status });
      await make(server, { as: 'owner', call: 'GET /devices/x', expect: 404 });
    });
  }

  test('a large number of unknown fields is ignored', async () => {
    const fields = Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`field${n}`, n]));
    await make(server, { as: 'owner', call: 'POST /devices', json: { ...fields, id: 'fields' }, expect: 204 });
    const { body } = await make(server, { as: 'owner', call: 'GET /devices/fields', expect: 200 });
    assert.equal(Object.keys(body).length, 7);
  });

  test('many sensors fit, are read back and go', async () => {
    await make(server, {
      as: 'owner',
      call: 'POST /devices',
      json: { id: 'wide', sensors: many(10_000) },
      expect: 204,
    });
    const { body } = await make(server, { as: 'owner', call: 'GET /devices/wide', expect: 200 });
    assert.equal(body.sensors.length, 10_000);
    await make(server, { as: 'owner', call: 'POST /devices/wide/sensors', json: { id: 'more' }, expect: 413 });
    await make(server, { as: 'owner', call: 'DELETE /devices/wide', expect: 204 });
  });
});

suite('bodies made to take long', () => {
  const bytesMax = 4 * 1024 * 1024;
  /** A text is copied and no more, so that what is parsed takes several times as long; these took hundreds. */
  const ratioMax = 40;
  const listOf = (item: string) => `[${Array.from({ length: Math.floor(bytesMax / (item.length + 1)) }, () => item).join(',')}]`; // biome-ignore format: one line
  const keys = () => Array.from({ length: 300_000 }, (_, n) => `"k${n}":0`).join(',');
  /** Bodies, and what becomes of them at most: none takes much longer than texts of the same length. */
  const bodies: Readonly<Record<string, string>> = {
    'numbers just short of a bound': listOf('1'.repeat(199)),
    'numbers behind an escape': `["\\u0041",${listOf('0').slice(1)}`,
    'lists behind an escape': `["\\u0041",${listOf('[]').slice(1)}`,
    'keys behind an escape': `{"\\u0041":0,${keys()}}`,
    'numbers before a prototype': `${listOf('0').slice(0, -1)},{"__proto__":1}]`,
    'empty lists': listOf('[]'),
    'deep lists': listOf(nested(30)),
    'short texts': listOf('""'),
    'different keys': listOf('{"a":0,"b":{}}'),
  };
  const headers = { 'content-type': 'application/json' };
  const timeOf = async (body: string): Promise<number> => {
    const startMs = performance.now();
    const { status } = await server.call('guest', 'POST', '/devices/d/sensors/s/values', { body, headers });
    assert.ok([400, 413].includes(status), String(status));
    return performance.now() - startMs;
  };

  for (const [what, body] of Object.entries(bodies)) {
    test(`${what} take no more than some times as long as a text`, async () => {
      const text = JSON.stringify('x'.repeat(body.length));
      let ratio = Number.POSITIVE_INFINITY;
      for (let attempt = 0; attempt < 5 && ratio > ratioMax; attempt += 1) {
        const plainMs = Math.max(10, await timeOf(text));
        ratio = Math.min(ratio, (await timeOf(body)) / plainMs);
      }
      assert.ok(ratio <= ratioMax, `took ${Math.round(ratio)} times as long`);
    });
  }

  test('thirty thousand datapoints have room many times over', async () => {
    const reading = '{"device_id":"d","sensor_id":"s","value":[[1,"a"],{"b":[2]}],"timestamp":"2026-01-01T00:00:00Z"}';
    const body = `[${Array.from({ length: 30_000 }, () => reading).join(',')}]`;
    const { status } = await server.call('owner', 'POST', '/devices/d/sensors/s/values', { body, headers });
    assert.equal(status, 204);
  });
});

test('text that is no good is refused where text is taken', async () => {
  const texts = [bytes([0xff]), bytes('a', [0x00]), bytes([0xed, 0xa0, 0x80]), bytes([0xc3])];
  const headers = { 'content-type': 'text/plain' };
  for (const body of texts) {
    for (const call of ['PUT /devices/d/name', 'PUT /devices/d/sensors/s/unit', 'POST /devices/d/sensors/s/value']) {
      await make(server, { as: 'owner', call, body, headers, expect: 400 });
    }
  }
});

test('what was polluted stays clean', () => {
  assert.equal(({} as { admin?: boolean }).admin, undefined);
});
