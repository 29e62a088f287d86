// What the log writes and what it counts, kind by kind, by a clock that the test turns.
import assert from 'node:assert/strict';
import { mock, suite, test } from 'node:test';
import { limits } from '../config/limits.ts';
import { RateLimitedLog } from './rate-limited-log.ts';
import { TurnedClock } from './time/clock.ts';

interface Line {
  readonly level: string;
  readonly message: string;
  readonly suppressed?: number;
  readonly withinS?: number;
}

function make({ enabled = ['debug', 'info', 'warn', 'error'] } = {}) {
  const lines: Line[] = [];
  const write = (level: string) => (fields: object, message: string) => void lines.push({ level, message, ...fields });
  const clock = new TurnedClock(1_000_000);
  const sink = {
    ...{
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      fatal: write('fatal'),
    },
    isLevelEnabled: (level: string) => enabled.includes(level),
  };
  return { lines, clock, log: new RateLimitedLog({ sink, clock }) };
}

function repeat(times: number, act: () => void): void {
  for (let n = 0; n < times; n += 1) act();
}

const max = limits.logLinesMax;

suite('each kind of line', () => {
  test('has a rate of its own, by level and message, whatever its fields say', () => {
    const { lines, log } = make();
    let n = 0;
    repeat(max + 5, () => log.warn({ client: n++ }, 'cut'));
    assert.equal(lines.length, max);
    log.error({}, 'cut');
    log.warn({}, 'another');
    assert.deepEqual(lines.slice(max), [
      { level: 'error', message: 'cut' },
      { level: 'warn', message: 'another' },
    ]);
    assert.deepEqual(log.suppressedLines, { debug: 0, info: 0, warn: 5, error: 0 });
    log.close();
  });

  test('is told once when its window has ended, and then has its rate anew', () => {
    const { lines, log, clock } = make();
    repeat(max + 3, () => log.error({}, 'refused'));
    clock.advance(limits.logWindowMs);
    repeat(max + 2, () => log.error({}, 'refused'));
    const sum = { level: 'error', message: 'refused', suppressed: 3, withinS: limits.logWindowMs / 1000 };
    assert.deepEqual(lines[max], sum);
    assert.equal(lines.length, 2 * max + 1);
    log.close();
    assert.deepEqual(lines.at(-1), { ...sum, suppressed: 2, withinS: 0 });
    assert.equal(lines.length, 2 * max + 2);
  });

  test('is told without a further line, by a timer that runs no longer than it is needed', () => {
    mock.timers.enable({ apis: ['setInterval'] });
    const { lines, log, clock } = make();
    repeat(max + 1, () => log.info({}, 'once'));
    mock.timers.tick(limits.logLookMs);
    assert.equal(lines.length, max, 'not before the window has ended');
    clock.advance(limits.logWindowMs);
    mock.timers.tick(limits.logLookMs);
    assert.equal(lines.at(-1)?.suppressed, 1);
    clock.advance(10 * limits.logWindowMs);
    mock.timers.tick(10 * limits.logWindowMs);
    assert.equal(lines.length, max + 1);
    mock.timers.reset();
  });

  test('is written again when the clock was set back', () => {
    const { lines, log, clock } = make();
    repeat(max + 1, () => log.info({}, 'steady'));
    clock.advance(-86_400_000);
    log.info({}, 'steady');
    assert.deepEqual(
      lines.slice(max).map(({ suppressed }) => suppressed),
      [1, undefined],
    );
  });
});

test('fatal lines and audits are never suppressed, and nothing is after the close', () => {
  const { lines, log } = make();
  repeat(3 * max, () => log.fatal({}, 'the end'));
  repeat(3 * max, () => log.audit({}, 'audit'));
  assert.equal(lines.length, 6 * max);
  assert.deepEqual(lines.at(-1), { level: 'info', message: 'audit' });
  log.close();
  repeat(3 * max, () => log.warn({}, 'closing'));
  assert.equal(lines.length, 9 * max);
});

test('a level that is switched off is neither written nor counted', () => {
  const { lines, log, clock } = make({ enabled: ['warn'] });
  repeat(10 * limits.logDebugLinesMax, () => log.debug({}, 'detail'));
  clock.advance(limits.logWindowMs);
  log.debug({}, 'detail');
  log.close();
  assert.deepEqual(lines, []);
  assert.equal(log.suppressedLines.debug, 0);
});

test('kinds beyond the bound share one, until others have been silent for a window', () => {
  const { lines, log, clock } = make();
  for (let n = 0; n < limits.logKindsMax + max + 4; n += 1) log.warn({}, `made of ${n}`);
  assert.equal(lines.length, limits.logKindsMax + max);
  clock.advance(limits.logWindowMs);
  repeat(max + 1, () => log.warn({}, 'a new kind'));
  assert.equal(lines.length, limits.logKindsMax + 2 * max);
  log.close();
  const counts = lines.filter(({ suppressed }) => suppressed !== undefined);
  assert.deepEqual(
    counts.map(({ message, suppressed }) => [message, suppressed]),
    [
      ['lines of other kinds were suppressed', 4],
      ['a new kind', 1],
    ],
  );
});
