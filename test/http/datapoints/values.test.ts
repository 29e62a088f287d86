// Values (spec 2.3): any JSON comes back as it was pushed, numbers bit for bit, from the log, sealed and restarted.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { make } from '../../support/api/calls.ts';
import { properties } from '../../support/properties.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
let sensors = 0;

before(async () => {
  server = await TestServer.start();
  await server.call(as, 'POST', '/devices', { json: { id: 'd' } });
});
after(() => server.stop());

/** Pushes JSON texts as they stand and gives the texts that are read back, at once, sealed and after a restart. */
async function roundTrips(texts: readonly string[], options: { readonly restart: boolean }): Promise<string[][]> {
  sensors += 1;
  const s = `/devices/d/sensors/s${sensors}`;
  await server.call(as, 'POST', '/devices/d/sensors', { json: { id: `s${sensors}` } });
  const body = `[${texts.map((text) => `{"value":${text}}`).join(',')}]`;
  const headers = { 'content-type': 'application/json' };
  const { status, text } = await server.call(as, 'POST', `${s}/values`, { body, headers });
  assert.equal(status, 204, text);
  const read = async () => {
    const answer = await server.call(as, 'GET', `${s}/values?format=ndjson`);
    const list = await server.call(as, 'GET', `${s}/values?limit=30000`);
    assert.equal(`[${answer.text.trim().replaceAll('\n', ',')}]`, list.text);
    const last = await server.call(as, 'GET', s);
    const lines = answer.text.split('\n').slice(0, -1);
    assert.ok(last.text.includes(`"last_value":${lines.at(-1)}`));
    return lines.map((line) => line.replace(/^\{"value":/, '').replace(/,"date_received":"[^"]+"\}$/, ''));
  };
  const reads = [await read()];
  await server.running.engine.seal();
  reads.push(await read());
  if (!options.restart) return reads;
  // Once sealed, and once from the log, from which the head is built anew.
  await server.call(as, 'POST', `${s}/values`, { body, headers });
  await server.restart();
  const both = await read();
  return [...reads, both.slice(0, texts.length), both.slice(texts.length)];
}

suite('a number', () => {
  const numbers = [
    ...[
      '0',
      '-0',
      '1',
      '-1',
      '0.1',
      '-0.5',
      '1.5',
      '21.5',
      '1e21',
      '1e-7',
      '123456789.123456789',
      '0.30000000000000004',
    ],
    ...['5e-324', '-5e-324', '2.2250738585072014e-308', '1.7976931348623157e308', '-1.7976931348623157e308'],
    ...['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993', '18446744073709551616'],
    ...['9223372036854775807', '9223372036854775808', '-9223372036854775809', '4294967296', '140737488355328'],
    ...['1E5', '1e+5', '1.0', '100e-2', '-0.0', '-0e5', '0e999', '1e-400', '0.1e1', `1${'0'.repeat(300)}`, '3.0e0'],
  ];
  test('comes back bit for bit', async () => {
    for (const read of await roundTrips(numbers, { restart: true })) {
      for (const [n, text] of numbers.entries()) {
        assert.ok(Object.is(JSON.parse(read[n] ?? 'null'), JSON.parse(text)), `${text} came back as ${read[n]}`);
      }
    }
  });

  test('comes back bit for bit in CSV', async () => {
    await roundTrips(['-0', '0', '5e-324', '1.7976931348623157e308', '1e21'], { restart: false });
    const { text } = await make(server, {
      as,
      call: `GET /devices/d/sensors/s${sensors}/values?format=csv`,
      expect: 200,
    });
    const values = text
      .split('\r\n')
      .slice(1, -1)
      .map((line) => Number(line.split(',')[2]));
    assert.deepEqual(values, [-0, 0, 5e-324, 1.7976931348623157e308, 1e21]);
  });

  test('comes back bit for bit, whatever it is', async () => {
    const doubles = fc.double({ noNaN: true, noDefaultInfinity: true });
    const property = fc.asyncProperty(fc.array(doubles, { minLength: 100, maxLength: 200 }), async (values) => {
      const texts = values.map((value) => (Object.is(value, -0) ? '-0' : String(value)));
      for (const read of await roundTrips(texts, { restart: false })) {
        for (const [n, value] of values.entries()) assert.ok(Object.is(JSON.parse(read[n] ?? 'null'), value), texts[n]);
      }
    });
    await fc.assert(property, properties({ factor: 0.02 }));
  });

  const infinite = [
    '1e400',
    '-1e400',
    '1e309',
    '1.7976931348623159e308',
    `${'1'.repeat(250)}e99`,
    '9'.repeat(400),
    '1e0000309',
  ];
  for (const text of infinite) {
    test(`beyond all numbers is refused: ${text.slice(0, 30)}`, async () => {
      const headers = { 'content-type': 'application/json' };
      for (const value of [text, `[${text}]`, `{"a":${text}}`]) {
        const body = `{"value":${value}}`;
        await make(server, { as, call: 'POST /devices/d/sensors/s1/value', body, headers, expect: 400 });
      }
      const location = `{"id":"far","location":{"latitude":${text}}}`;
      await make(server, { as, call: 'POST /devices', body: location, headers, expect: 400 });
      await make(server, { as, call: 'PUT /devices/d/meta', body: `{"a":${text}}`, headers, expect: 400 });
    });
  }
});

suite('any other JSON', () => {
  const texts = [
    ...[
      'true',
      'false',
      'null',
      '""',
      '"a"',
      '"5"',
      '"-0"',
      '"1e5"',
      '"NaN"',
      '"Infinity"',
      '"true"',
      '"null"',
      '" 7 "',
    ],
    ...['[]', '{}', '[[]]', '[{}]', '[1,"a",null,true]', '{"":1}', '{"a":{"b":[1,2,{"c":null}]}}', '{"value":1}'],
    ...['"\\"\\\\/\\b\\f\\n\\r\\t"', '"naïve 場 🥁 \u2028\u2029\ufeff"', '"\\u00e9"', '"\\ud83e\\udd41"', '{"é":"場"}'],
    ...[
      '{"constructor":1}',
      '{"toString":1,"hasOwnProperty":2}',
      '{"b":1,"a":2}',
      '{"timestamp":"x","date_received":1}',
    ],
    `${'['.repeat(30)}${']'.repeat(30)}`,
  ];
  test('comes back as it was', async () => {
    for (const read of await roundTrips(texts, { restart: true })) {
      for (const [n, text] of texts.entries()) assert.deepEqual(JSON.parse(read[n] ?? ''), JSON.parse(text), text);
    }
  });

  test('comes back as it was, whatever it is', async () => {
    // Inside an array or an object JSON.stringify writes -0 as 0; the service does the same.
    const json = fc.jsonValue({ maxDepth: 5 }).map((value) => JSON.stringify(value));
    const keepable = json.filter((text) => !/"__proto__"|\\u0000|\\ud[89a-f]/i.test(text));
    const property = fc.asyncProperty(fc.array(keepable, { minLength: 50, maxLength: 100 }), async (values) => {
      for (const read of await roundTrips(values, { restart: false })) {
        for (const [n, text] of values.entries()) assert.deepEqual(JSON.parse(read[n] ?? ''), JSON.parse(text));
      }
    });
    await fc.assert(property, properties({ factor: 0.03 }));
  });
});
