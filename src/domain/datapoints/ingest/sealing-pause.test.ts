// How much time commits leave to sealing that is behind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SealingPause } from './sealing-pause.ts';

function open({ msMax }: { readonly msMax: number }) {
  let nowMs = 1_000;
  const slept: number[] = [];
  const time = {
    now: () => nowMs,
    sleep: async (ms: number) => {
      slept.push(ms);
      nowMs += ms;
    },
  };
  const pause = new SealingPause(msMax, time);
  pause.begin();
  return {
    slept,
    /** A commit, and what is left behind it. */
    commit: async (busyMs: number, debt: number) => {
      nowMs += busyMs;
      await pause.wait(debt);
    },
    rest: (ms: number) => {
      nowMs += ms;
      pause.begin();
    },
  };
}

test('nothing waits while sealing keeps up', async () => {
  const { commit, slept } = open({ msMax: 100 });
  for (let n = 0; n < 5; n++) await commit(20, 0);
  assert.deepEqual(slept, []);
});

test('the further sealing is behind, the greater its share of the time', async () => {
  const { commit, slept } = open({ msMax: 100 });
  for (const debt of [0.25, 0.5, 0.75]) await commit(12, debt);
  assert.deepEqual(slept, [4, 12, 36]);
});

test('a pause is bounded, however far sealing is behind, and a rest does not make it longer', async () => {
  const { commit, slept, rest } = open({ msMax: 100 });
  await commit(20, 0.95);
  await commit(20, 1);
  await commit(60_000, 0.5);
  rest(60_000);
  await commit(10, 0.5);
  assert.deepEqual(slept, [100, 100, 100, 10]);
});
