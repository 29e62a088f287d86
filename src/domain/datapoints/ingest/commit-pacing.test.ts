// When commits are paced, simulated with a clock of the test: a stream takes fewer commits, and senders that wait for each
// answer are not slowed down.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../../config/limits.ts';
import { CommitPacing } from './commit-pacing.ts';

const bounds = limits.commitPacing;
const commitTakesMs = 1;

interface Rates {
  readonly commitsPerS: number;
  readonly datapointsPerS: number;
}

/**
 * Runs the writer's loop for so many seconds, with or without pacing. `arrivals` says how many datapoints have come up to a
 * time, when so many of them have been answered.
 */
async function run(
  seconds: number,
  arrivals: (nowMs: number, answered: number) => number,
  isPaced = true,
): Promise<Rates> {
  let nowMs = 1_000;
  const time = {
    now: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms;
    },
  };
  const pacing = new CommitPacing(bounds, time);
  const endMs = nowMs + seconds * 1000;
  let committed = 0;
  let commits = 0;
  while (nowMs < endMs) {
    const waiting = () => Math.floor(arrivals(nowMs, committed)) - committed;
    if (waiting() === 0) {
      nowMs += 0.1;
      continue;
    }
    if (isPaced) await pacing.wait(waiting());
    const group = waiting();
    pacing.commitBegins(group);
    nowMs += commitTakesMs;
    committed += group;
    commits += 1;
  }
  return { commitsPerS: commits / seconds, datapointsPerS: committed / seconds };
}

/** `perS` datapoints a second, however many were answered. */
const stream = (perS: number) => (nowMs: number) => ((nowMs - 1_000) * perS) / 1000;

/** `clients` clients, each of which sends its next datapoint as soon as the one before is answered. */
const inTurn = (clients: number) => (_nowMs: number, answered: number) => answered + clients;

suite('commits of a stream', () => {
  for (const perS of [5_000, 10_000, 50_000]) {
    test(`of ${perS} datapoints a second are paced, and no datapoint is left behind`, async () => {
      const free = await run(20, stream(perS), false);
      const paced = await run(20, stream(perS));
      assert.ok(free.commitsPerS > 500, `${free.commitsPerS} commits a second without pacing`);
      const most = (1000 / bounds.intervalMs) * 1.25;
      assert.ok(paced.commitsPerS <= most, `${paced.commitsPerS} commits a second, ${most} at most`);
      assert.ok(paced.datapointsPerS >= perS * 0.999, `${paced.datapointsPerS} datapoints a second`);
    });
  }

  test('that comes in waves are paced within them', async () => {
    const wave = (nowMs: number) => {
      const elapsed = nowMs - 1_000;
      return Math.floor(elapsed / 4_000) * 20_000 + Math.min(elapsed % 4_000, 2_000) * 10;
    };
    const free = await run(60, wave, false);
    const paced = await run(60, wave);
    assert.ok(paced.commitsPerS <= free.commitsPerS / 3, `${paced.commitsPerS}, ${free.commitsPerS} without pacing`);
  });

  test('that is thin is left alone', async () => {
    const perS = (bounds.datapointsMin / bounds.intervalMs) * 1000 * 0.8;
    const free = await run(20, stream(perS), false);
    assert.deepEqual(await run(20, stream(perS)), free);
  });

  test('that has grown thin is left alone again', async () => {
    let isThin = false;
    const ends = 20_000;
    const commitsAfter = async (isPaced: boolean) => {
      let commits = 0;
      const before = stream(10_000);
      await run(
        40,
        (nowMs) => {
          isThin = nowMs - 1_000 > ends;
          if (isThin) commits += 1;
          return isThin ? before(1_000 + ends) + (nowMs - 1_000 - ends) : before(nowMs);
        },
        isPaced,
      );
      return commits;
    };
    const [free, paced] = [await commitsAfter(false), await commitsAfter(true)];
    assert.ok(paced >= free * 0.95, `${paced} looks for datapoints, ${free} without pacing`);
  });
});

suite('who sends the next datapoint when the last is answered', () => {
  for (const clients of [1, 4, 16, 64, 500]) {
    test(`is not slowed down, where there are ${clients}`, async () => {
      const free = await run(60, inTurn(clients), false);
      const paced = await run(60, inTurn(clients));
      assert.ok(
        paced.datapointsPerS >= free.datapointsPerS * 0.95,
        `${paced.datapointsPerS} datapoints a second, ${free.datapointsPerS} without pacing`,
      );
    });
  }
});

test('what is enough for a commit waits for no more', async () => {
  const perS = (bounds.datapointsAtOnce / commitTakesMs) * 1000 * 2;
  const free = await run(5, stream(perS), false);
  assert.deepEqual(await run(5, stream(perS)), free);
});
