import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../test/support/properties.ts';
import { LruCache } from './lru-cache.ts';

const key = fc.integer({ min: 0, max: 11 });
const step = fc.oneof(
  fc.record({ does: fc.constant('set' as const), key, weight: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ does: fc.constant('get' as const), key }),
  fc.record({ does: fc.constant('delete' as const), key }),
);

test('it holds what a list of what was used last holds', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const weightMax = 10;
      const entriesMax = 6;
      const dropped: number[] = [];
      const cache = new LruCache<number, { readonly weight: number; readonly n: number }>({
        weightMax,
        weigh: ({ weight }) => weight,
        entriesMax,
        onDrop: ({ n }) => dropped.push(n),
      });
      /** Used longest ago first. */
      let list: { readonly key: number; readonly weight: number; readonly n: number }[] = [];
      const expectedDrops: number[] = [];
      const weigh = () => list.reduce((sum, { weight }) => sum + weight, 0);
      const drop = (at: number) => expectedDrops.push(...list.splice(at, 1).map(({ n }) => n));
      for (const [n, now] of steps.entries()) {
        const at = list.findIndex((one) => one.key === now.key);
        if (now.does === 'get') {
          assert.equal(cache.get(now.key)?.n, list[at]?.n);
          // While it is less than half full, in weight and in entries, the order stays as it is.
          if (at >= 0 && (weigh() * 2 > weightMax || list.length * 2 > entriesMax)) list.push(...list.splice(at, 1));
        } else if (at >= 0) drop(at);
        if (now.does === 'delete') cache.delete(now.key);
        if (now.does === 'set') {
          cache.set(now.key, { weight: now.weight, n });
          list.push({ key: now.key, weight: now.weight, n });
          while ((weigh() > weightMax || list.length > entriesMax) && list.length > 1) drop(0);
        }
        assert.deepEqual([...cache.entries()].map(([, value]) => value.n), list.map((one) => one.n)); // biome-ignore format: a pair
        assert.equal(cache.size, list.length);
        assert.equal(cache.weight, weigh());
        assert.deepEqual(dropped, expectedDrops);
      }
      cache.clear();
      list = [];
      assert.deepEqual([cache.size, [...cache.entries()]], [0, list]);
    }),
    properties(),
  );
});
