// Buffers of decoded chunks are reused, but never while a read may still use them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeColumns } from '../../../domain/datapoints/columns.ts';
import { encodeChunk } from '../codec/chunk-codec.ts';
import { DecodedChunks } from './decoded-chunks.ts';

const chunk = (value: number, count: number) => {
  const columns = makeColumns(count);
  columns.values.fill(value);
  return encodeChunk({ ...columns, texts: undefined });
};

test('what a read has taken stays as it is until its end, however much it takes', () => {
  const decoded = new DecodedChunks({ bytesMax: 100_000 });
  for (let round = 0; round < 5; round++) {
    const taken = Array.from({ length: 40 }, (_, n) => {
      const value = round * 100 + n;
      const count = 900 + ((n * 37) % 300);
      return { value, count, columns: decoded.take(value, chunk(value, count), { received: true }) };
    });
    for (const { value, count, columns } of taken) {
      assert.equal(columns.count, count);
      assert.ok(columns.values.length === count && columns.values.every((one) => one === value));
      assert.ok(columns.at.every((one) => one === 0) && columns.received.every((one) => one === 0));
    }
    const last = taken.at(-1);
    // Still cached, so the bytes are not decoded again.
    assert.equal(decoded.take(last?.value ?? 0, new Uint8Array(0), { received: true }), last?.columns);
    decoded.endOfRead();
  }
});

test('small chunks are held by the memory they take, not by their few datapoints', () => {
  const bytesMax = 100_000;
  const decoded = new DecodedChunks({ bytesMax });
  const count = 2_000;
  for (let n = 0; n < count; n++) {
    decoded.take(n, chunk(n, 1), { received: true });
    decoded.endOfRead();
  }
  let held = 0;
  for (let n = 0; n < count; n++) {
    try {
      decoded.take(n, new Uint8Array(0), { received: true });
      held += 1;
    } catch {
      // No longer cached, so the bytes were decoded.
    }
  }
  // A chunk of one datapoint takes three arrays of 512 bytes.
  assert.ok(held > 0 && held <= bytesMax / 1_500, `${held} are held`);
});
