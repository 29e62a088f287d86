// Much work of one kind leaves turns of the event loop to others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventLoopSlices } from './event-loop-slices.ts';

const msMax = 2;
const busy = (ms: number) => {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
};

test('pieces that take their part of a turn are done one a turn, in their order, and other work comes between', async () => {
  const slices = new EventLoopSlices({ msMax });
  const done: string[] = [];
  const all = Array.from({ length: 5 }, (_, n) =>
    slices.run(() => {
      busy(msMax);
      done.push(`${n}`);
    }),
  );
  for (let n = 0; n < 20 && done.length < 8; n++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (/\d/.test(done.at(-1) as string)) done.push('other');
  }
  await Promise.all(all);
  // The first is done in the turn in which all were asked for.
  assert.deepEqual(done.slice(0, 8), ['0', '1', 'other', '2', 'other', '3', 'other', '4']);
});

test('small pieces are done at once, and a piece that fails says so', async () => {
  const slices = new EventLoopSlices({ msMax: 1_000 });
  const done: number[] = [];
  void slices.run(() => done.push(1));
  void slices.run(() => done.push(2));
  assert.deepEqual(done, [1, 2]);
  await assert.rejects(
    slices.run(() => {
      throw new Error('of the work');
    }),
    /of the work/,
  );
});
