import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnedClock } from '../../base/time/clock.ts';
import { RecentRate } from './recent-rate.ts';

function looked() {
  const clock = new TurnedClock(0);
  const counted = { count: 100 };
  const rate = new RecentRate({ clock, count: () => counted.count, overMs: 60_000, lookMs: 5_000 });
  rate.look();
  return { clock, counted, rate };
}

test('a rate is that since the start, and then that of the last minute', () => {
  const { clock, counted, rate } = looked();
  assert.equal(rate.perSecond, 0);
  counted.count += 30;
  assert.equal(rate.perSecond, 30, 'not more than in the first second');
  clock.advance(10_000);
  assert.equal(rate.perSecond, 3);
  for (let looks = 0; looks < 10; looks++) {
    rate.look();
    clock.advance(5_000);
  }
  assert.equal(rate.perSecond, 0.5, 'a minute after the start');
  for (let looks = 0; looks < 3; looks++) {
    rate.look();
    clock.advance(5_000);
  }
  assert.equal(rate.perSecond, 0, 'what came before the last minute counts no more');
});

test('a rate is kept in a bounded number of looks, however often somebody looks, and after a long time without', () => {
  const { clock, counted, rate } = looked();
  for (let looks = 0; looks < 10_000; looks++) {
    clock.advance(100);
    counted.count += 1;
    rate.look();
  }
  assert.ok(Math.abs(rate.perSecond - 10) < 1e-9, String(rate.perSecond));
  clock.advance(3_600_000);
  assert.ok(rate.perSecond < 0.2);
  rate.look();
  assert.ok(rate.perSecond < 0.2);
});
