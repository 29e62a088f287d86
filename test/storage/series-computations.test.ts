// Computations of the store on a series (buckets, downsampling, JSON) compared with the same on single datapoints:
// whatever is sealed, in steps of any size, ascending and descending.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { Caller } from '../../src/domain/callers/caller.ts';
import { datapointsOf } from '../../src/domain/datapoints/columns.ts';
import { type Datapoint, orderOf } from '../../src/domain/datapoints/datapoint.ts';
import { type Aggregate, closeBucket, type OpenBucket } from '../../src/domain/datapoints/history/aggregate.ts';
import type { OpenDownsampling, SeriesCursor } from '../../src/domain/ports/series.ts';
import { openEmbeddedEngine } from '../../src/engines/embedded/open.ts';
import { datapointRows } from '../../src/http/lists/datapoint-rows.ts';
import { batchOf, type Point, sorted } from '../support/points.ts';
import { properties } from '../support/properties.ts';

let folder: string;
let embedded: Awaited<ReturnType<typeof openEmbeddedEngine>>;
let sensors = 0;
const caller = new Caller('reader');

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dundun-answers-'));
  embedded = await openEmbeddedEngine(folder);
});
after(async () => {
  await embedded.close();
  await rm(folder, { recursive: true, force: true });
});

const minuteMs = 60_000;
const startMs = Date.UTC(2026, 0, 15);
// Within a few hours, so that many are equal and many share a bucket.
const point = fc.record({
  timestamp: fc.integer({ min: 0, max: 300 }).map((minute) => startMs + minute * minuteMs),
  value: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: -99, max: 99 }).map((tenths) => tenths / 10) },
    { weight: 1, arbitrary: fc.constantFrom('null', '"x"', '{"a":[1]}') },
  ),
});
const series = fc.record({
  batches: fc.array(fc.record({ points: fc.array(point, { minLength: 1, maxLength: 40 }), seal: fc.boolean() }), {
    minLength: 1,
    maxLength: 5,
  }),
  descending: fc.boolean(),
  // The last of these are read by a thread of its own.
  limit: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 501, max: 600 })),
  from: fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined }),
  to: fc.option(fc.integer({ min: 100, max: 300 }), { nil: undefined }),
  calibration: fc.option(fc.constantFrom({ slope: 2, intercept: -1 }, { slope: -0.5, intercept: 3 }), {
    nil: undefined,
  }),
});
type Series = typeof series extends fc.Arbitrary<infer S> ? S : never;

/** Stores a series; the query for it, and its datapoints in the order in which they must come. */
async function stored({ batches, descending, limit, from, to, calibration }: Series) {
  sensors += 1;
  const sensor = sensors;
  const all: (Point & { readonly seq: number })[] = [];
  for (const { points, seal } of batches) {
    const batch = points.map((one) => ({ ...one, sensor }));
    const first = await embedded.commitLog.append(batchOf(batch));
    all.push(...batch.map((one, n) => ({ ...one, seq: first + n })));
    if (seal) await embedded.writer.seal();
  }
  const fromMs = from === undefined ? undefined : startMs + from * minuteMs;
  const toMs = to === undefined ? undefined : startMs + to * minuteMs;
  const expected = sorted(all, descending)
    .filter(({ timestamp = 0 }) => timestamp >= (fromMs ?? 0) && timestamp <= (toMs ?? Infinity))
    .map(({ timestamp, value = 0 }): Datapoint => {
      const isNumber = typeof value === 'number' && calibration !== undefined;
      const corrected = isNumber ? calibration.slope * value + calibration.intercept : value;
      return { timestampMs: timestamp, receivedMs: Date.UTC(2026, 0, 15, 12), value: corrected };
    });
  return { query: { sensor, fromMs, toMs, descending, limit, calibration }, expected };
}

async function steps<Step extends { readonly next: SeriesCursor | undefined }>(
  ask: (after: SeriesCursor | undefined) => Promise<Step>,
  take: (step: Step) => void,
): Promise<void> {
  let after: SeriesCursor | undefined;
  do {
    const step = await ask(after);
    take(step);
    after = step.next;
  } while (after !== undefined);
}

test('rows of buckets are those of the datapoints taken one by one', async () => {
  const property = fc.asyncProperty(series, async (one) => {
    const { query, expected } = await stored(one);
    const rows: Aggregate[] = [];
    let open: OpenBucket | undefined;
    const buckets = { size: { unit: 'h', count: 1 }, timezone: 'Asia/Kolkata' } as const;
    await steps(
      (after) => embedded.series.aggregate({ ...query, buckets, after, open }, { caller }),
      (step) => {
        rows.push(...step.rows);
        open = step.open;
      },
    );
    if (open !== undefined) rows.push(closeBucket(open));
    // An hour there begins at half past.
    const half = 30 * minuteMs;
    const hours = Map.groupBy(expected, (at) => Math.floor((orderOf(at) + half) / 3_600_000) * 3_600_000 - half);
    assert.deepEqual(rows.map((row) => row.startMs), [...hours.keys()]); // biome-ignore format: one line
    for (const [n, found] of [...hours.values()].entries()) {
      const inOrder = query.descending ? found.toReversed() : found;
      const numbers = found.map(({ value }) => value).filter((value) => typeof value === 'number');
      const row = rows[n] as Aggregate;
      assert.deepEqual([row.count, row.first, row.last], [found.length, inOrder[0]?.value, inOrder.at(-1)?.value]);
      assert.equal(row.min, numbers.length === 0 ? undefined : Math.min(...numbers));
      assert.equal(row.max, numbers.length === 0 ? undefined : Math.max(...numbers));
      const sum = numbers.reduce((total, value) => total + value, 0);
      if (numbers.length > 0) assert.ok(Math.abs((row.sum ?? Number.NaN) - sum) < 1e-9);
    }
  });
  await fc.assert(property, properties({ factor: 0.5 }));
});

test('a choice for a chart holds the ends and extremes of each part, the same up and down', async () => {
  const property = fc.asyncProperty(series, fc.integer({ min: 4, max: 60 }), async (one, points) => {
    const { query, expected } = await stored(one);
    const chosen: Datapoint[] = [];
    let open: OpenDownsampling | undefined;
    await steps(
      (after) => embedded.series.downsample({ ...query, points, after, open }, { caller }),
      (step) => {
        chosen.push(...datapointsOf(step.columns));
        open = step.open;
      },
    );
    assert.deepEqual(chosen, query.descending ? m4(expected.toReversed(), points).reverse() : m4(expected, points));
  });
  await fc.assert(property, properties({ factor: 0.5 }));
});

/** By the words of the method, over datapoints that go up. */
function m4(expected: readonly Datapoint[], points: number): Datapoint[] {
  if (expected.length <= points) return [...expected];
  const times = expected.map(orderOf);
  const [from = 0, to = 0] = [times[0], times.at(-1)];
  const parts = Math.floor(points / 4);
  const width = Math.max((to - from) / parts, Number.MIN_VALUE);
  const partOf = (ms: number) => Math.min(parts - 1, Math.floor((ms - from) / width));
  const groups = Map.groupBy(expected.keys(), (index) => partOf(times[index] as number));
  return [...groups.values()].flatMap((indexes) => {
    const numbers = indexes.filter((index) => typeof expected[index]?.value === 'number');
    const numberAt = (index: number) => expected[index]?.value as number;
    const least = numbers.reduce<number | undefined>((a, b) => (a === undefined || numberAt(b) < numberAt(a) ? b : a), undefined); // biome-ignore format: one line
    const most = numbers.reduce<number | undefined>((a, b) => (a === undefined || numberAt(b) > numberAt(a) ? b : a), undefined); // biome-ignore format: one line
    const kept = new Set([indexes[0], least, most, indexes.at(-1)].filter((index) => index !== undefined));
    return [...kept].sort((a, b) => a - b).map((index) => expected[index] as Datapoint);
  });
}

test('rows as JSON are those of the datapoints written one by one', async () => {
  const rowText = datapointRows({ isLocated: false, isExact: false, isForSpreadsheet: false });
  const property = fc.asyncProperty(series, fc.nat(12), fc.integer({ min: 0, max: 40 }), async (one, offset, shown) => {
    const { query, expected } = await stored(one);
    const pieces: string[] = [];
    let [skip, rowsMax, count] = [offset, shown, 0];
    await steps(
      (after) => embedded.series.text({ ...query, encoding: 'ndjson', skip, rowsMax, after }, { caller }),
      (step) => {
        pieces.push(Buffer.from(step.text.subarray(1, -1)).toString());
        skip -= Math.min(skip, step.count);
        rowsMax -= step.rows;
        count += step.count;
        embedded.series.release(step.text);
      },
    );
    const lines = expected.slice(offset, offset + shown).map((row) => rowText.json({ device: 'd', sensor: 's', row }));
    assert.equal(pieces.join(''), lines.map((line) => `${line}\n`).join(''));
    assert.equal(count, expected.length);
  });
  await fc.assert(property, properties({ factor: 0.5 }));
});
