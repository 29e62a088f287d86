// Datapoints of many devices in one request (contract 10): what is stored, and that the answer says the same.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { type Carries, TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const time = '2026-01-10T00:00:00Z';
const call = 'POST /datapoints';

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, sharers, server.clock);
});
after(() => server.stop());
beforeEach(async () => {
  for (const id of ['a', 'b', 'open', 'strange']) await server.call('admin', 'DELETE', `/devices/${id}`);
  const sensors = [{ id: 'x' }, { id: 'y' }];
  for (const id of ['a', 'b']) await server.call(as, 'POST', '/devices', { json: { id, sensors } });
  await server.call(as, 'POST', '/devices', { json: { id: 'open', visibility: 'public', sensors } });
  await server.call('stranger', 'POST', '/devices', { json: { id: 'strange', sensors } });
  await shareWithAll(server, 'a');
});

const csv = (text: string): Carries => ({ body: text, headers: { 'content-type': 'text/csv' } });
const ndjson = (text: string): Carries => ({ body: text, headers: { 'content-type': 'application/x-ndjson' } });
const point = (device_id: string, sensor_id: string, value: unknown) => ({
  device_id,
  sensor_id,
  value,
  timestamp: time,
});

const stored = async (device: string, sensor = 'x') => {
  const { body } = await server.call('admin', 'GET', `/devices/${device}/sensors/${sensor}/values?limit=30000`);
  return body.map(({ value }: { value: unknown }) => value);
};
const push = async (carries: Carries, expect = 200, who = as) =>
  (await make(server, { as: who, call, expect, ...carries })).body;

suite('a bulk request', () => {
  const good = [point('a', 'x', 1), point('b', 'y', 'two'), point('a', 'x', null), point('a', 'y', { a: [1] })];
  const forms: Readonly<Record<string, Carries>> = {
    'a JSON array': { json: good },
    NDJSON: ndjson(good.map((item) => JSON.stringify(item)).join('\n')),
    'NDJSON with CRLF and a last line break': ndjson(good.map((item) => `${JSON.stringify(item)}\r\n`).join('')),
    CSV: csv(
      `device_id,sensor_id,timestamp,value\r\na,x,${time},1\r\nb,y,${time},two\r\na,x,${time},null\r\na,y,${time},"{""a"":[1]}"\r\n`,
    ),
    'CSV without a header': csv(`a,x,${time},1\nb,y,${time},"""two"""\na,x,${time},null\na,y,${time},"{""a"":[1]}"`),
    'CSV with other columns in another order': csv(
      `value, Sensor_ID ,note,device_id,timestamp\n1,x,?,a,${time}\ntwo,y,?,b,${time}\nnull,x,?,a,${time}\n"{""a"":[1]}",y,?,a,${time}\n`,
    ),
  };
  for (const [name, carries] of Object.entries(forms)) {
    test(`as ${name} stores all of it in its order`, async () => {
      assert.deepEqual(await push(carries), { accepted: 4, refused: [] });
      assert.deepEqual(await stored('a'), [1, null]);
      assert.deepEqual(await stored('a', 'y'), [{ a: [1] }]);
      assert.deepEqual(await stored('b', 'y'), ['two']);
    });
  }

  test('is committed when the answer goes out', async () => {
    await push({ json: good });
    await server.restart();
    assert.deepEqual(await stored('a'), [1, null]);
  });

  test('takes no timestamp as none', async () => {
    await push(csv('a,x,,1\n'));
    const { body } = await server.call(as, 'GET', '/devices/a/sensors/x/values');
    assert.deepEqual(body, [{ value: 1, date_received: '2026-01-15T12:00:00Z' }]);
  });

  test('takes back what sensors_data gives as CSV', async () => {
    await push({ json: [point('a', 'x', 1.5), point('a', 'x', 'on, "off"'), point('a', 'y', [true])] });
    const { text } = await server.call(as, 'GET', '/sensors_data?device_id=a&format=csv');
    assert.deepEqual(await push(csv(text.replaceAll('a,x', 'b,x').replaceAll('a,y', 'b,y'))), {
      accepted: 3,
      refused: [],
    });
    assert.deepEqual([await stored('b'), await stored('b', 'y')], [[1.5, 'on, "off"'], [[true]]]);
  });

  test('takes a field that is all quotes for a fault of its line', async () => {
    const lines = [`a,x,,"${'""'.repeat(limits.valueBytesMax / 4)}"`, `a,x,,${'"'.repeat(4_000_000)}`, 'a,x,,3'];
    const { accepted, refused } = await push(csv(lines.join('\n')));
    assert.equal(accepted, 2);
    assert.deepEqual(refused, [
      { line: 2, detail: `The line has a quoted field of more than ${limits.importLineCharsMax} characters.` },
    ]);
    assert.deepEqual(await stored('a'), ['"'.repeat(limits.valueBytesMax / 4), 3]);
  });

  test('of devices that are not there lets other requests have their turn', async () => {
    const lines = Array.from({ length: 30_000 }, (_, n) => JSON.stringify(point(`none-${n}`, 'x', 1)));
    let isDone = false;
    const pushed = push(ndjson(lines.join('\n'))).finally(() => {
      isDone = true;
    });
    let others = 0;
    while (!isDone) {
      await server.request('guest', 'GET', '/health/live');
      others += 1;
    }
    assert.equal((await pushed).refused.length, 30_000);
    assert.ok(others > 5, `${others} in between`);
  });

  test('of nothing stores nothing', async () => {
    for (const carries of [{ json: [] }, csv(''), csv('device_id,sensor_id,timestamp,value\n'), ndjson('\n\n')]) {
      assert.deepEqual(await push(carries), { accepted: 0, refused: [] });
    }
  });
});

suite('values in CSV', () => {
  const rows: readonly (readonly [field: string, value: unknown])[] = [
    ['21.5', 21.5],
    ['-1e3', -1000],
    [' 7 ', 7],
    ['true', true],
    ['null', null],
    ['"""null"""', 'null'],
    ['""""""', ''],
    ['"[1,2]"', [1, 2]],
    ['007', '007'],
    ['NaN', 'NaN'],
    ['True', 'True'],
    ['on', 'on'],
    ['"a, b"', 'a, b'],
    ['{not json', '{not json'],
    ['naïve 場', 'naïve 場'],
  ];
  for (const [field, value] of rows) {
    test(`${field} is ${JSON.stringify(value)}`, async () => {
      assert.deepEqual(await push(csv(`a,x,${time},${field}\n`)), { accepted: 1, refused: [] });
      assert.deepEqual(await stored('a'), [value]);
    });
  }
});

suite('a line that cannot be stored is told by its number, and the others are stored:', () => {
  const json = (item: unknown) => JSON.stringify(item);
  const big = 'x'.repeat(70_000);
  const rows: readonly (readonly [name: string, make: () => Carries, detail: RegExp])[] = [
    ['unknown device', () => ndjson(json(point('none', 'x', 1))), /no device none/],
    ['unknown sensor', () => ndjson(json(point('a', 'none', 1))), /no sensor none/],
    ['not permitted', () => ndjson(json(point('strange', 'x', 1))), /devices-data:create on device strange/],
    ['no JSON', () => ndjson('{"device_id":'), /not valid JSON/],
    ['not UTF-8', () => ({ body: Buffer.from([0xff]), headers: { 'content-type': 'application/x-ndjson' } }), /UTF-8/],
    ['no object', () => ndjson('[1]'), /is an object/],
    ['no value', () => ndjson('{"device_id":"a","sensor_id":"x"}'), /value is missing/],
    ['no device', () => ndjson('{"sensor_id":"x","value":1}'), /device_id/],
    ['a device that is a number', () => ndjson('{"device_id":1,"sensor_id":"x","value":1}'), /device_id/],
    ['an impossible id', () => ndjson(json(point('a/b', 'x', 1))), /device_id/],
    ['no timestamp', () => ndjson(json({ ...point('a', 'x', 1), timestamp: 'now' })), /timestamp/],
    ['a number beyond numbers', () => ndjson('{"device_id":"a","sensor_id":"x","value":1e999}'), /too large/],
    ['a NUL', () => ndjson('{"device_id":"a","sensor_id":"x","value":"\\u0000"}'), /NUL/],
    ['a forbidden key', () => ndjson('{"device_id":"a","sensor_id":"x","value":{"__proto__":1}}'), /__proto__/],
    ['too large a value', () => ndjson(json(point('a', 'x', big))), /65536/],
    [
      'too deep a value',
      () => ndjson(json(point('a', 'x', JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`)))),
      /deeper/,
    ],
    ['an empty value in CSV', () => csv(`a,x,${time},`), /value is empty/],
    ['too few fields in CSV', () => csv('a,x'), /2 fields, not 4/],
    ['one field in CSV', () => csv('1'), /1 field, not 4/],
    ['too many fields in CSV', () => csv(`a,x,${time},{"a":1,"b":2}`), /quote/],
    ['too many fields in CSV, unquoted', () => csv(`a,x,${time},1,2`), /5 fields/],
    ['an open quote in CSV', () => csv(`a,x,${time},"1`), /does not end/],
    ['a number beyond numbers in CSV', () => csv(`a,x,${time},1e999`), /^\/value .* too large/],
    ['a NUL in CSV', () => csv(`a,x,${time},a\0b`), /NUL/],
    ['too large a value in CSV', () => csv(`a,x,${time},${big}`), /65536/],
  ];
  for (const [name, makeLine, detail] of rows) {
    test(name, async () => {
      const { body: bad = '', headers = {} } = makeLine();
      const isCsv = headers['content-type'] === 'text/csv';
      const line = isCsv ? `a,x,${time},1` : json(point('a', 'x', 1));
      const body = Buffer.concat([
        Buffer.from(`${line}\n\n`),
        Buffer.from(bad as string),
        Buffer.from(name.includes('open') ? '' : `\n${line}\n`),
      ]);
      const answer = await push({ body, headers });
      assert.equal(answer.accepted, name.includes('open') ? 1 : 2);
      assert.deepEqual(answer.refused.map((refused: { line: number }) => refused.line), [3]); // biome-ignore format: one line
      assert.match(answer.refused[0].detail, detail);
      assert.deepEqual(await stored('a'), name.includes('open') ? [1] : [1, 1]);
    });
  }

  test('in an array the place counts', async () => {
    const { refused, accepted } = await push({
      json: [point('a', 'x', 1), 7, point('a', 'x', 2), point('none', 'x', 3)],
    });
    assert.equal(accepted, 2);
    assert.deepEqual(refused.map(({ line }: { line: number }) => line), [2, 4]); // biome-ignore format: one line
  });

  test('a record of CSV over several lines has the number of its first', async () => {
    const { refused } = await push(csv(`device_id,sensor_id,value\na,x,"two\nlines"\nnone,x,1\n`));
    assert.deepEqual(refused, [{ line: 4, detail: 'There is no device none.' }]);
    assert.deepEqual(await stored('a'), ['two\nlines']);
  });
});

for (const who of everybody) {
  test(`${who} stores what may be pushed one by one, and nothing else`, async () => {
    const mayPushToA = ['pusher', 'owner', 'admin'].includes(who);
    const mayPushToB = ['owner', 'admin'].includes(who);
    const answer = await push({ json: [point('a', 'x', 1), point('b', 'x', 2), point('open', 'x', 3)] }, 200, who);
    assert.equal(answer.accepted, 1 + Number(mayPushToA) + Number(mayPushToB));
    assert.deepEqual(
      [await stored('a'), await stored('b'), await stored('open')],
      [mayPushToA ? [1] : [], mayPushToB ? [2] : [], [3]],
    );
    for (const { detail } of answer.refused) assert.match(detail, /You need the right devices-data:create/);
  });
}

suite('a request is refused as a whole', () => {
  const rows: readonly (readonly [name: string, carries: Carries, status: number])[] = [
    ['without a body', {}, 400],
    ['with broken JSON', { body: '[{', headers: { 'content-type': 'application/json' } }, 400],
    ['with a JSON string', { json: 'a,x,,1' }, 400],
    ['as text', { text: 'a,x,,1' }, 415],
    ['as XML', { body: '<a/>', headers: { 'content-type': 'application/xml' } }, 415],
    ['in another charset', { body: 'a,x,,1', headers: { 'content-type': 'text/csv; charset=latin1' } }, 415],
    ['as CSV that is not UTF-8', { body: Buffer.from([0x61, 0xff]), headers: { 'content-type': 'text/csv' } }, 400],
    ['with a header that lacks a column', csv('device_id,sensor_id,timestamp\na,x,\n'), 400],
    ['with a header that names a column twice', csv('device_id,sensor_id,value,Value\na,x,1,2\n'), 400],
    ['with semicolons between its columns', csv('device_id;sensor_id;timestamp;value\na;x;;1\n'), 400],
    ['with tabs between its columns', csv('device_id\tsensor_id\tvalue\na\tx\t1\n'), 400],
    ['with 30 001 lines of NDJSON', ndjson(`${JSON.stringify(point('a', 'x', 1))}\n`.repeat(30_001)), 413],
    ['with 30 001 lines of CSV', csv(`a,x,,1\n`.repeat(30_001)), 413],
    ['with 30 001 entries', { json: Array(30_001).fill(0) }, 413],
    ['with 16 MiB and more', csv('x'.repeat(16 * 1024 * 1024 + 1)), 413],
    ['with a token that is none', { json: [point('open', 'x', 1)], headers: { authorization: 'Bearer x' } }, 401],
  ];
  for (const [name, carries, status] of rows) {
    test(`${name}: ${status}`, async () => {
      await push(carries, status);
    });
  }

  test('where guests are turned away, and no other route takes lines', async () => {
    await make(server, { as, call: 'POST /devices/a/sensors/x/values', ...csv('1'), expect: 415 });
    await make(server, { as, call: 'POST /devices', ...ndjson('{"id":"n"}'), expect: 415 });
    await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
    await push({ json: [point('open', 'x', 1)] }, 401, 'guest');
    await server.restart();
    assert.deepEqual(await stored('open'), []);
  });
});

test('30 000 lines are one request', async () => {
  const lines = Array.from({ length: 30_000 }, (_, n) => `${n % 2 ? 'a' : 'b'},x,,${n}\n`);
  assert.deepEqual(await push(csv(`device_id,sensor_id,timestamp,value\n${lines.join('')}`)), {
    accepted: 30_000,
    refused: [],
  });
  assert.deepEqual(
    await stored('a'),
    Array.from({ length: 15_000 }, (_, n) => 2 * n + 1),
  );
  await server.running.engine.seal();
});

test('a full queue refuses whole requests: what is stored is what was accepted', async () => {
  const large = 'x'.repeat(50_000);
  const json = Array.from({ length: 250 }, () => point('a', 'x', large));
  const answers = await Promise.all(Array.from({ length: 8 }, () => server.call(as, 'POST', '/datapoints', { json })));
  for (const { status, body } of answers) {
    assert.ok(status === 200 || status === 503, `${status}`);
    if (status === 200) assert.deepEqual(body, { accepted: 250, refused: [] });
    else assert.equal(body.accepted, undefined);
  }
  const accepted = answers.filter(({ status }) => status === 200).length * 250;
  const { text } = await server.call(as, 'GET', '/devices/a/sensors/x/values?bucket=1y&aggregate=count');
  assert.deepEqual(JSON.parse(text).map(({ count }: { count: number }) => count), [accepted]); // biome-ignore format: one line
});

suite('an Idempotency-Key', () => {
  const keyed = (carries: Carries, key: string) => ({
    ...carries,
    headers: { ...carries.headers, 'idempotency-key': key },
  });

  test('stores nothing twice and gives the first answer, also when it would be another now', async () => {
    const request = keyed({ json: [point('a', 'x', 1), point('later', 'x', 2), point('strange', 'x', 3), 4] }, 'k1');
    const first = await push(request);
    assert.deepEqual([first.accepted, first.refused.length], [1, 3]);
    await server.call(as, 'POST', '/devices', { json: { id: 'later', sensors: [{ id: 'x' }] } });
    assert.deepEqual(await push(request), first);
    await server.restart();
    assert.deepEqual(await push(request), first);
    assert.deepEqual([await stored('a'), await stored('later')], [[1], []]);
    await push(keyed({ json: [point('a', 'x', 5)] }, 'k1'), 422);
    await server.call(as, 'DELETE', '/devices/later');
    server.clock.advance(24 * 3_600_000);
    assert.equal((await push(request)).accepted, 1);
    assert.deepEqual(await stored('a'), [1, 1]);
  });

  test('sent ten times at once stores once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        server.call(as, 'POST', '/datapoints', keyed({ json: [point('a', 'x', 1), 2] }, 'k2')),
      ),
    );
    for (const { body } of answers) assert.deepEqual(body, answers[0]?.body);
    assert.deepEqual(await stored('a'), [1]);
  });

  test('belongs to its caller and its type of body', async () => {
    const text = JSON.stringify(point('open', 'x', 1));
    await push(keyed(ndjson(text), 'k3'));
    await push(keyed(ndjson(text), 'k3'), 200, 'stranger');
    await push(keyed({ body: text, headers: { 'content-type': 'application/json' } }, 'k3'), 422);
    assert.deepEqual(await stored('open'), [1, 1]);
  });

  test('is free again where nothing was stored', async () => {
    await push(keyed({ json: [point('none', 'x', 1)] }, 'k4'));
    assert.deepEqual(await push(keyed({ json: [point('a', 'x', 1)] }, 'k4')), { accepted: 1, refused: [] });
  });

  test('is 413 where the answer is too large to be kept, and nothing is stored', async () => {
    const many = Array.from({ length: 5000 }, (_, n) => point(`none-${n}`, 'x', 1));
    await push(keyed({ json: [point('a', 'x', 1), ...many] }, 'k5'), 413);
    assert.deepEqual(await stored('a'), []);
    const alike = Array.from({ length: 5000 }, () => point('none', 'x', 1));
    assert.equal((await push(keyed({ json: [point('a', 'x', 1), ...alike] }, 'k5'))).refused.length, 5000);
  });
});
