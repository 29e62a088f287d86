import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entryBytes, heapBytes, textHeapBytes } from './heap-bytes.ts';
import { LruCache } from './lru-cache.ts';

test('parsed JSON weighs what it takes in memory, not what its text has', () => {
  const empties = JSON.parse(`[${'[],'.repeat(5_000)}[]]`) as unknown;
  assert.ok(heapBytes(empties) > 150_000, 'fifteen thousand characters make ten times as many bytes');
  assert.ok(heapBytes({ a: 'x'.repeat(16_000) }) >= 16_000);
  assert.ok(heapBytes(new Set(Array.from({ length: 1_000 }, (_, n) => `device-${n}`))) > 80_000);
  assert.equal(heapBytes(undefined), 0);
});

test('a cache of foreign texts holds so many bytes, however long they are', () => {
  const bytesMax = 1_000_000;
  for (const length of [1, 100, 10_000, 300_000]) {
    const weigh = (_: boolean, key: string) => entryBytes + textHeapBytes(key);
    const cache = new LruCache<string, boolean>({ weightMax: bytesMax, entriesMax: 2_000, weigh });
    for (let n = 0; n < 5_000; n++) cache.set(`${n}`.padEnd(length, 'x'), true);
    assert.ok(cache.weight <= bytesMax, `${cache.weight} bytes of texts with ${length} characters`);
    assert.ok(cache.size <= 2_000);
    assert.ok(cache.size >= 1);
  }
});
