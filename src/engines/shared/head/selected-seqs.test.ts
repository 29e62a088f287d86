// A read returns datapoints of the head in order of time, whatever their order of arrival.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { SelectedSeqs } from './selected-seqs.ts';

test('seqs are put in order of their times, equal times by seq, whether few or all came late', () => {
  const selected = new SelectedSeqs();
  const times = fc.oneof(
    fc.array(fc.integer({ min: -9, max: 9 }), { maxLength: 60 }),
    // Nearly sorted and in reverse order: too much to be sorted by moving single entries.
    fc.array(fc.nat(3), { maxLength: 300 }).map((late) => late.map((by, n) => n - by)),
    fc.nat(3_000).map((count) => Array.from({ length: count }, (_, n) => -n)),
  );
  fc.assert(
    fc.property(times, (arrived) => {
      selected.clear();
      for (const [n, ms] of [...arrived.entries()].reverse()) selected.add(n + 1, ms);
      assert.equal(selected.countBehind(0), arrived.filter((ms) => ms > 0).length);
      selected.sort();
      const seqs = arrived.map((_, n) => n + 1);
      seqs.sort((a, b) => (arrived[a - 1] as number) - (arrived[b - 1] as number) || a - b);
      assert.deepEqual([...selected.seqs], seqs);
    }),
    properties(),
  );
});
