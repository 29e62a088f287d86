// How much time commits leave to sealing that is behind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SealingPause } from './sealing-pause.ts';

function open({ msMax }: { readonly msMax: number }) {
  let nowMs = 60_000;
  let activeMs = 1_000;
  const slept: number[] = [];
  /** What the thread does during the next pause, milliseconds. */
  let doingMs = 0;
  const time = {
    now: () => nowMs,
    activeMs: () => activeMs,
    sleep: async (ms: number) => {
      slept.push(ms);
      nowMs += ms;
      activeMs += doingMs;
    },
  };
  const pause = new SealingPause(msMax, time);
  const work = (ms: number) => {
    nowMs += ms;
    activeMs += ms;
  };
  const rest = (ms: number) => {
    nowMs += ms;
  };
  return {
    pause,
    slept,
    work,
    rest,
    doing: (ms: number) => {
      doingMs = ms;
    },
    commit: async (debt: number, { storingMs, workMs }: { readonly storingMs: number; readonly workMs: number }) => {
      await pause.wait(debt);
      await pause.storing(async () => rest(storingMs));
      work(workMs);
    },
  };
}

test('nothing waits while sealing keeps up', async () => {
  const { commit, slept } = open({ msMax: 100 });
  for (let n = 0; n < 5; n++) await commit(0, { storingMs: 10, workMs: 20 });
  assert.deepEqual(slept, []);
});

test('the further sealing is behind, the greater its share of the time', async () => {
  const { commit, slept } = open({ msMax: 100 });
  for (const debt of [0.25, 0.25, 0.5, 0.75]) await commit(debt, { storingMs: 4, workMs: 8 });
  assert.deepEqual(slept, [4, 12, 36]);
});

test('what comes of a commit counts as work, whenever the next one is asked for, and a rest as what sealing had', async () => {
  const { commit, slept, work, rest } = open({ msMax: 100 });
  await commit(0.5, { storingMs: 4, workMs: 0 });
  work(16);
  await commit(0.5, { storingMs: 4, workMs: 16 });
  rest(15);
  await commit(0.5, { storingMs: 4, workMs: 16 });
  rest(20);
  await commit(0.5, { storingMs: 4, workMs: 16 });
  rest(60_000);
  await commit(0.9, { storingMs: 4, workMs: 16 });
  assert.deepEqual(slept, [20, 5]);
});

test('work while a commit is stored does not count twice, and a commit that fails counts, too', async () => {
  const { pause, slept, work, rest } = open({ msMax: 100 });
  await pause.wait(0.5);
  await pause.storing(async () => work(10));
  rest(4);
  await pause.wait(0.5);
  const failing = pause.storing(async () => {
    rest(10);
    throw new Error('The disk refuses.');
  });
  await assert.rejects(failing, /disk refuses/);
  await pause.wait(0.5);
  assert.deepEqual(slept, [6, 10]);
});

test('work during a pause is made up for in the next one', async () => {
  const { commit, slept, doing } = open({ msMax: 100 });
  await commit(0.5, { storingMs: 4, workMs: 8 });
  doing(7);
  await commit(0.5, { storingMs: 4, workMs: 8 });
  doing(0);
  for (let n = 0; n < 2; n++) await commit(0.5, { storingMs: 4, workMs: 8 });
  assert.deepEqual(slept, [12, 19, 12]);
});

test('a pause is bounded, however far sealing is behind, and none is shorter than timers are', async () => {
  const { commit, slept } = open({ msMax: 100 });
  const usual = { storingMs: 4, workMs: 16 };
  await commit(0.95, usual);
  await commit(1, usual);
  await commit(0.99, { storingMs: 60_000, workMs: 0 });
  await commit(0.5, usual);
  await commit(0.04, usual);
  assert.deepEqual(slept, [100, 100, 100]);
});
