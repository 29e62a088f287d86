// The order in which callers are served.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Caller } from './caller.ts';
import { FairQueue } from './fair-queue.ts';
import { FairShare } from './fair-share.ts';

test('callers take turns, each in its own order, and one that brings too much is turned away', async () => {
  const share = new FairShare('hashes', { aloneMax: 3, reserve: 3 });
  const queue = new FairQueue({ share, atOnceMax: 1 });
  const heavy = new Caller('heavy');
  const light = new Caller('light');
  const turns: string[] = [];
  const work = async (caller: Caller, name: string) => {
    if (await queue.acquire(caller)) turns.push(name);
    else turns.push(`${name} refused`);
  };
  const all = ['h1', 'h2', 'h3', 'h4', 'h5'].map((name) => work(heavy, name));
  all.push(work(light, 'l1'), work(light, 'l2'));
  for (let n = 0; n < 7; n++) {
    await new Promise((resolve) => setImmediate(resolve));
    queue.release();
  }
  await Promise.all(all);
  assert.deepEqual(turns, ['h1', 'h5 refused', 'h2', 'l1', 'h3', 'l2', 'h4']);
  assert.equal(share.held, 0);
});

test('where there is a longest wait, work is turned away after it, and its place is free', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const share = new FairShare('hashes', { aloneMax: 2, reserve: 2 });
  const queue = new FairQueue({ share, atOnceMax: 1, waitMsMax: 1_000 });
  const caller = new Caller('waits');
  assert.equal(await queue.acquire(caller), true);
  const first = queue.acquire(caller);
  mock.timers.tick(600);
  const second = queue.acquire(caller);
  mock.timers.tick(400);
  assert.equal(await first, false);
  assert.equal(share.held, 1);
  queue.release();
  assert.equal(await second, true);
  assert.equal(share.held, 0);
  mock.timers.tick(10_000);
  queue.release();
  assert.equal(await queue.acquire(caller), true);
  mock.timers.reset();
});

test('work that nobody waits for any more leaves its place where there is none left', async () => {
  const share = new FairShare('hashes', { aloneMax: 2, reserve: 2 });
  const queue = new FairQueue({ share, atOnceMax: 1 });
  const caller = new Caller('hangs up');
  let isGone = false;
  await queue.acquire(caller);
  const gone = [1, 2].map(() => queue.acquire(caller, { isGone: () => isGone }));
  isGone = true;
  const next = queue.acquire(caller);
  assert.deepEqual(await Promise.all(gone), [false, false]);
  queue.release();
  assert.equal(await next, true);
  assert.equal(share.held, 0);
});
