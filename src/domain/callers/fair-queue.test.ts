// The order in which callers are served.
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
