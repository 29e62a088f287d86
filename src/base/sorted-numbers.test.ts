// Searches from either end find the same as a binary search.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../test/support/properties.ts';
import { lowerBound, lowerBoundNear, lowerBoundNearEnd, upperBound } from './sorted-numbers.ts';

test('a bound is where a look at each number says it is', () => {
  const numbers = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 50 });
  fc.assert(
    fc.property(numbers, fc.integer({ min: -1, max: 31 }), fc.nat(50), fc.nat(50), (unsorted, least, a, b) => {
      const at = Float64Array.from(unsorted).sort();
      const [from, to] = [Math.min(a, b, at.length), Math.min(Math.max(a, b), at.length)];
      let lower = from;
      while (lower < to && (at[lower] as number) < least) lower += 1;
      let upper = from;
      while (upper < to && (at[upper] as number) <= least) upper += 1;
      for (const search of [lowerBound, lowerBoundNear, lowerBoundNearEnd])
        assert.equal(search(at, least, from, to), lower);
      assert.equal(upperBound(at, least, from, to), upper);
    }),
    properties(),
  );
});
