import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../config/limits.ts';
import { Habits } from './habits.ts';

const minuteMs = 60_000;
const startMs = Date.UTC(2026, 0, 1);

function heardEvery(ms: number, times: number, { key = 1, bytesMax = 1_000_000 } = {}) {
  let returns = 0;
  const habits = new Habits({ bytesMax, onReturn: () => (returns += 1) });
  let nowMs = startMs;
  for (let n = 0; n < times; n++) {
    nowMs += ms;
    habits.note(key, nowMs);
  }
  const overdue = (afterMs: number) => [...habits.overdue({ nowMs: nowMs + afterMs, sinceMs: startMs })].flat();
  return { habits, overdue, nowMs, returns: () => returns };
}

test('a habit is known after some gaps, and silence begins after a few of them', () => {
  assert.deepEqual(heardEvery(10 * minuteMs, limits.habitGapsMin).overdue(1e9), []);
  const { overdue, habits } = heardEvery(10 * minuteMs, limits.habitGapsMin + 1);
  assert.equal(habits.usualMs(1), 10 * minuteMs);
  assert.deepEqual(overdue(50 * minuteMs), []);
  assert.deepEqual(overdue(50 * minuteMs + 1), [1]);
});

test('a sensor that sends many times a second is silent after five minutes, not sooner', () => {
  const { habits, overdue } = heardEvery(100, 1_000);
  assert.equal(habits.isKnown(1), false, 'parts of one push are one reception');
  assert.deepEqual(overdue(1e9), []);
  const each2s = heardEvery(2_000, 100);
  assert.deepEqual(each2s.overdue(limits.silentMsMin), []);
  assert.deepEqual(each2s.overdue(limits.silentMsMin + 1), [1]);
});

test('an outage changes the habit little, another rhythm is learned within some gaps', () => {
  const { habits, nowMs } = heardEvery(10 * minuteMs, 50);
  habits.note(1, nowMs + 24 * 60 * minuteMs);
  assert.ok((habits.silentAfterMs(1) ?? 0) <= 70 * minuteMs);
  for (let n = 1; n <= 10; n++) habits.note(1, nowMs + (24 + n) * 60 * minuteMs);
  assert.ok((habits.silentAfterMs(1) ?? 0) > 60 * minuteMs, 'an hour is usual now');
});

test('one that is marked is not found again, and its return is told once', () => {
  const { habits, overdue, nowMs, returns } = heardEvery(10 * minuteMs, 10);
  habits.mark(1, true);
  assert.deepEqual(overdue(1e9), []);
  habits.note(1, nowMs + 1e9);
  habits.note(1, nowMs + 2e9);
  assert.equal(returns(), 1);
});

test('a habit learned from what is stored keeps the mark, and what is forgotten raises nothing', () => {
  const { habits } = heardEvery(10 * minuteMs, 1);
  habits.mark(1, true);
  const timesMs = Array.from({ length: 8 }, (_, n) => startMs + n * minuteMs).reverse();
  habits.adopt(1, timesMs);
  const overdue = () => [...habits.overdue({ nowMs: startMs + 1e9, sinceMs: startMs })].flat();
  assert.equal(habits.usualMs(1), minuteMs);
  assert.deepEqual(overdue(), []);
  habits.mark(1, false);
  assert.deepEqual(overdue(), [1]);
  habits.forget(1);
  assert.deepEqual(overdue(), []);
});

test('beyond its bytes nothing more is remembered, and nothing fails', () => {
  const { habits, overdue } = heardEvery(minuteMs, 10, { key: 5_000_000, bytesMax: 10 });
  assert.equal(habits.lastMs(5_000_000), undefined);
  assert.deepEqual(overdue(1e12), []);
});
