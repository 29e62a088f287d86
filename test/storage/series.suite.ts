// The suite of Series, which every engine passes: reading datapoints by time. engines.test.ts runs it on each engine.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { Caller } from '../../src/domain/callers/caller.ts';
import { type Columns, datapointsOf } from '../../src/domain/datapoints/columns.ts';
import { orderOf, type StoredValue } from '../../src/domain/datapoints/datapoint.ts';
import type { RangeQuery, SeriesCursor } from '../../src/domain/ports/series.ts';
import { type Beside, batchOf, nowMs, type Point, positionOf, sorted, timeOf } from '../support/points.ts';
import { properties } from '../support/properties.ts';
import { acquired, type EngineKind, type OpenedEngine } from './engines.ts';

const caller = new Caller('reader');

export function seriesSuite({ name, open }: EngineKind): void {
  suite(`series on ${name}`, () => {
    let opened: OpenedEngine;
    let sensor = 0;

    before(async () => {
      opened = await open();
    });
    after(() => opened.close());

    const nextSensor = () => {
      sensor += 1;
      return sensor;
    };
    const append = (points: readonly Point[], rest?: Beside) => {
      return opened.commitLog.append(batchOf(points, rest));
    };
    const step = (query: Partial<RangeQuery> & Pick<RangeQuery, 'sensor'>) => {
      return opened.series.range({ descending: false, limit: 100_000, ...query }, { caller });
    };
    const read = async (query: Partial<RangeQuery> & Pick<RangeQuery, 'sensor'>) => {
      return datapointsOf((await step(query)).columns);
    };
    const values = async (query: Partial<RangeQuery> & Pick<RangeQuery, 'sensor'>) => {
      return (await read(query)).map(({ value }) => value);
    };

    test('what is before a time is removed in steps, oldest first, and nothing else', async () => {
      const [of, other] = [nextSensor(), nextSensor()];
      const count = 5_000;
      await append(Array.from({ length: count }, (_, i) => ({ sensor: of, timestamp: (i * 7919) % count, value: i })));
      await append([
        { sensor: other, timestamp: 0 },
        { sensor: of, received: 10_000, value: 'null' },
      ]);
      await opened.seal();
      assert.deepEqual(
        await opened.series.oldest([of, other, nextSensor()]),
        new Map([
          [of, 0],
          [other, 0],
        ]),
      );
      let removed = 0;
      for (let step = 1, left = 0; step > 0; removed += step) {
        step = await opened.series.removeBefore(of, 4_000);
        const orders = (await read({ sensor: of })).map(orderOf);
        left = count + 1 - removed - step;
        assert.equal(orders.length, left);
        // Those that went were the oldest.
        assert.equal(orders[0], removed + step);
      }
      assert.equal(removed, 4_000);
      assert.deepEqual(await opened.series.oldest([of]), new Map([[of, 4_000]]));
      await opened.reopen();
      assert.equal((await read({ sensor: of })).length, 1_001);
      assert.equal((await read({ sensor: other })).length, 1);
      assert.equal(await opened.series.removeBefore(of, 20_000), 1_001);
      assert.equal((await read({ sensor: of })).length, 0);
      // The last one is told all the same.
      assert.equal((await opened.series.latest([of])).get(of)?.receivedMs, 10_000);
      assert.equal(await opened.series.removeBefore(of, 20_000), 0);
      assert.deepEqual(await opened.series.oldest([of]), new Map());
      await append([{ sensor: of, timestamp: 5, value: 6 }]);
      await opened.seal();
      assert.deepEqual(await values({ sensor: of }), [6]);
    });

    test('what was appended is there after reopening, sealed or not', async () => {
      const [one, other] = [nextSensor(), nextSensor()];
      await append([
        { sensor: one, timestamp: 5, value: 'null' },
        { sensor: other, value: 1.5 },
      ]);
      await opened.seal();
      await append([{ sensor: one, timestamp: -1, value: '{"a":1}' }]);
      const before = [await read({ sensor: one }), await read({ sensor: other })];
      await opened.reopen();
      assert.deepEqual([await read({ sensor: one }), await read({ sensor: other })], before);
      const [late, early] = before[0] ?? [];
      assert.deepEqual([late?.value, early?.value], ['{"a":1}', 'null']);
      assert.deepEqual([late?.timestampMs, late?.receivedMs], [-1, nowMs]);
      assert.equal(before[1]?.[0]?.timestampMs, undefined);
    });

    test('values come back as they were, in every place', async () => {
      const of = nextSensor();
      const kept: StoredValue[] = [
        ...[
          0,
          -0,
          1,
          -1.5,
          5e-324,
          Number.MAX_VALUE,
          -Number.MAX_VALUE,
          2 ** 53,
          2 ** 63,
          140_737_488_355_328,
          0.1 + 0.2,
        ],
        ...[
          '""',
          '"5"',
          '"1e5"',
          '"-0"',
          'true',
          'false',
          'null',
          '[]',
          '{}',
          '[1,2]',
          '"場 🥁"',
          '" "',
          '{"a":[null]}',
        ],
        JSON.stringify('x'.repeat(65_000)),
      ];
      const same = async () => {
        const found = await values({ sensor: of });
        for (const [n, value] of kept.entries()) assert.ok(Object.is(found[n], value), `${value} came as ${found[n]}`);
        assert.ok(Object.is((await opened.series.latest([of])).get(of)?.value, kept.at(-1)));
      };
      await append(kept.map((value) => ({ sensor: of, value })));
      await same();
      await opened.seal();
      await same();
      await opened.reopen();
      await same();
    });

    test('a sensor has its own datapoints alone, and one without any none', async () => {
      const [one, other, none] = [nextSensor(), nextSensor(), nextSensor()];
      await append([
        { sensor: one, value: 1 },
        { sensor: other, value: 2 },
        { sensor: one, value: 3 },
      ]);
      assert.deepEqual([await values({ sensor: one }), await values({ sensor: other })], [[1, 3], [2]]);
      assert.deepEqual(await read({ sensor: none }), []);
      assert.equal((await opened.series.latest([none])).size, 0);
    });

    test('the latest is what arrived last, whatever its time', async () => {
      const [one, other] = [nextSensor(), nextSensor()];
      const latest = async () => {
        const found = await opened.series.latest([one, other]);
        return [found.get(one)?.value, found.get(other)?.value];
      };
      const latestTimes = async () => {
        const found = await opened.series.latestTimes([one, other, nextSensor()]);
        assert.equal(found.size, 2);
        return [found.get(one), found.get(other)];
      };
      await append([
        { sensor: one, timestamp: 100, value: 'true' },
        { sensor: other, timestamp: 1, value: 1 },
        { sensor: one, timestamp: 50, value: 2 },
      ]);
      assert.deepEqual([await latest(), await latestTimes()], [[2, 1], [100, 1]]); // biome-ignore format: one line
      await opened.seal();
      assert.deepEqual([await latest(), await latestTimes()], [[2, 1], [100, 1]]); // biome-ignore format: one line
      await append([{ sensor: other, timestamp: 0, value: 3 }]);
      assert.deepEqual([await latest(), await latestTimes()], [[2, 3], [100, 1]]); // biome-ignore format: one line
      await opened.reopen();
      assert.deepEqual([await latest(), await latestTimes()], [[2, 3], [100, 1]]); // biome-ignore format: one line
      await opened.seal();
      assert.deepEqual([await latest(), await latestTimes()], [[2, 3], [100, 1]]); // biome-ignore format: one line
    });

    test('a read in steps sees each datapoint once, whatever is sealed and arrives meanwhile', async () => {
      for (const descending of [false, true]) {
        const of = nextSensor();
        const points = Array.from({ length: 60 }, (_, value) => ({ sensor: of, timestamp: value % 7, value }));
        await append(points.slice(0, 20));
        await opened.seal();
        await append(points.slice(20));
        const seen: StoredValue[] = [];
        let after: SeriesCursor | undefined;
        for (let count = 0; ; count++) {
          const { columns, next } = await step({ sensor: of, descending, limit: 7, after, fromMs: 0, toMs: 6 });
          seen.push(...datapointsOf(columns).map(({ value }) => value));
          after = next;
          if (next === undefined) break;
          assert.equal(columns.count, 7);
          if (count === 2) await opened.seal();
          // Behind the reader, and outside of the bounds.
          await append([{ sensor: of, timestamp: descending ? 7 : -1, value: -1 }]);
        }
        const oracle = sorted(
          points.map((point, n) => ({ ...point, seq: n })),
          descending,
        );
        assert.deepEqual(
          seen,
          oracle.map(({ value }) => value),
        );
      }
    });

    test('a read while the engine seals sees each datapoint once', async () => {
      const of = nextSensor();
      const points = Array.from({ length: 40 }, (_, value) => ({ sensor: of, timestamp: value % 5, value }));
      const oracle = sorted(
        points.map((point, seq) => ({ ...point, seq })),
        false,
      );
      const expected = oracle.map(({ value }) => value);
      await append(points);
      const sealed = opened.seal();
      // Nothing here gives way to the event loop, so the engine seals while this side has not heard of it.
      for (const endMs = performance.now() + 100; performance.now() < endMs; ) {
        assert.deepEqual(await values({ sensor: of }), expected);
        assert.equal((await opened.series.latest([of])).get(of)?.value, 39);
      }
      await sealed;
      assert.deepEqual(await values({ sensor: of }), expected);
    });

    test('a range is what a sorted array says', async () => {
      const small = fc.integer({ min: 0, max: 12 });
      const bound = fc.option(fc.integer({ min: -1, max: 13 }), { nil: undefined });
      const point = fc.record({ timestamp: fc.option(small, { nil: undefined }), received: small });
      const query = fc.record({
        fromMs: bound,
        toMs: bound,
        descending: fc.boolean(),
        limit: fc.integer({ min: 1, max: 15 }),
      });
      const action = fc.oneof(
        { weight: 6, arbitrary: fc.record({ points: fc.array(point, { minLength: 1, maxLength: 8 }) }) },
        { weight: 2, arbitrary: fc.constant({ seal: true } as const) },
        { weight: 8, arbitrary: fc.record({ query, skip: fc.nat({ max: 10 }) }) },
      );
      const property = fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 25 }), async (steps) => {
        const of = nextSensor();
        const model: (Point & { seq: number })[] = [];
        for (const one of steps) {
          if ('seal' in one) await opened.seal();
          else if ('points' in one) {
            const points = one.points.map((each, n) => ({ ...each, sensor: of, value: model.length + n }));
            const seq = await append(points);
            model.push(...points.map((each, n) => ({ ...each, seq: seq + n })));
          } else {
            const { fromMs = -Infinity, toMs = Infinity, descending, limit } = one.query;
            const inside = model.filter((each) => timeOf(each) >= fromMs && timeOf(each) <= toMs);
            const all = sorted(inside, descending);
            const before = all[one.skip];
            const after = before && positionOf(before, { of: model, descending });
            const expected = before === undefined ? all : all.slice(one.skip + 1);
            const { columns, next } = await step({ sensor: of, ...one.query, after });
            assert.deepEqual(
              datapointsOf(columns).map(({ value }) => value),
              expected.slice(0, limit).map(({ value }) => value),
            );
            const last = expected.length > limit ? expected[limit - 1] : undefined;
            assert.deepEqual(next, last && positionOf(last, { of: model, descending }));
            assert.equal(await opened.series.count({ sensor: of, ...one.query }, 1000), all.length);
            knowsSeqs(columns, expected);
          }
        }
      });
      await fc.assert(property, properties());
    });

    test('knows what was last when a datapoint came, after what came in the same millisecond was sealed', async () => {
      const [a, b, c] = [nextSensor(), nextSensor(), nextSensor()];
      const lease = await acquired(opened, 'rules/0');
      opened.commitLog.confirm(opened.commitLog.lastPosition, lease);
      await append([{ sensor: b, value: 7 }]);
      await opened.seal();
      const seq = await append([{ sensor: a }, { sensor: b, value: 1 }, { sensor: c, value: 2 }]);
      await opened.seal();
      assert.equal((await opened.series.latestUpTo(b, seq))?.value, 7);
      assert.equal(await opened.series.latestUpTo(c, seq), undefined);
      // One that looks as what came later does is not taken for it.
      const from = await append([0, 1].map((value) => ({ sensor: c, value })));
      opened.commitLog.confirm(from + 1, lease);
      await opened.seal();
      const next = await append([{ sensor: a }, { sensor: c, value: 0 }]);
      await opened.seal();
      assert.equal((await opened.series.latestUpTo(c, next))?.value, 1);
      opened.commitLog.confirm(undefined, lease);
      await lease.release();
    });
  });
}

function knowsSeqs({ seqs }: Columns, expected: readonly { readonly seq: number }[]): void {
  for (const [index, seq] of (seqs ?? []).entries()) assert.ok(seq === 0 || seq === expected[index]?.seq);
}
