// How far sealing is behind, by the length of the log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../../test/support/properties.ts';
import { limits } from '../../../config/limits.ts';
import { sealingDebtOf } from './sealing-debt.ts';

test('it grows from nothing, where large batches begin to wait, to one, where the log is full', () => {
  const { headRowsMax } = limits;
  const rowsMin = headRowsMax / 8;
  const debtAt = (share: number) => sealingDebtOf({ rows: headRowsMax * share, rowsMin, rowsBehind: headRowsMax / 2 });
  assert.deepEqual([0, 0.5, 0.625, 0.75, 1, 1.5].map(debtAt), [0, 0, 0.25, 0.5, 1, 1]);
});

test('where sealing is never behind before the log is full, it grows from halfway on', () => {
  const { headRowsMax } = limits;
  for (const rowsBehind of [headRowsMax * 2, Number.POSITIVE_INFINITY]) {
    const debtAt = (share: number) =>
      sealingDebtOf({ rows: headRowsMax * share, rowsMin: headRowsMax / 2, rowsBehind });
    assert.deepEqual([0.5, 0.75, 0.875, 1].map(debtAt), [0, 0, 0.5, 1]);
  }
});

test('a longer log is never less behind, whatever the bounds', () => {
  const count = fc.nat({ max: 3_000_000 });
  const law = fc.property(count, count, count, fc.oneof(count, fc.constant(Infinity)), (a, b, rowsMin, rowsBehind) => {
    const [less, more] = [Math.min(a, b), Math.max(a, b)].map((rows) => sealingDebtOf({ rows, rowsMin, rowsBehind }));
    assert.ok(less !== undefined && more !== undefined);
    assert.ok(less >= 0 && less <= more && more <= 1, `${less} and ${more}`);
  });
  fc.assert(law, properties());
});
