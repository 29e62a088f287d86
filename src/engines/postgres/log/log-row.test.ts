// The bytes of a row give back what went in, and no changed byte is taken for something else.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { batchOf, nowMs } from '../../../../test/support/points.ts';
import { BatchBuilder } from '../../../domain/datapoints/datapoint-batch.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { formats } from '../database/formats.ts';
import { decodeRow, encodeBatch, encodeEdit, joinBatches, skipsRules } from './log-row.ts';

const place = { writer: 3, seq: 17 };
const session = { user: 1, number: 2 ** 47 + 1, goneMs: undefined };
const publish = { session, packetId: 7, h0: -1, h1: 2, h2: 3, h3: -4 };

suite('a row of the log', () => {
  test('gives back a batch, packed or not, with texts, fingerprints and what no rule looks at', () => {
    const few = [0, -0, 1.5, 5e-324].map((value, n) => ({ sensor: n + 1, timestamp: n, value }));
    const many = Array.from({ length: 500 }, (_, n) => ({ sensor: n + 1, value: n % 3 === 0 ? `"場 ${n}"` : n / 7 }));
    for (const points of [few, many, []]) {
      const batch = { ...batchOf(points, { publishes: [publish] }), rulesSkipped: [1, 2] };
      const content = decodeRow(encodeBatch(batch, place), place, points.length);
      assert.deepEqual([...content.rows], [...batch.rows]);
      assert.deepEqual(content.texts, batch.texts);
      assert.deepEqual(Buffer.from(content.fingerprints ?? []), Buffer.from(batch.publishes.buffer));
      assert.deepEqual([0, 1, 2, 3].map((index) => skipsRules(content.rulesSkipped, index)), [false, true, true, false]); // biome-ignore format: short
    }
  });

  test('gives back edits, with a value of any kind', () => {
    const values = [undefined, 0, -0, 1e300, '"text"', '12345678901234567890'];
    for (const value of values) {
      const range = { sensor: 5, fromMs: -1, toMs: nowMs, ...(value !== undefined && { value }) };
      const removal = { ...range, upTo: [[3, 16]] as const };
      const { removal: found } = decodeRow(encodeEdit({ removal }, place), place, 0);
      assert.deepEqual(found, removal);
      assert.ok(Object.is(found?.value, value));
    }
    const correction = { writer: 2, seq: 9, index: 4, sensor: 5, atMs: 7, value: '"x"' };
    assert.deepEqual(decodeRow(encodeEdit({ correction }, place), place, 0).correction, correction);
  });

  test('with any byte changed, cut short, or in another place, is refused', () => {
    const points = [1, 2, 3].map((value) => ({ sensor: value, value: value === 2 ? '"two"' : value }));
    const bytes = encodeBatch(batchOf(points), place);
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ (1 + (at % 255));
      assert.throws(() => decodeRow(changed, place, 3), CorruptChunk);
      assert.throws(() => decodeRow(bytes.subarray(0, at), place, 3), CorruptChunk);
    }
    assert.throws(() => decodeRow(bytes, { ...place, seq: 18 }, 3), CorruptChunk);
    assert.throws(() => decodeRow(bytes, { ...place, writer: 4 }, 3), CorruptChunk);
    assert.throws(() => decodeRow(bytes, place, 2), CorruptChunk);
  });

  test('of another version, or with a section that is not known, is refused as that, not as damaged', () => {
    const batch = batchOf([{ sensor: 1, value: 2 }]);
    const later = encodeBatch(batch, place, { version: formats.log.newest + 1 });
    assert.throws(() => decodeRow(later, place, 1), {
      name: 'UnknownVersion',
      message: 'It has version 2, known is 1.',
    });
    const plain = encodeBatch(batch, place);
    const body = Buffer.concat([plain.subarray(0, -4), Buffer.from([200, 1, 0, 0, 0, 7])]);
    const sum = crc32(body, crc32(new Uint8Array(Float64Array.of(place.writer, place.seq, 1).buffer)));
    const end = Buffer.alloc(4);
    end.writeUInt32LE(sum);
    assert.throws(() => decodeRow(Buffer.concat([body, end]), place, 1), { name: 'UnknownVersion' });
  });

  test('of several batches has each where it was', () => {
    const batches = [2, 0, 3].map((count, n) => {
      const batch = new BatchBuilder(count);
      for (let k = 0; k < count; k++) batch.add(n + 1, k, nowMs, k === 0 ? `"${n}"` : k);
      batch.addRulesSkipped(Math.min(count, 1));
      return batch.build();
    });
    const joined = joinBatches(batches);
    assert.deepEqual(
      [...joined.rows],
      batches.flatMap(({ rows }) => [...rows]),
    );
    assert.deepEqual(joined.texts, ['"0"', '"2"']);
    assert.deepEqual([0, 1, 2, 3, 4].map((index) => skipsRules(joined.rulesSkipped, index)), [false, true, false, false, true]); // biome-ignore format: short
  });
});
