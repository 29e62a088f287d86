import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { CorruptChunk } from '../codec/bytes/corrupt-chunk.ts';
import { packBatch, unpackBatch } from './packed-batch.ts';

type Arrival = readonly [sensor: number, timestamp: number | undefined, received: number, value: number];

const rowsOf = (arrivals: readonly Arrival[]) =>
  Float64Array.from(arrivals.flatMap(([sensor, timestamp, ...rest]) => [sensor, timestamp ?? Number.NaN, ...rest]));
const hex = ({ buffer, byteOffset, byteLength }: Float64Array) =>
  Buffer.from(buffer, byteOffset, byteLength).toString('hex');

/** As fleets send: many sensors, received in the same milliseconds, values with one decimal. */
const usual = Array.from({ length: 40 }, (_, i): Arrival => {
  const received = 1_700_000_000_000 + Math.floor(i / 8);
  return [(i * 7919) % 100_000, i % 5 === 4 ? undefined : received - 20 - ((i * 37) % 380), received, (i * 31) % 400 / 10]; // biome-ignore format: a table
});
/** Their bytes when the format was fixed: these must stay readable. */
const usualBytes =
  'AYUA8Z4LoI0GAf/v//1fgYCgq/75YgABgICAgAACgAAB77333nuJFHUHWq229tdqtbX/X6ut/bVabe3/12prf61WW/v/tdraX6vV1gADCuIECeIECeIEAYUA8QWQAwH/7//9PwnX+8g=';

const sensor = fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 2 ** 53 - 1 }));
const time = fc.oneof(fc.integer({ min: 1.2e12, max: 1.9e12 }), fc.integer({ min: -8.64e15, max: 8.64e15 }));
const value = fc.oneof(
  fc.double({ noNaN: true }),
  fc.integer({ min: -400, max: 400 }).map((tenths) => tenths / 10),
  fc.constantFrom(0, -0, 5e-324, Number.MAX_VALUE, 2 ** 53),
);
const arrivals = fc.array(fc.tuple(sensor, fc.option(time, { nil: undefined }), time, value) as fc.Arbitrary<Arrival>, {
  minLength: 1,
  maxLength: 127,
});

suite('packed datapoints', () => {
  test('are the same bit for bit, and fewer bytes, whatever they are', () => {
    fc.assert(
      fc.property(arrivals, (list) => {
        const rows = rowsOf(list);
        const packed = packBatch(rows);
        if (packed === undefined) return;
        assert.ok(packed.length < rows.byteLength);
        assert.equal(hex(unpackBatch(packed, list.length)), hex(rows));
      }),
      properties(),
    );
  });

  test('as fleets send them take a third of their bytes at most', () => {
    const rows = rowsOf(usual);
    const packed = packBatch(rows);
    assert.ok(packed !== undefined && packed.length * 3 <= rows.byteLength, `${packed?.length} bytes`);
    assert.equal(hex(unpackBatch(packed, usual.length)), hex(rows));
  });

  test('of version 1 are read as they were meant', () => {
    assert.equal(hex(unpackBatch(Buffer.from(usualBytes, 'base64'), usual.length)), hex(rowsOf(usual)));
  });

  test('that a series cannot give back are left as they are', () => {
    for (const odd of [
      [[1, -0, 5, 1.5]],
      [[1, 5, -0, 1.5]],
      [[1, 0.1, 1_700_000_000_000, 1.5]],
      [[1, -8.64e15, 8.64e15, 1]],
    ] as const)
      assert.equal(packBatch(rowsOf([...odd, ...odd])), undefined);
  });

  test('with any byte changed, cut short or longer are refused, never read as others', () => {
    const packed = packBatch(rowsOf(usual)) as Uint8Array;
    for (let at = 0; at < packed.length; at++) {
      const changed = packed.slice();
      changed[at] = (changed[at] as number) ^ (1 + (at % 255));
      assert.throws(() => unpackBatch(changed, usual.length), CorruptChunk);
      assert.throws(() => unpackBatch(packed.subarray(0, at), usual.length), CorruptChunk);
    }
    assert.throws(() => unpackBatch(Uint8Array.of(...packed, 0), usual.length), CorruptChunk);
    for (const count of [1, usual.length - 1, usual.length + 1, 5_000])
      assert.throws(() => unpackBatch(packed, count), CorruptChunk);
  });

  test('of any bytes with a right checksum throw nothing but CorruptChunk', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.integer({ min: 1, max: 127 }), (body, count) => {
        const bytes = new Uint8Array(body.length + 4);
        bytes.set(body);
        bytes[0] = 1;
        new DataView(bytes.buffer).setUint32(body.length, crc32(bytes.subarray(0, body.length)), true);
        try {
          assert.equal(unpackBatch(bytes, count).length, count * rowNumbers);
        } catch (error) {
          if (!(error instanceof CorruptChunk)) throw error;
        }
      }),
      properties(),
    );
  });
});
