// Caches and indexes that share one memory: which one shrinks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LruCache } from './lru-cache.ts';
import { MemoryPool } from './memory-pool.ts';

const cacheIn = (pool: MemoryPool, weightMax: number) =>
  new LruCache<number, string>({ weightMax, pool, weigh: (value) => value.length });
const fill = (cache: LruCache<number, string>, count: number) => {
  for (let n = 0; n < count; n++) cache.set(n, '0123456789');
};

test('a cache alone may use all that its own bound allows', () => {
  const cache = cacheIn(new MemoryPool(() => 100), 80);
  fill(cache, 100);
  assert.equal(cache.weight, 80);
});

test('caches that are too large together shrink, the fullest first, and forget what was used longest ago', () => {
  const pool = new MemoryPool(() => 100);
  const [one, other] = [cacheIn(pool, 80), cacheIn(pool, 80)];
  fill(one, 8);
  fill(other, 8);
  assert.ok(pool.held <= 100);
  assert.ok(one.weight >= 40 && other.weight >= 40, `${one.weight} and ${other.weight}`);
  assert.equal(one.get(0), undefined);
  assert.equal(one.get(7), '0123456789');
  assert.equal(other.get(7), '0123456789');
});

test('what cannot be forgotten takes memory from what can', () => {
  const pool = new MemoryPool(() => 100);
  const cache = cacheIn(pool, 80);
  const index = { weight: 0, weightMax: 90 };
  pool.join(index);
  fill(cache, 8);
  index.weight = 70;
  pool.makeRoom();
  assert.equal(cache.weight, 30);
  index.weight = 120;
  pool.makeRoom();
  assert.equal(cache.weight, 0);
});
