// When the wall clock is in doubt, when it is trusted again, and the clocks that expiries and ages go by meanwhile.
import assert from 'node:assert/strict';
import { beforeEach, suite, test } from 'node:test';
import { TurnedClock } from './clock.ts';
import { ClockWatch } from './clock-watch.ts';

const minuteMs = 60_000;
const yearMs = 365 * 24 * 3_600_000;
const steadyMs = 5 * minuteMs;
const startMs = Date.UTC(2026, 0, 15, 12);

let clock: TurnedClock;
let lines: string[];

beforeEach(() => {
  clock = new TurnedClock(startMs);
  lines = [];
});

function watch(newestReceivedMs?: number): ClockWatch {
  const log = { info() {}, audit() {}, debug() {}, error() {}, warn: (_: object, text: string) => lines.push(text) };
  const made = new ClockWatch({ clock, log: log as never, steadyMs });
  made.start(newestReceivedMs);
  made.close();
  return made;
}

const isInDoubt = (watched: ClockWatch) => {
  watched.look();
  return watched.isInDoubt;
};

suite('the wall clock', () => {
  test('is trusted while it runs with the monotonic one, and steady some minutes after the start', () => {
    const watched = watch();
    assert.deepEqual([isInDoubt(watched), watched.isSteady()], [false, false]);
    clock.advance(steadyMs - 1);
    assert.equal(watched.isSteady(), false);
    clock.advance(1);
    assert.deepEqual([isInDoubt(watched), watched.isSteady()], [false, true]);
    clock.advance(yearMs);
    assert.equal(watched.isSteady(), true);
    assert.deepEqual(lines, []);
  });

  test('may be put right by a minute, ahead and back', () => {
    const watched = watch();
    for (const ms of [minuteMs, -minuteMs]) {
      clock.jump(ms);
      assert.equal(isInDoubt(watched), false);
    }
  });

  for (const ms of [minuteMs + 1, -minuteMs - 1, yearMs, -yearMs]) {
    test(`is in doubt after a jump of ${ms} ms, until it has been steady`, () => {
      const watched = watch();
      clock.advance(steadyMs);
      clock.jump(ms);
      assert.deepEqual([watched.isSteady(), watched.isInDoubt, watched.doubt?.differenceMs], [false, true, ms]);
      clock.advance(steadyMs - 1);
      assert.equal(isInDoubt(watched), true);
      clock.advance(1);
      assert.deepEqual([watched.isSteady(), watched.isInDoubt], [true, false]);
      assert.deepEqual(lines, ['the clock is in doubt', 'the clock is trusted again']);
    });
  }

  test('that jumps again and again is in doubt all the while, and said to be once', () => {
    const watched = watch();
    for (let n = 0; n < 100; n++) {
      clock.jump(n % 2 === 0 ? yearMs : -yearMs);
      clock.advance(steadyMs - 1);
      assert.equal(isInDoubt(watched), true);
    }
    assert.equal(lines.length, 1);
    assert.equal(watched.jumps, 100);
  });

  test('is in doubt where it creeps away in small steps, and not where it drifts', () => {
    const watched = watch();
    for (let hour = 0; hour < 100; hour++) {
      clock.advance(60 * minuteMs);
      clock.jump(-minuteMs / 2);
      assert.equal(isInDoubt(watched), false);
    }
    for (let n = 0; n < 3; n++) {
      clock.advance(minuteMs);
      clock.jump(minuteMs / 2);
      watched.look();
    }
    assert.equal(watched.isInDoubt, true);
  });

  test('tells whoever listens of each change', () => {
    const watched = watch();
    const told: boolean[] = [];
    watched.onChange(() => told.push(watched.isInDoubt));
    clock.jump(yearMs);
    watched.look();
    clock.jump(-yearMs);
    watched.look();
    clock.advance(steadyMs);
    watched.look();
    watched.look();
    assert.deepEqual(told, [true, true, false]);
  });
});

suite('at a start', () => {
  const dayMs = 24 * 60 * minuteMs;

  for (const [what, newestMs, expected] of [
    ['a moment', startMs - 1, undefined],
    ['a month', startMs - 30 * dayMs, undefined],
    ['a minute, backwards', startMs + minuteMs, undefined],
    ['more than a minute, backwards', startMs + minuteMs + 1, 'behind the stored data'],
    ['years, backwards', startMs + 56 * yearMs, 'behind the stored data'],
    ['more than a month', startMs - 30 * dayMs - 1, 'far ahead of the stored data'],
  ] as const) {
    test(`${what} after the newest datapoint, the clock is ${expected ?? 'not in doubt'}`, () => {
      const watched = watch(newestMs);
      assert.equal(watched.doubt?.reason, expected);
      assert.equal(lines.length, expected === undefined ? 0 : 1);
      clock.advance(steadyMs);
      assert.equal(watched.isSteady(), true, 'it ends by itself');
    });
  }

  test('of a machine without a clock, it stays in doubt until some minutes after the network has set it', () => {
    const watched = watch(startMs + yearMs);
    clock.advance(minuteMs);
    clock.jump(yearMs);
    assert.equal(watched.isSteady(), false);
    clock.advance(steadyMs - 1);
    assert.equal(watched.isSteady(), false);
    clock.advance(1);
    assert.equal(watched.isSteady(), true);
  });
});

suite('expiries', () => {
  test('are not stretched by a jump back, nor once that clock is trusted', () => {
    const watched = watch();
    clock.advance(minuteMs);
    watched.look();
    clock.jump(-yearMs);
    assert.equal(watched.forExpiry.now(), startMs + minuteMs);
    clock.advance(2 * steadyMs);
    assert.equal(isInDoubt(watched), false);
    assert.equal(watched.forExpiry.now(), startMs + minuteMs + 2 * steadyMs);
  });

  test('come early while the clock is ahead, and are right when it is', () => {
    const watched = watch();
    clock.jump(yearMs);
    assert.equal(watched.forExpiry.now(), startMs + yearMs);
    clock.advance(minuteMs);
    clock.jump(-yearMs);
    assert.equal(watched.forExpiry.now(), startMs + minuteMs);
  });

  test('and ages are whole milliseconds, whatever fractions the monotonic clock has', () => {
    let elapsedMs = 0.25;
    const fractional = { now: () => clock.now(), elapsedMs: () => elapsedMs };
    const log = { info() {}, audit() {}, debug() {}, error() {}, warn() {} };
    const watched = new ClockWatch({ clock: fractional, log: log as never, steadyMs });
    for (const jumpMs of [0, -yearMs]) {
      clock.jump(jumpMs);
      elapsedMs += 0.5;
      for (const { now } of [watched.forExpiry, watched.forAge]) assert.ok(Number.isInteger(now()), String(now()));
    }
  });

  test('go by the clock again that a person confirms', () => {
    const watched = watch();
    clock.jump(-yearMs);
    watched.confirm('awa');
    assert.equal(watched.forExpiry.now(), startMs - yearMs);
    assert.deepEqual([watched.isSteady(), watched.isInDoubt], [true, false]);
  });

  test('of a start with a clock that is behind go by the newest datapoint', () => {
    const watched = watch(startMs + yearMs);
    clock.advance(minuteMs);
    assert.equal(watched.forExpiry.now(), startMs + yearMs + minuteMs);
  });
});

suite('ages', () => {
  test('go by the earlier of two clocks while there is a doubt', () => {
    const watched = watch();
    clock.jump(yearMs);
    clock.advance(minuteMs);
    assert.equal(watched.forAge.now(), startMs + minuteMs);
    clock.jump(-2 * yearMs);
    assert.equal(watched.forAge.now(), startMs + minuteMs - yearMs);
    clock.advance(steadyMs);
    assert.equal(watched.forAge.now(), clock.now());
  });

  test('of a start with a clock that is far ahead go by the newest datapoint', () => {
    const watched = watch(startMs - yearMs);
    assert.equal(watched.forAge.now(), startMs - yearMs);
    clock.advance(steadyMs);
    assert.equal(watched.forAge.now(), clock.now());
  });
});
