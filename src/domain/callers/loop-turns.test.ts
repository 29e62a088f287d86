// Work begins for a bounded time in each turn of the event loop; waiting callers are served in turns.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../config/limits.ts';
import { Caller } from './caller.ts';
import { LoopTurns } from './loop-turns.ts';
import { RecentWork } from './recent-work.ts';

const msMax = 5;

function workFor(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

suite('turns of work on the main thread', () => {
  test('the first piece of a turn begins at once, and so does the next while there is time', () => {
    const turns = new LoopTurns({ turnMsMax: 60_000, turnMsMin: 60_000 });
    const done: number[] = [];
    for (const n of [1, 2, 3]) turns.run(new Caller('a'), () => done.push(n));
    assert.deepEqual(done, [1, 2, 3]);
  });

  test('what is beyond the time of a turn begins in later turns, callers by turns, each in its own order', async () => {
    const turns = new LoopTurns({ turnMsMax: msMax, turnMsMin: msMax });
    const [much, little] = [new Caller('much'), new Caller('little')];
    const done: string[] = [];
    const bring = (caller: Caller, name: string) =>
      turns.run(caller, () => {
        done.push(name);
        workFor(msMax);
      });
    for (const n of [0, 1, 2, 3]) bring(much, `much ${n}`);
    bring(little, 'little 0');
    bring(little, 'little 1');
    assert.deepEqual(done, ['much 0']);
    let turnsPassed = 0;
    while (done.length < 6) {
      const before = done.length;
      await nextTurn();
      turnsPassed += 1;
      assert.ok(done.length - before <= 1, 'one piece takes all the time of a turn');
    }
    assert.ok(turnsPassed >= 5);
    assert.deepEqual(done, ['much 0', 'much 1', 'little 0', 'much 2', 'little 1', 'much 3']);
  });

  test('a request of a caller waits for none of its sign-ins, of which a whole fleet may wait', async () => {
    const turns = new LoopTurns({ turnMsMax: msMax, turnMsMin: msMax });
    const fleet = new Caller('fleet');
    const done: string[] = [];
    const piece = (name: string) => () => {
      done.push(name);
      workFor(msMax);
    };
    for (let n = 0; n < 20; n += 1) turns.run(fleet.signIns, piece('sign-in'));
    turns.run(fleet, piece('request'));
    while (done.length < 21) await nextTurn();
    assert.equal(done.indexOf('request'), 2, 'behind the one that was done at once, and the one that was next');
  });

  test('long work goes on from turn to turn, and other work comes between', async () => {
    const turns = new LoopTurns({ turnMsMax: msMax, turnMsMin: msMax });
    const done: string[] = [];
    const steps = function* (name: string) {
      for (let n = 0; n < 3; n += 1) {
        workFor(msMax);
        done.push(name);
        yield;
      }
    };
    const all = ['a', 'b'].map((name) => turns.goThrough(new Caller(name), steps(name)));
    let isOver = false;
    void Promise.all(all).then(() => {
      isOver = true;
    });
    // The first step is done in this turn, as soon as nothing else is.
    await nextTurn();
    let turnsPassed = 0;
    while (!isOver) {
      const before = done.length;
      await nextTurn();
      turnsPassed += 1;
      assert.ok(done.length - before <= 1, 'one step takes all the time of a turn');
    }
    assert.ok(turnsPassed >= 4);
    assert.deepEqual(done, ['a', 'b', 'a', 'b', 'a', 'b']);
  });

  test('what fails while long work goes on is told to who waits for it', async () => {
    const turns = new LoopTurns({ turnMsMax: msMax, turnMsMin: msMax });
    const failing = function* () {
      yield;
      throw new Error('of the work');
    };
    await assert.rejects(turns.goThrough(new Caller('a'), failing()), /of the work/);
  });

  test('what a piece does in promises counts as its time', async () => {
    const turns = new LoopTurns({ turnMsMax: msMax, turnMsMin: msMax });
    const caller = new Caller('much');
    let begun = 0;
    const bring = () =>
      turns.run(caller, () => {
        begun += 1;
        void Promise.resolve().then(() => workFor(msMax));
      });
    bring();
    await undefined;
    await undefined;
    bring();
    bring();
    assert.equal(begun, 1);
    await nextTurn();
    await nextTurn();
    await nextTurn();
    assert.equal(begun, 3);
  });

  test('callers that used little lately go first, and those that used much are not forgotten', async () => {
    const turns = new LoopTurns({ turnMsMax: msMax, turnMsMin: msMax });
    const much = new Caller('much');
    turns.run(much, () => workFor(2 * limits.recentWorkMsMax));
    const done: string[] = [];
    for (let n = 0; n < 3; n += 1) turns.run(much, () => done.push('much'));
    const others = Array.from({ length: 2 * limits.lightPiecesMax }, (_, n) => new Caller(`little ${n}`));
    for (const other of others) turns.run(other, () => done.push('little'));
    while (done.length < 3 + others.length) await nextTurn();
    assert.deepEqual(done.slice(0, limits.lightPiecesMax), Array(limits.lightPiecesMax).fill('little'));
    assert.equal(done[limits.lightPiecesMax], 'much');
    assert.equal(done[2 * limits.lightPiecesMax + 1], 'much');
  });

  test('what is used long ago no longer counts', async () => {
    const work = new RecentWork();
    work.add(2 * limits.recentWorkMsMax, 0);
    assert.equal(work.isMuch(0), true);
    assert.equal(work.isMuch(limits.recentWorkHalfLifeMs * 0.9), true);
    assert.equal(work.isMuch(limits.recentWorkHalfLifeMs * 1.1), false);
  });

  test('other work of a turn leaves less of it, but never nothing', async () => {
    const turns = new LoopTurns({ turnMsMax: 40, turnMsMin: 1 });
    const caller = new Caller('a');
    // The next turn is asked for, and other work fills this one.
    turns.run(caller, () => {});
    for (let n = 0; n < 3; n += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
    workFor(60);
    await nextTurn();
    assert.equal(turns.isOpen, true);
    turns.run(caller, () => workFor(2));
    assert.equal(turns.isOpen, false);
    await nextTurn();
    assert.equal(turns.isOpen, true);
    turns.run(caller, () => workFor(2));
    assert.equal(turns.isOpen, true);
  });
});
