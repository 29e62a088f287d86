// The order of pushes when the queue is full, and what becomes of them where a reader of the feed fails; what a full queue means
// to callers is in test/process-overload.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../config/limits.ts';
import { countRows, type DatapointBatch, rowNumbers } from './datapoint-batch.ts';
import type { DatapointStore } from './datapoint-store.ts';
import { Feed } from './feed.ts';
import type { Push } from './push.ts';
import { Writer } from './writer.ts';

const bounds = {
  ...{ queueDatapointsMax: 10, queueBytesMax: 100_000, commitDatapointsMax: 10, roomWaitersMax: 10 },
  ...{ busyRetryAfterS: 1, gatherMsMax: 1, commitPacing: limits.commitPacing },
};
const room = { refusalOf: () => undefined };
const unexpected = (error: unknown) => assert.fail(String(error));

test('a small push does not overtake a large one that waits for room', async () => {
  const stored: number[] = [];
  let commit = () => {};
  const store = {
    append: (batch: DatapointBatch) =>
      new Promise<number>((resolve) => {
        commit = () => {
          for (let at = 3; at < batch.rows.length; at += rowNumbers) stored.push(batch.rows[at] as number);
          resolve(0);
        };
      }),
  } as unknown as DatapointStore;
  const writer = new Writer({ store, feed: new Feed(unexpected), room, bounds });
  // As a door with back-pressure does it.
  const push = async (first: number, count: number): Promise<void> => {
    for (;;) {
      const pushes = [makePush(Array.from({ length: count }, (_, n) => first + n))];
      try {
        return await writer.append({ pushes });
      } catch {
        await writer.room();
      }
    }
  };
  const done = Promise.all([push(0, 8), push(8, 5), push(13, 1), push(14, 2)]);
  for (let commits = 0; commits < 2; commits++) {
    const before = stored.length;
    while (stored.length === before) {
      await new Promise((resolve) => setImmediate(resolve));
      commit();
    }
  }
  await done;
  assert.deepEqual(
    stored,
    Array.from({ length: 16 }, (_, n) => n),
  );
});

test('what is committed is acknowledged and told to the others, whatever a reader of the feed does', async () => {
  const store = { append: async () => 1 } as unknown as DatapointStore;
  const errors: unknown[] = [];
  const told: unknown[] = [];
  const feed = new Feed((error) => errors.push(error));
  feed.subscribe(() => {
    throw new Error('a reader that fails');
  });
  feed.subscribe((committed) => told.push(committed));
  const writer = new Writer({ store, feed, room, bounds });
  const push = makePush([1, 2]);
  await writer.append({ pushes: [push] });
  assert.deepEqual([told, errors.map(String)], [[push], ['Error: a reader that fails']]);
  assert.equal(writer.storedDatapoints, 2);
});

test('pushes of a stream that is spared commits share one', async () => {
  const commits: number[] = [];
  const store = {
    append: async (batch: DatapointBatch) => {
      commits.push(countRows(batch));
      return 1;
    },
  } as unknown as DatapointStore;
  // Spared from the second commit on.
  const commitPacing = {
    ...limits.commitPacing,
    everyMs: 2_000,
    datapointsMin: 0,
    sparedMs: 60_000,
  };
  const writer = new Writer({ store, feed: new Feed(unexpected), room, bounds: { ...bounds, commitPacing } });
  const push = (count: number) => writer.append({ pushes: [makePush(Array(count).fill(1))] });
  await push(1);
  const waiting = [push(1)];
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
  waiting.push(push(2));
  await Promise.all(waiting);
  assert.deepEqual(commits, [1, 3]);
});

function makePush(values: readonly number[]): Push {
  const readings = values.map((value) => ({ value, timestampMs: Number.NaN }));
  return { device: {}, sensor: { key: 1 }, readings, receivedMs: 0 } as unknown as Push;
}
