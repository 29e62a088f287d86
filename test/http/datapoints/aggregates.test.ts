// Aggregates over buckets of time and downsampling for charts (contract 10), compared with simple models.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { make } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { properties } from '../../support/properties.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
const as = 'owner';
const minuteMs = 60_000;
const base = Date.UTC(2026, 2, 28, 22);
const iso = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');
const at = (minute: number) => iso(base + minute * minuteMs);

type Row = Readonly<Record<string, unknown>>;
interface Point {
  readonly value: unknown;
  readonly timestamp: string;
}

const sensors = ['s', 'mixed', 'huge', 'empty', 'calibrated', 'flat', 'law'].map((id) => ({ id }));
const line = (min: number, max: number) => ({
  linear: {
    enabled: true,
    value_min: { sensor_value: 0, real_value: min },
    value_max: { sensor_value: 1, real_value: max },
  },
});

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, sharers, server.clock);
  await server.call(as, 'POST', '/devices', { json: { id: 'd', sensors } });
  await server.call(as, 'PUT', '/devices/d/sensors/calibrated/calib', { json: line(10, 8) });
  await shareWithAll(server, 'd');
  const push = (sensor: string, points: readonly (readonly [minute: number, value: unknown])[]) =>
    server.call(as, 'POST', `/devices/d/sensors/${sensor}/values`, {
      json: points.map(([minute, value]) => ({ value, timestamp: at(minute) })),
    });
  await push('s', [[0, 1], [10, 3], [59, 2], [60, -5], [61, 5], [300, 7.5]]); // biome-ignore format: a table
  await server.running.engine.seal();
  await push('s', [[20, 8]]);
  await push('mixed', [[0, 'on'], [1, 4], [2, null], [3, 2], [60, { a: 1 }], [61, 'off'], [120, 0]]); // biome-ignore format: a table
  await push('huge', [[0, 1.7e308], [1, 1.7e308], [60, 1e16], [61, 1], [62, -1e16]]); // biome-ignore format: a table
  await push('calibrated', [[0, 1], [1, 2], [2, 'text']]); // biome-ignore format: a table
  await push('flat', [[0, 5], [0, 5], [0, 6], [0, 4], [0, 5], [0, 5], [0, 5]]); // biome-ignore format: a table
});
after(() => server.stop());

const read = async (sensor: string, query: string): Promise<Row[]> =>
  (await make(server, { as, call: `GET /devices/d/sensors/${sensor}/values?${query}`, expect: 200 })).body;

suite('a read by buckets', () => {
  const rows: readonly (readonly [sensor: string, query: string, expected: readonly Row[]])[] = [
    [
      's',
      'bucket=1h',
      [
        { timestamp: at(0), min: 1, max: 8, avg: 3.5, sum: 14, count: 4, first: 1, last: 2 },
        { timestamp: at(60), min: -5, max: 5, avg: 0, sum: 0, count: 2, first: -5, last: 5 },
        { timestamp: at(300), min: 7.5, max: 7.5, avg: 7.5, sum: 7.5, count: 1, first: 7.5, last: 7.5 },
      ],
    ],
    [
      's',
      'bucket=1h&aggregate=last,min&sort=desc',
      [
        { timestamp: at(300), min: 7.5, last: 7.5 },
        { timestamp: at(60), min: -5, last: 5 },
        { timestamp: at(0), min: 1, last: 2 },
      ],
    ],
    ['s', 'bucket=1h&aggregate=count&limit=1&offset=1', [{ timestamp: at(60), count: 2 }]],
    [
      's',
      `bucket=1d&timezone=Europe/Berlin&aggregate=count`,
      [
        { timestamp: iso(Date.UTC(2026, 2, 27, 23)), count: 6 - 2 },
        { timestamp: iso(Date.UTC(2026, 2, 28, 23)), count: 3 },
      ],
    ],
    ['s', `bucket=1h&aggregate=sum,count&dateFrom=${at(10)}&dateTo=${at(60)}`, [
      { timestamp: at(0), sum: 13, count: 3 },
      { timestamp: at(60), sum: -5, count: 1 },
    ]], // biome-ignore format: a table
    [
      'mixed',
      'bucket=1h',
      [
        { timestamp: at(0), min: 2, max: 4, avg: 3, sum: 6, count: 4, first: 'on', last: 2 },
        { timestamp: at(60), count: 2, first: { a: 1 }, last: 'off' },
        { timestamp: at(120), min: 0, max: 0, avg: 0, sum: 0, count: 1, first: 0, last: 0 },
      ],
    ],
    [
      'huge',
      'bucket=1h',
      [
        { timestamp: at(0), min: 1.7e308, max: 1.7e308, count: 2, first: 1.7e308, last: 1.7e308 },
        { timestamp: at(60), min: -1e16, max: 1e16, avg: 1 / 3, sum: 1, count: 3, first: 1e16, last: -1e16 },
      ],
    ],
    ['empty', 'bucket=1s', []],
    ['calibrated', 'bucket=1h&aggregate=min,max,avg,first,last', [{ timestamp: at(0), min: 6, max: 8, avg: 7, first: 8, last: 'text' }]], // biome-ignore format: a table
    ['calibrated', 'bucket=1h&aggregate=min,max&calibrated=false', [{ timestamp: at(0), min: 1, max: 2 }]],
  ];
  for (const [sensor, query, expected] of rows) {
    test(`of ${sensor} with ${query}`, async () => {
      assert.deepEqual(await read(sensor, query), expected);
    });
  }

  test('is CSV and NDJSON too', async () => {
    const call = 'GET /devices/d/sensors/mixed/values?bucket=1h&aggregate=first,avg&format=';
    const csv = await make(server, { as, call: `${call}csv`, expect: 200 });
    const lines = [`${at(0)},3,on`, `${at(60)},,"{""a"":1}"`, `${at(120)},0,0`];
    assert.equal(csv.text, `timestamp,avg,first\r\n${lines.join('\r\n')}\r\n`);
    const ndjson = await make(server, { as, call: `${call}ndjson`, expect: 200 });
    assert.equal(ndjson.text.split('\n')[1], JSON.stringify({ timestamp: at(60), first: { a: 1 } }));
  });

  test('of several sensors says which each row is of, by time and then as they were named', async () => {
    const call = 'GET /sensors_data?device_id=d&sensor_id=mixed,s&bucket=1h&aggregate=count';
    const { body } = await make(server, { as, call, expect: 200 });
    assert.deepEqual(
      body.map((row: Row) => [row['sensor_id'], row['timestamp'], row['count']]),
      [
        ['mixed', at(0), 4],
        ['s', at(0), 4],
        ['mixed', at(60), 2],
        ['s', at(60), 2],
        ['mixed', at(120), 1],
        ['s', at(300), 1],
      ],
    );
    const csv = await make(server, { as, call: `${call}&format=csv&limit=1`, expect: 200 });
    assert.equal(csv.text, `device_id,sensor_id,timestamp,count\r\nd,mixed,${at(0)},4\r\n`);
  });

  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'] as const;
  const hour = (zone: string, ms: number) =>
    new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' }).format(ms);
  const names: Record<string, (zone: string, ms: number) => string> = {
    // The offset tells the two hours of one name apart.
    '1h': (zone, ms) =>
      `${hour(zone, ms).slice(0, 13)} ${Date.parse(`${hour(zone, ms)}Z`) - Math.floor(ms / minuteMs) * minuteMs}`,
    '1d': (zone, ms) => hour(zone, ms).slice(0, 10),
    '1mo': (zone, ms) => hour(zone, ms).slice(0, 7),
  };
  let sensor = 0;

  test('is what grouping all datapoints by the name of their hour, day or month gives', async () => {
    const value = fc.oneof(fc.integer({ min: -1000, max: 1000 }), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }), fc.constantFrom('a', null, true)); // biome-ignore format: one line
    // Around the changes of the clocks in spring.
    const point = fc.tuple(fc.integer({ min: Date.UTC(2026, 2, 6), max: Date.UTC(2026, 3, 2) }), value);
    await fc.assert(
      fc.asyncProperty(
        fc.array(point, { minLength: 1, maxLength: 60 }),
        fc.constantFrom(...zones),
        fc.constantFrom('1h', '1d', '1mo'),
        fc.boolean(),
        async (points, zone, size, descending) => {
          sensor += 1;
          const path = `/devices/d/sensors/law-${sensor}`;
          await server.call(as, 'POST', '/devices/d/sensors', { json: { id: `law-${sensor}` } });
          await server.call(as, 'POST', `${path}/values`, {
            json: points.map(([ms, v]) => ({ value: v, timestamp: new Date(ms).toISOString() })),
          });
          const sorted = points.map(([ms, v], n) => ({ ms, v, n })).sort((a, b) => a.ms - b.ms || a.n - b.n);
          const groups = [...Map.groupBy(sorted, ({ ms }) => names[size]?.(zone, ms)).values()];
          const expected = groups.map((group) => {
            const numbers = group.map(({ v }) => v).filter((v) => typeof v === 'number');
            return {
              count: group.length,
              first: group[0]?.v,
              last: group.at(-1)?.v,
              ...(numbers.length > 0 ? { min: Math.min(...numbers), max: Math.max(...numbers) } : {}),
            };
          });
          if (descending) expected.reverse();
          const query = `bucket=${size}&timezone=${zone}&sort=${descending ? 'desc' : 'asc'}`;
          const rows = (await server.call(as, 'GET', `${path}/values?${query}`)).body as Row[];
          const plain = (row: Row) => ({
            count: row['count'],
            first: row['first'],
            last: row['last'],
            ...('min' in row ? { min: row['min'], max: row['max'] } : {}),
          });
          // -0 is 0 here: Math.min tells them apart, comparing does not.
          assert.deepEqual(JSON.parse(JSON.stringify(rows.map(plain))), JSON.parse(JSON.stringify(expected)));
          for (const row of rows) {
            if (!('avg' in row)) continue;
            assert.ok(
              (row['min'] as number) <= (row['avg'] as number) && (row['avg'] as number) <= (row['max'] as number),
            );
          }
        },
      ),
      properties({ factor: 0.2 }),
    );
  });
});

suite('a read of N points', () => {
  const law = async (points: readonly Point[], n: number, query: string) => {
    const chosen = (await server.call(as, 'GET', `/devices/d/sensors/law/values?points=${n}${query}`)).body as Point[];
    assert.ok(chosen.length <= n, `${chosen.length} of ${n}`);
    const texts = points.map((point) => JSON.stringify([point.timestamp, point.value]));
    const chosenTexts = chosen.map((point) => JSON.stringify([point.timestamp, point.value]));
    if (points.length <= n) assert.deepEqual(chosenTexts, texts);
    // All of them are datapoints, in their order, none twice.
    let place = -1;
    for (const text of chosenTexts) {
      place = texts.indexOf(text, place + 1);
      assert.ok(place >= 0, text);
    }
    if (points.length === 0) return;
    assert.deepEqual([chosenTexts[0], chosenTexts.at(-1)], [texts[0], texts.at(-1)]);
    const numbers = (all: readonly Point[]) =>
      all.map(({ value }) => value).filter((value) => typeof value === 'number');
    assert.equal(Math.min(...numbers(chosen)), Math.min(...numbers(points)));
    assert.equal(Math.max(...numbers(chosen)), Math.max(...numbers(points)));
  };

  test('has at most N, in order, with the extremes and both ends', async () => {
    // Values are counted up so that each is known again; where they rise and fall is chance.
    const shape = fc.array(fc.tuple(fc.nat(100_000), fc.integer({ min: -500, max: 500 }), fc.boolean()), {
      maxLength: 120,
    });
    await fc.assert(
      fc.asyncProperty(shape, fc.integer({ min: 4, max: 60 }), fc.boolean(), async (drawn, n, descending) => {
        await server.call(as, 'DELETE', '/devices/d/sensors/law');
        await server.call(as, 'POST', '/devices/d/sensors', { json: { id: 'law' } });
        const points = drawn
          .map(([second, value, isText], i) => ({
            value: isText ? `text ${i}` : value + i / 1000,
            timestamp: iso(base + second * 1000),
          }))
          .sort((a, b) => a.timestamp.localeCompare(b.timestamp));
        await server.call(as, 'POST', '/devices/d/sensors/law/values', { json: points });
        await law(descending ? points.toReversed() : points, n, descending ? '&sort=desc' : '');
      }),
      properties({ factor: 0.3 }),
    );
  });

  const rows: readonly (readonly [sensor: string, query: string, expected: readonly unknown[]])[] = [
    ['s', 'points=4', [1, 8, -5, 7.5]],
    ['s', 'points=4&sort=desc', [7.5, -5, 8, 1]],
    ['s', 'points=7', [1, 3, 8, 2, -5, 5, 7.5]],
    ['s', `points=4&dateTo=${at(60)}`, [1, 8, -5]],
    ['s', 'points=4&limit=2&offset=1', [8, -5]],
    ['flat', 'points=4', [5, 6, 4, 5]],
    ['empty', 'points=100', []],
    ['calibrated', 'points=4', [8, 6, 'text']],
    ['calibrated', 'points=4&calibrated=false', [1, 2, 'text']],
  ];
  for (const [sensor, query, expected] of rows) {
    test(`of ${sensor} with ${query}`, async () => {
      assert.deepEqual(
        (await read(sensor, query)).map(({ value }) => value),
        expected,
      );
    });
  }

  test('of several sensors has at most N of each', async () => {
    const call = 'GET /sensors_data?device_id=d&sensor_id=s,flat&points=4';
    const { body } = await make(server, { as, call, expect: 200 });
    const counts = Map.groupBy(body as Row[], (row) => row['sensor_id']);
    assert.deepEqual([counts.get('s')?.length, counts.get('flat')?.length], [4, 4]);
  });
});

suite('what cannot be', () => {
  const rows: readonly (readonly [query: string, pointer: string])[] = [
    ['bucket=5h', '/bucket'],
    ['bucket=1', '/bucket'],
    ['bucket=', '/bucket'],
    ['bucket=0m', '/bucket'],
    ['bucket=1h&bucket=1d', '/bucket'],
    ['bucket=1h&timezone=Mars/Olympus', '/timezone'],
    ['bucket=1h&timezone=', '/timezone'],
    ['bucket=1h&aggregate=', '/aggregate'],
    ['bucket=1h&aggregate=median', '/aggregate'],
    ['bucket=1h&aggregate=min,,max', '/aggregate'],
    ['bucket=1h&aggregate=__proto__', '/aggregate'],
    ['bucket=1h&points=10', '/points'],
    ['bucket=1h&lastN=10', '/lastN'],
    ['points=10&lastN=10', '/lastN'],
    ['points=10&aggregate=min', '/aggregate'],
    ['timezone=Mars', '/timezone'],
    ['aggregate=min', '/aggregate'],
    ['points=3', '/points'],
    ['points=30001', '/points'],
    ['points=x', '/points'],
    ['bucket=1h&limit=30001', '/limit'],
  ];
  for (const [query, pointer] of rows) {
    test(`?${query} is 400 and names ${pointer}`, async () => {
      for (const path of ['/devices/d/sensors/s/values?', '/sensors_data?device_id=d&']) {
        const { body } = await make(server, { as, call: `GET ${path}${query}`, expect: 400 });
        assert.equal(body.errors[0].pointer, pointer);
      }
    });
  }
});

for (const who of everybody) {
  const reads = ['reader', 'owner', 'admin'].includes(who);
  test(`aggregates and points of a private device are ${reads ? '' : 'not '}for ${who}`, async () => {
    for (const query of ['bucket=1h', 'bucket=1h&format=csv', 'points=4', 'points=4&format=ndjson']) {
      const call = `GET /devices/d/sensors/s/values?${query}`;
      const { text } = await make(server, { as: who, call, expect: reads ? 200 : 403 });
      if (!reads) assert.doesNotMatch(text, /7\.5/);
    }
  });
}
