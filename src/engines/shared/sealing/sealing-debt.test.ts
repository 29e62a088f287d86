// How far sealing is behind, by the length of the log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { limits } from '../../../config/limits.ts';
import { sealingDebtOf } from './sealing-debt.ts';

const { headRowsMax, headTextCharsMax } = limits;

test('it grows from nothing to one, where the log is full, from where large batches wait or halfway from where a pass begins', () => {
  for (const { rowsMin, rowsBehind } of [
    { rowsMin: headRowsMax / 8, rowsBehind: headRowsMax / 2 },
    { rowsMin: 0, rowsBehind: headRowsMax * 2 },
    { rowsMin: 0, rowsBehind: Number.POSITIVE_INFINITY },
  ]) {
    const debtAt = (share: number) => sealingDebtOf({ rows: headRowsMax * share, rowsMin, rowsBehind, textChars: 0 });
    assert.deepEqual([0, 0.5, 0.625, 0.75, 1, 1.5].map(debtAt), [0, 0, 0.25, 0.5, 1, 1]);
  }
});

test('a log that is full of texts is as far behind as one that is full of datapoints', () => {
  const few = { rows: 1, rowsMin: headRowsMax / 8, rowsBehind: headRowsMax / 2 };
  const debtAt = (share: number) => sealingDebtOf({ ...few, textChars: headTextCharsMax * share });
  assert.deepEqual([0, 0.75, 0.875, 1, 2].map(debtAt), [0, 0, 0.5, 1, 1]);
});

test('a longer log is never less behind, whatever the bounds', () => {
  const count = fc.nat({ max: 3_000_000 });
  const chars = fc.nat({ max: headTextCharsMax * 2 });
  const bounds = fc.record({ rowsMin: count, rowsBehind: fc.oneof(count, fc.constant(Number.POSITIVE_INFINITY)) });
  const law = fc.property(count, count, chars, chars, bounds, (rows, moreRows, textChars, moreChars, of) => {
    const less = sealingDebtOf({ ...of, rows, textChars });
    const more = sealingDebtOf({ ...of, rows: rows + moreRows, textChars: textChars + moreChars });
    assert.ok(less >= 0 && less <= more && more <= 1, `${less} and ${more}`);
  });
  fc.assert(law, properties());
});
