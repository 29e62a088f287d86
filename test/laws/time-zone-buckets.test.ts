// Buckets of time compared with a model that walks through time minute by minute, in zones with unusual clock changes.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { TimeZone } from '../../src/base/time/time-zone.ts';
import { Buckets, parseBucketSize } from '../../src/domain/datapoints/history/buckets.ts';
import { properties } from '../support/properties.ts';

const zoneOf = (name: string) => {
  const zone = TimeZone.find(name);
  assert.ok(zone !== undefined, name);
  return zone;
};
const bucketsOf = (size: string, zone: string) => {
  const parsed = parseBucketSize(size);
  assert.ok(parsed !== undefined, size);
  return new Buckets(parsed, zoneOf(zone));
};
const start = (size: string, zone: string, time: string) =>
  new Date(bucketsOf(size, zone).bucketOf(Date.parse(time)).startMs).toISOString().replace(':00.000Z', 'Z');

/** What the clocks show, asked of Intl in another way: fields as if they were UTC. */
function wall(zone: string, ms: number): number {
  const format =
    formats.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  formats.set(zone, format);
  return Date.parse(`${format.format(ms).replace(' ', 'T')}Z`) + (((ms % 1000) + 1000) % 1000);
}
const formats = new Map<string, Intl.DateTimeFormat>();

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Numbers the buckets by the wall clock. */
const numbers: Record<string, (wallMs: number) => number> = {
  '1m': (ms) => Math.floor(ms / minuteMs),
  '15m': (ms) => Math.floor(ms / (15 * minuteMs)),
  '1h': (ms) => Math.floor(ms / (60 * minuteMs)),
  '6h': (ms) => Math.floor(ms / (360 * minuteMs)),
  '1d': (ms) => Math.floor(ms / dayMs),
  '2d': (ms) => Math.floor(ms / (2 * dayMs)),
  '1w': (ms) => Math.floor((ms / dayMs + 3) / 7),
  '1mo': (ms) => new Date(ms).getUTCFullYear() * 12 + new Date(ms).getUTCMonth(),
};
const lengths: Record<string, number> = { '1m': 1, '15m': 15, '1h': 60, '6h': 360 };

/** Walks from long before to `untilMs`, a quarter of an hour at a time (all changes here fall on one). */
function oracle(size: string, zone: string, untilMs: number): number {
  const numberOf = numbers[size] as (ms: number) => number;
  const step = size === '1m' ? minuteMs : 15 * minuteMs;
  const back = size === '1mo' ? 33 : size === '1w' ? 9 : 4;
  let at = Math.floor(untilMs / step) * step - (size === '1m' ? 200 * minuteMs : back * dayMs);
  let begun = at;
  let reached = numberOf(wall(zone, at));
  for (at += step; at <= untilMs; at += step) {
    const number = numberOf(wall(zone, at));
    const setBackMinutes = (wall(zone, at - step) + step - wall(zone, at)) / minuteMs;
    const isSetBack = setBackMinutes > 0 && setBackMinutes >= (lengths[size] ?? Number.POSITIVE_INFINITY);
    if (number > reached || isSetBack) {
      begun = at;
      reached = number;
    }
  }
  return begun;
}

suite('a bucket', () => {
  const rows: readonly (readonly [size: string, zone: string, time: string, start: string])[] = [
    ['1m', 'UTC', '2026-01-10T10:20:30.5Z', '2026-01-10T10:20Z'],
    ['15m', 'UTC', '2026-01-10T10:29:59.999Z', '2026-01-10T10:15Z'],
    ['15m', 'UTC', '2026-01-10T10:30:00Z', '2026-01-10T10:30Z'],
    ['1h', 'Asia/Kolkata', '2026-01-10T10:20:00Z', '2026-01-10T09:30Z'],
    ['1h', 'Asia/Kathmandu', '2026-01-10T10:20:00Z', '2026-01-10T10:15Z'],
    ['6h', 'UTC', '1969-12-31T23:00:00Z', '1969-12-31T18:00Z'],
    ['1d', 'Africa/Dakar', '2026-01-10T23:59:59Z', '2026-01-10T00:00Z'],
    ['1d', 'Europe/Berlin', '2026-07-10T22:00:00Z', '2026-07-10T22:00Z'],
    ['1d', 'Europe/Berlin', '2026-07-10T21:59:59Z', '2026-07-09T22:00Z'],
    // Monday.
    ['1w', 'UTC', '2026-01-18T12:00:00Z', '2026-01-12T00:00Z'],
    ['1mo', 'America/New_York', '2026-03-20T00:00:00Z', '2026-03-01T05:00Z'],
    ['3mo', 'UTC', '2026-06-30T00:00:00Z', '2026-04-01T00:00Z'],
    ['1y', 'Asia/Tokyo', '2026-06-30T00:00:00Z', '2025-12-31T15:00Z'],
    ['10y', 'UTC', '2026-06-30T00:00:00Z', '2020-01-01T00:00Z'],
    // The day that Samoa left out, and the one that Manila had twice.
    ['1d', 'Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-30T10:00Z'],
    ['1d', 'Pacific/Apia', '2011-12-30T09:59:59Z', '2011-12-29T10:00Z'],
    // Midnight that the clocks skipped (São Paulo, 2018) and showed twice (Havana, 2025).
    ['1d', 'America/Sao_Paulo', '2018-11-04T12:00:00Z', '2018-11-04T03:00Z'],
    ['1d', 'America/Havana', '2025-11-02T05:30:00Z', '2025-11-02T04:00Z'],
    ['1h', 'America/Havana', '2025-11-02T05:30:00Z', '2025-11-02T05:00Z'],
    // Half an hour on Lord Howe.
    ['1h', 'Australia/Lord_Howe', '2026-04-04T15:10:00Z', '2026-04-04T14:00Z'],
    // Years before any clock was changed, and far ahead.
    ['1d', 'Europe/Amsterdam', '0000-01-01T12:00:00Z', '0000-01-01T00:00Z'],
    ['1y', 'UTC', '0001-06-01T12:00:00Z', '0001-01-01T00:00Z'],
    ['1mo', 'Europe/Berlin', '9999-12-15T00:00:00Z', '9999-11-30T23:00Z'],
  ];
  for (const [size, zone, time, expected] of rows) {
    test(`of ${size} in ${zone} at ${time} begins at ${expected}`, () => {
      const found = start(size, zone, time);
      if (zone === 'Europe/Amsterdam') assert.ok(Date.parse(time) - Date.parse(found) < dayMs);
      else assert.equal(found, expected);
    });
  }

  test('of a day has 23 hours in spring and 25 in autumn, each hour one bucket', () => {
    for (const [day, hours] of [
      ['2026-03-29', 23],
      ['2026-10-25', 25],
      ['2026-06-01', 24],
    ] as const) {
      // biome-ignore format: a table
      const offset = day === '2026-03-29' ? '+01:00' : '+02:00';
      const first = Date.parse(`${day}T00:00:00${offset}`);
      const daily = bucketsOf('1d', 'Europe/Berlin');
      const hourly = bucketsOf('1h', 'Europe/Berlin');
      const seen = new Set<number>();
      let at = first;
      for (; daily.bucketOf(at).startMs === first; at += minuteMs) seen.add(hourly.bucketOf(at).startMs);
      assert.equal((at - first) / (60 * minuteMs), hours, day);
      assert.equal(seen.size, hours, day);
    }
  });

  test('begins where a walk through time says it does, whatever the zone and the size', () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Sao_Paulo', 'America/Havana'];
    const more = ['Atlantic/Azores', 'Africa/Casablanca', 'Asia/Kathmandu', 'Pacific/Apia', 'Asia/Beirut', 'UTC'];
    const time = fc.integer({ min: Date.UTC(1995, 0, 1), max: Date.UTC(2030, 0, 1) });
    // Times near a change of the clocks are the interesting ones.
    const nearChange = fc.tuple(
      time,
      fc.integer({ min: -2 * dayMs, max: 2 * dayMs }),
      fc.constantFrom(...zones, ...more),
    );
    fc.assert(
      fc.property(
        nearChange,
        fc.constantFrom(...Object.keys(numbers)),
        fc.boolean(),
        ([ms, shift, zone], size, isNear) => {
          const near = isNear ? (changeAfter(zone, ms) ?? ms) + shift : ms;
          assert.equal(
            bucketsOf(size, zone).bucketOf(near).startMs,
            oracle(size, zone, near),
            `${zone} ${size} ${new Date(near).toISOString()}`,
          );
        },
      ),
      properties(),
    );
  });

  test('is found alike whether times come in order, in reverse, or one by one', () => {
    const zone = 'Europe/Berlin';
    const times = fc.array(fc.integer({ min: Date.UTC(2026, 9, 20), max: Date.UTC(2026, 9, 30) }), { maxLength: 50 });
    fc.assert(
      fc.property(times, fc.constantFrom('15m', '1h', '6h', '1d', '1w'), (unsorted, size) => {
        const sorted = unsorted.toSorted((a, b) => a - b);
        const alone = sorted.map((ms) => bucketsOf(size, zone).bucketOf(ms).startMs);
        const kept = bucketsOf(size, zone);
        assert.deepEqual(sorted.map((ms) => kept.bucketOf(ms).startMs), alone); // biome-ignore format: one line
        assert.deepEqual(sorted.toReversed().map((ms) => kept.bucketOf(ms).startMs), alone.toReversed()); // biome-ignore format: one line
        assert.ok(alone.every((ms, n) => n === 0 || ms >= (alone[n - 1] as number)));
      }),
      properties(),
    );
  });
});

/** The next time at which the zone's clocks change, to the quarter of an hour, within a year. */
function changeAfter(zone: string, ms: number): number | undefined {
  const from = Math.floor(ms / dayMs) * dayMs;
  const offset = (at: number) => wall(zone, at) - at;
  for (let day = from; day < from + 366 * dayMs; day += dayMs) {
    if (offset(day) === offset(day + dayMs)) continue;
    for (let at = day; at <= day + dayMs; at += 15 * minuteMs) if (offset(at) !== offset(day)) return at;
  }
  return undefined;
}

test('a size is a number and a unit that divides a day', () => {
  for (const good of ['1s', '30s', '1m', '15m', '1h', '12h', '24h', '1440m', '1d', '7d', '1w', '1mo', '3mo', '1y']) {
    assert.ok(parseBucketSize(good) !== undefined, good);
  }
  for (const bad of [
    '',
    'h',
    '0h',
    '-1h',
    '1.5h',
    '5h',
    '25h',
    '7m',
    '1',
    '1x',
    '1H',
    ' 1h',
    '1h ',
    '01h',
    '1001d',
    '99999999s',
    '1M',
  ]) {
    // biome-ignore format: a list
    assert.equal(parseBucketSize(bad), undefined, bad);
  }
});

test('a zone that is none is not found', () => {
  for (const name of ['', 'Mars/Olympus', 'Europe', '../etc', 'x'.repeat(300)])
    assert.equal(TimeZone.find(name), undefined);
});
