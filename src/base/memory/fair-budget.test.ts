// How a bounded amount is shared out among holders.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairBudget } from './fair-budget.ts';

/** Takes one after the other until the share is used up. */
function takeAll(budget: FairBudget<string>, holder: string): number {
  while (budget.take(holder, 1));
  return budget.heldBy(holder);
}

test('one greedy holder gets half, the next get less, and a newcomer always gets something', () => {
  const budget = new FairBudget<string>(1_200);
  assert.equal(takeAll(budget, 'a'), 600);
  assert.equal(takeAll(budget, 'b'), 300);
  assert.equal(takeAll(budget, 'c'), 150);
  assert.equal(takeAll(budget, 'd'), 75);
  assert.equal(budget.take('e', 1), true);
  assert.ok(budget.taken <= 1_200);
});

test('what is given back can be taken again, and no more is given back than was held', () => {
  const budget = new FairBudget<string>(100);
  assert.equal(budget.take('a', 51), false);
  assert.equal(budget.take('a', 50), true);
  budget.release('a', 80);
  assert.deepEqual([budget.taken, budget.heldBy('a')], [0, 0]);
  budget.release('nobody', 5);
  assert.equal(budget.taken, 0);
  assert.equal(takeAll(budget, 'b'), 50);
});
