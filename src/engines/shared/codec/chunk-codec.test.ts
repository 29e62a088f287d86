import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { limits } from '../../../config/limits.ts';
import type { Columns } from '../../../domain/datapoints/columns.ts';
import { CorruptChunk } from './bytes/corrupt-chunk.ts';
import { decodeChunk, encodeChunk } from './chunk-codec.ts';
import { assertSame, columnsOf, type Datapoint, samples } from './columns.suite.ts';

function assertRoundTrip(columns: Columns): Uint8Array {
  const bytes = encodeChunk(columns);
  assertSame(decodeChunk(bytes), columns);
  const { at, values, texts, received, stamped } = decodeChunk(bytes, { received: false });
  assertSame({ ...columns, at, values, texts }, columns);
  assert.deepEqual([received.length, stamped.length], [0, 0]);
  return bytes;
}

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const decimal = fc
  .tuple(fc.maxSafeInteger(), fc.integer({ min: 0, max: 14 }))
  .map(([integer, decimals]) => Number(`${integer}e-${decimals}`));
const single = fc.float({ noNaN: true, noDefaultInfinity: true });
const text = fc.oneof(
  fc.json(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('null', 'true', '""', '{"lat":52.5,"lon":13.4}', '\ud800', '"\\ud800"', '\ufeff', '', '\0'),
);
const smallDecimal = fc.integer({ min: -400, max: 400 }).map((tenths) => tenths / 10);
const oneKind = fc.constantFrom<fc.Arbitrary<number | string>>(
  finite,
  decimal,
  single,
  text,
  smallDecimal,
  fc.integer(),
);
const mixture = fc.oneof(finite, decimal, text, smallDecimal, fc.constantFrom(0, -0, 5e-324, Number.MAX_VALUE));

const anyTime = fc.integer({ min: -8.64e15, max: 8.64e15 });
const modernTime = fc.integer({ min: 1.2e12, max: 1.9e12 });

const lists = (time: fc.Arbitrary<number>, value: fc.Arbitrary<number | string>) =>
  fc.array(
    fc.record({ at: time, late: fc.option(fc.integer({ min: -5_000, max: 500_000 }), { nil: undefined }), value }),
    { minLength: 1, maxLength: 300, size: 'max' },
  );
const datapoints = fc.oneof(
  oneKind.chain((value) => lists(modernTime, value)),
  lists(anyTime, mixture).map((list) =>
    list.map((one) => (Math.abs(one.at + (one.late ?? 0)) > 8.64e15 ? { ...one, late: undefined } : one)),
  ),
);

/** Datapoints as fleets send them: regular with gaps and jitter, a drifting value, outliers and texts. */
const series = fc
  .record({
    count: fc.integer({ min: 1, max: 9_000 }),
    stepMs: fc.constantFrom(0, 1, 10, 1_000, 60_000, 3_600_000),
    jitterMs: fc.constantFrom(0, 1, 400, 100_000),
    lateMs: fc.constantFrom(0, 20, 400, 1e9),
    decimals: fc.constantFrom(0, 1, 2, 6, 17),
    wander: fc.constantFrom(0, 0.1, 5, 1e6),
    strange: fc.constantFrom(0, 0.001, 0.05, 0.5),
    unstamped: fc.constantFrom(0, 0.01, 1),
    seed: fc.integer(),
  })
  .map((shape) => {
    const random = dice(shape.seed);
    const factor = 10 ** shape.decimals;
    let at = 1_700_000_000_000;
    let level = 20;
    return Array.from({ length: shape.count }, (): Datapoint => {
      at += shape.stepMs * (random() < 0.01 ? 7 : 1);
      level += (random() - 0.5) * shape.wander;
      const rounded = shape.decimals > 15 ? level : Math.round(level * factor) / factor;
      return {
        at: at + Math.floor(random() * shape.jitterMs),
        late: random() < shape.unstamped ? undefined : Math.floor(random() * shape.lateMs),
        value: random() >= shape.strange ? rounded : random() < 0.5 ? '"n/a"' : random() * 1e300,
      };
    });
  });

/** Pseudo-random numbers from 0 to 1 for a seed (mulberry32). */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('what is decoded is bit for bit what was encoded, in any order of times', () => {
  fc.assert(
    fc.property(datapoints, (list) => {
      assertRoundTrip(columnsOf(list));
    }),
    properties({ factor: 3 }),
  );
});

test('so is what fleets send, up to big chunks', () => {
  fc.assert(
    fc.property(series, (list) => {
      assertRoundTrip(columnsOf(list));
    }),
    properties({ factor: 0.7 }),
  );
});

test('a chunk of the most datapoints, and texts of megabytes', () => {
  const random = dice(1);
  const list = Array.from({ length: limits.chunkDatapointsMax }, (_, i) => ({ at: i, late: 1, value: random() }));
  assertRoundTrip(columnsOf(list));
  const long = Array.from({ length: 3 }, (_, i) => ({
    at: i,
    late: 1,
    value: JSON.stringify(`${i}é`.repeat(700_000)),
  }));
  assertRoundTrip(columnsOf(long));
  assert.throws(() => encodeChunk(columnsOf([...list, { at: 1, late: 1, value: 1 }])), RangeError);
});

test('columns that no datapoints have are refused, and longer arrays are cut to the count', () => {
  const good = columnsOf([{ at: 1, late: 2, value: 3 }, { at: 2, late: undefined, value: 'null' }]); // biome-ignore format: short
  const bad: readonly Partial<Columns>[] = [
    { count: 0 },
    { count: 3 },
    { count: 1.5 },
    { at: Float64Array.of(1, 0.5) },
    { at: Float64Array.of(1, Number.NaN) },
    { at: Float64Array.of(1, 9e15) },
    { at: Float64Array.of(1, 3) },
    { values: Float64Array.of(1, Number.POSITIVE_INFINITY) },
    { values: Float64Array.of(Number.NaN, Number.NaN) },
    { values: Float64Array.of(1, 1) },
    { texts: undefined },
  ];
  for (const part of bad) assert.throws(() => encodeChunk({ ...good, ...part }), RangeError, JSON.stringify(part));
  assertSame(decodeChunk(encodeChunk({ ...good, count: 1, texts: undefined })), columnsOf([{ at: 1, late: 2, value: 3 }])); // biome-ignore format: one
});

test('every changed byte and every truncation is called corrupt', () => {
  for (const sample of Object.values(samples)) {
    const bytes = encodeChunk(columnsOf(sample));
    for (let i = 0; i < bytes.length; i++) {
      assert.throws(() => decodeChunk(bytes.subarray(0, i)), CorruptChunk);
      for (const change of [1, 128, 255]) {
        const changed = bytes.slice();
        changed[i]! ^= change;
        assert.throws(() => decodeChunk(changed), CorruptChunk);
      }
    }
  }
});

test('bytes that nobody encoded are decoded or called corrupt, in bounded time, also where the checksum is right', () => {
  const bytes = Object.values(samples).map((sample) => encodeChunk(columnsOf(sample)));
  const mutated = fc
    .tuple(
      fc.constantFrom(...bytes),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      fc.double({ min: 0.1, max: 1, noNaN: true }),
    )
    .map(([chunk, changes, share]) => {
      const changed = chunk.slice(0, Math.ceil((chunk.length - 4) * (share > 0.5 ? 1 : share * 2)));
      for (const [index, value] of changes) changed[index % changed.length] = value;
      return changed;
    });
  const random = fc.uint8Array({ maxLength: 200 }).map((content) => Uint8Array.of(1, ...content));
  fc.assert(
    fc.property(fc.oneof(mutated, random), fc.boolean(), (content, received) => {
      const chunk = new Uint8Array(content.length + 4);
      chunk.set(content);
      new DataView(chunk.buffer).setUint32(content.length, crc32(content), true);
      try {
        assert.ok(decodeChunk(chunk, { received }).count > 0);
      } catch (error) {
        assert.ok(error instanceof CorruptChunk, String(error));
      }
    }),
    properties({ factor: 16 }),
  );
});

test('a chunk of another version is refused and says which', () => {
  const content = Uint8Array.of(2, 1, 0, 0, 0, 0);
  const chunk = new Uint8Array(content.length + 4);
  chunk.set(content);
  new DataView(chunk.buffer).setUint32(content.length, crc32(content), true);
  assert.throws(() => decodeChunk(chunk), { name: 'UnknownVersion', message: 'The chunk has version 2, known is 1.' });
});
