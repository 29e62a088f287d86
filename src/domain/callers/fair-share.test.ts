// What the share of a caller allows, in numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Caller } from './caller.ts';
import { FairShare } from './fair-share.ts';

const make = (scale = 1) => new FairShare('reads', { aloneMax: 90 * scale, reserve: 30 * scale });
const takeAll = (share: FairShare, caller: Caller): number => {
  while (share.take(caller, 1));
  return share.heldBy(caller);
};

test('one caller alone may hold all but the reserve', () => {
  const share = make();
  assert.equal(takeAll(share, new Caller('a')), 90);
  assert.equal(share.held, 90);
});

test('beside one that holds all it may, others are let in, and something stays free', () => {
  const share = make();
  takeAll(share, new Caller('heavy'));
  for (let n = 0; n < 5; n++) assert.ok(share.take(new Caller(`light ${n}`), 1));
  assert.ok(takeAll(share, new Caller('second')) >= 15);
  assert.ok(share.take(new Caller('late'), 1));
});

test('three callers that take all they get leave room for one more', () => {
  const share = make(10);
  const callers = Array.from({ length: 3 }, (_, n) => new Caller(String(n)));
  for (const caller of callers) takeAll(share, caller);
  assert.ok(share.take(new Caller('late'), 1));
  assert.ok(share.held <= share.capacity);
});

test('who holds more than its share gets nothing until it has given back, and others get what it gives back', () => {
  const share = make();
  const heavy = new Caller('heavy');
  const other = new Caller('other');
  takeAll(share, heavy);
  takeAll(share, other);
  assert.equal(share.take(heavy, 1), false);
  share.release(heavy, 40);
  takeAll(share, other);
  assert.ok(share.heldBy(other) >= share.heldBy(heavy) - 10);
});

test('the same sequence of callers has the same amounts in the end: what is given back is free', () => {
  const share = make();
  const caller = new Caller('a');
  assert.ok(share.take(caller, 50));
  share.release(caller, 50);
  assert.equal(share.held, 0);
  assert.equal(caller.isHolding, false);
  assert.equal(takeAll(share, caller), 90);
});
