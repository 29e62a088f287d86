// Gathering and merging compared with sorting arrays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { type Columns, type Slice, valueAt } from '../../../domain/datapoints/columns.ts';
import { columnsOf, type Datapoint } from './columns.suite.ts';
import { gather, mergeDown, mergeUp, type Piece } from './gathering.ts';

/** Few different times, so that many are equal; numbers and texts. */
const datapoint = fc.record({
  at: fc.integer({ min: 0, max: 9 }),
  late: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
  value: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom('"a"', 'null', '{}')),
});
const series = fc.array(datapoint, { maxLength: 20 });

interface Row {
  readonly at: number;
  readonly received: number | undefined;
  readonly stamped: number | undefined;
  readonly value: unknown;
  readonly seq: number | undefined;
}

const byTime = (points: readonly Datapoint[]) => points.toSorted((a, b) => a.at - b.at);

/** Columns whose values identify the rows. */
function numbered(points: readonly Datapoint[], firstSeq: number): Columns {
  return { ...columnsOf(points), seqs: Float64Array.from(points, (_, index) => firstSeq + index) };
}

function rowsOf(columns: Columns): Row[] {
  return Array.from({ length: columns.count }, (_, index) => ({
    at: columns.at[index] as number,
    received: columns.received[index],
    stamped: columns.stamped[index],
    value: valueAt(columns, index),
    seq: columns.seqs?.[index],
  }));
}

/** Pieces that know their first time, or do not. */
function unopened(slices: readonly Slice[], edgeOf: (slice: Slice, index: number) => number): Piece[] {
  return slices
    .filter(({ from, to }) => to > from)
    .map((slice, index) => ({ edgeMs: edgeOf(slice, index), open: () => slice }));
}

const whole = (columns: Columns): Slice => ({ columns, from: 0, to: columns.count });

/** Sorted columns cut into pieces, by fractions of their length. */
function pieces(columns: Columns, cuts: readonly number[]): Slice[] {
  const places = cuts.map((cut) => Math.floor(cut * columns.count)).sort((a, b) => a - b);
  const ends = [...places, columns.count];
  return ends.map((to, index) => {
    const from = index === 0 ? 0 : (ends[index - 1] as number);
    // Each piece as columns of its own, as if it came from a chunk of its own.
    return whole(
      gather([
        { columns, from, to },
        { columns, from: to, to },
      ]),
    );
  });
}

const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 });

test('merging gives the order of time in which the older of one time come first, up and down', () => {
  const property = fc.property(series, series, cuts, (older, newer, places) => {
    const first = numbered(byTime(older), 1);
    const second = numbered(byTime(newer), 1000);
    const oracle = [...rowsOf(first), ...rowsOf(second)].toSorted(
      (a, b) => a.at - b.at || (a.seq as number) - (b.seq as number),
    );
    const up = [
      ...mergeUp(
        unopened(pieces(first, places), ({ columns }, index) =>
          index % 2 > 0 ? -Infinity : (columns.at[0] as number),
        ),
        whole(second),
      ),
    ];
    assert.deepEqual(rowsOf(gather(up)), oracle);
    const down = [
      ...mergeDown(
        unopened(pieces(first, places).toReversed(), ({ columns }, index) =>
          index % 2 > 0 ? Infinity : (columns.at.at(-1) as number),
        ),
        whole(second),
      ),
    ];
    assert.deepEqual(rowsOf(gather(down, { reversed: true })), oracle.toReversed());
  });
  fc.assert(property, properties({ factor: 3 }));
});

test('a piece is not opened before what comes before it was taken, and none behind one that is not wanted', () => {
  const newer = whole(columnsOf([{ at: 1, value: 1 }, { at: 5, value: 5 }] as Datapoint[])); // biome-ignore format: pairs
  const older = whole(columnsOf([{ at: 3, value: 3 }] as Datapoint[]));
  for (const [merge, firstMs] of [
    [mergeUp, 1],
    [mergeDown, 5],
  ] as const) {
    // biome-ignore format: pairs
    const opened: number[] = [];
    const piece = (number: number): Piece => ({
      edgeMs: 3,
      open: () => {
        opened.push(number);
        return number === 1 ? older : undefined;
      },
    });
    const slices = merge([piece(1), piece(2), piece(3)], newer);
    const first = slices.next().value as Slice;
    assert.deepEqual([first.columns.at[first.from], opened], [firstMs, []]);
    assert.equal([...slices].length, 1);
    assert.deepEqual(opened, [1, 2]);
  }
});

test('gathering takes the slices as they are, in both directions, and knows who has no seqs or no time of receiving', () => {
  const some = fc.record({
    points: series,
    hasSeqs: fc.boolean(),
    hasReceived: fc.boolean(),
    from: fc.nat(),
    size: fc.nat(),
  });
  const property = fc.property(fc.array(some, { maxLength: 5 }), fc.boolean(), (many, reversed) => {
    const slices = many.map(({ points, hasSeqs, hasReceived, from, size }, index) => {
      const all = hasSeqs ? numbered(points, 1 + 100 * index) : columnsOf(points);
      const columns = hasReceived ? all : { ...all, received: new Float64Array(0), stamped: new Uint8Array(0) };
      const start = from % (points.length + 1);
      return { columns, from: start, to: start + (size % (points.length - start + 1)) };
    });
    const isFull = slices.every(({ columns }) => columns.received.length === columns.count);
    const haveSeqs = slices.some(({ columns }) => columns.seqs !== undefined);
    const oracle = slices.flatMap(({ columns, from, to }) => {
      const rows = rowsOf(columns).slice(from, to);
      return reversed ? rows.reverse() : rows;
    });
    const found = gather(slices, { reversed });
    assert.deepEqual(
      rowsOf(found),
      oracle.map(({ at, received, stamped, value, seq }) => ({
        at,
        received: isFull ? received : undefined,
        stamped: isFull ? stamped : undefined,
        value,
        seq: haveSeqs ? (seq ?? 0) : undefined,
      })),
    );
  });
  fc.assert(property, properties({ factor: 3 }));
});
