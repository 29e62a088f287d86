// The order of pushes when the queue is full, and what happens to pushes when a reader of the feed fails. What callers
// see of a full queue: test/process/overload.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../test/support/until.ts';
import { limits } from '../../../config/limits.ts';
import { Caller } from '../../callers/caller.ts';
import { countRows, type DatapointBatch, rowNumbers } from '../datapoint-batch.ts';
import { Feed } from '../feed.ts';
import type { Push } from './push.ts';
import { Writer } from './writer.ts';

const bounds = {
  ...{ queueDatapointsMax: 10, queueDatapointsReserve: 4, queueBytesMax: 100_000, queueBytesReserve: 10_000 },
  ...{
    commitDatapointsMax: 10,
    commitBytesMax: 1_000_000,
    catchUpDatapointsMax: 3,
    sealingPauseMsMax: 1,
    capacityWaiterBytesMax: 10,
    capacityWaiterBytesReserve: 2,
    ...{ queuedPushBytes: 0, capacityWaiterBytes: 1, capacityWokenMax: 2, capacityWakeMsMax: 5 },
  },
  ...{ queueDelayMsMax: 1_000, queueDelayDatapointsMin: 1_000 },
  ...{ busyRetryAfterS: 1, gatherMsMax: 1, commitPacing: limits.commitPacing },
};
const storageQuota = { refusalOf: () => undefined, accepted: () => {} };
const unexpected = (error: unknown) => assert.fail(String(error));

test('a small push does not overtake a large one that waits for room', async () => {
  const disk = new Disk();
  const caller = new Caller('a');
  const { stored } = disk;
  const writer = new Writer({ commitLog: disk.commitLog, feed: new Feed(unexpected), storageQuota, bounds });
  // As a door with back-pressure does it.
  const push = async (first: number, count: number): Promise<void> => {
    for (let wasResumed = false; ; wasResumed = true) {
      const pushes = [makePush(Array.from({ length: count }, (_, n) => first + n))];
      try {
        return await writer.append({ caller, pushes });
      } catch {
        await writer.waitForCapacity(caller, { wasResumed });
      }
    }
  };
  // More than try again in one turn of the event loop.
  const done = Promise.all([push(0, 8), push(8, 5), push(13, 1), push(14, 2), push(16, 8), push(24, 1), push(25, 1)]);
  let isDone = false;
  void done.then(() => {
    isDone = true;
  });
  for (let commits = 0; commits < 10 && !isDone; commits++) {
    await disk.commit();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
  assert.deepEqual(
    stored,
    Array.from({ length: 26 }, (_, n) => n),
  );
});

test('what is committed is acknowledged and told to the others, whatever a reader of the feed does', async () => {
  const commitLog = { isCatchingUp: false, sealingDebt: 0, onCaughtUp: () => {}, append: async () => 1 };
  const errors: unknown[] = [];
  const told: unknown[] = [];
  const feed = new Feed((error) => errors.push(error));
  feed.subscribe(() => {
    throw new Error('a reader that fails');
  });
  feed.subscribe((committed) => told.push(committed));
  const writer = new Writer({ commitLog, feed, storageQuota, bounds });
  const push = makePush([1, 2]);
  await writer.append({ pushes: [push] });
  assert.deepEqual([told, errors.map(String)], [[push], ['Error: a reader that fails']]);
  assert.equal(writer.storedDatapoints, 2);
});

/** A log that keeps the number of datapoints of each commit. */
function counting({ sealingDebt = 0 } = {}) {
  const commits: number[] = [];
  const append = async (batch: DatapointBatch) => {
    commits.push(countRows(batch));
    return 1;
  };
  return { commits, commitLog: { isCatchingUp: false, sealingDebt, onCaughtUp: () => {}, append } };
}

test('pushes of a paced stream share a commit', async () => {
  const { commits, commitLog } = counting();
  // Paced from the second commit on.
  const commitPacing = {
    ...limits.commitPacing,
    intervalMs: 2_000,
    datapointsMin: 0,
    pacedMs: 60_000,
  };
  const writer = new Writer({
    commitLog,
    feed: new Feed(unexpected),
    storageQuota,
    bounds: { ...bounds, commitPacing },
  });
  const push = (count: number) => writer.append({ pushes: [makePush(Array(count).fill(1))] });
  await push(1);
  const waiting = [push(1)];
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
  waiting.push(push(2));
  await Promise.all(waiting);
  assert.deepEqual(commits, [1, 3]);
});

test('while the log is full, what comes during a pause between commits shares the next one', async () => {
  const { commits, commitLog } = counting({ sealingDebt: 1 });
  const pausing = { ...bounds, sealingPauseMsMax: 500 };
  const writer = new Writer({ commitLog, feed: new Feed(unexpected), storageQuota, bounds: pausing });
  const push = (count: number) => writer.append({ pushes: [makePush(Array(count).fill(1))] });
  // The queue is empty between the two.
  await push(5);
  const waiting = [push(1)];
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
  waiting.push(push(2));
  await Promise.all(waiting);
  assert.deepEqual(commits, [5, 3]);
});

test('a caller that fills the queue is refused, another one is not, and goes into the next commit', async () => {
  const disk = new Disk();
  const caller = new Caller('a');
  const writer = new Writer({ commitLog: disk.commitLog, feed: new Feed(unexpected), storageQuota, bounds });
  const other = new Caller('b');
  const refused: number[] = [];
  const push = (by: Caller, first: number, count: number) => {
    const pushes = [makePush(Array.from({ length: count }, (_, n) => first + n))];
    return writer.append({ caller: by, pushes }).catch(() => void refused.push(first));
  };
  const flood = [push(caller, 0, 6), push(caller, 6, 4)];
  await until(() => disk.isBusy);
  flood.push(push(caller, 100, 3), push(caller, 103, 1));
  const done = push(other, 200, 1);
  await disk.commit();
  await disk.commit();
  await done;
  assert.ok(disk.stored.includes(200), String(disk.stored));
  await writer.idle();
  await Promise.all(flood);
  // The small one of the flooding caller does not overtake its large one.
  assert.deepEqual(refused, [100, 103]);
  const again = push(caller, 300, 1);
  await disk.commit();
  await again;
  assert.deepEqual(refused, [100, 103]);
});

test('work of the service itself is done after all that came before, though little ones go first', async () => {
  const disk = new Disk();
  const caller = new Caller('a');
  const wide = { ...bounds, queueDatapointsMax: 100, queueDatapointsReserve: 50 };
  const writer = new Writer({ commitLog: disk.commitLog, feed: new Feed(unexpected), storageQuota, bounds: wide });
  const done: string[] = [];
  const append = (name: string, by: Caller | undefined, count: number) =>
    writer
      .append({ ...(by === undefined ? {} : { caller: by }), pushes: [makePush(Array(count).fill(1))] })
      .then(() => void done.push(name));
  const all = [append('first', caller, 9), append('second', new Caller('b'), 3), append('barrier', undefined, 0)];
  all.push(append('late', new Caller('c'), 1));
  for (let commits = 0; commits < 3 && done.length < 4; commits++) await disk.commit();
  await Promise.all(all);
  assert.deepEqual(done, ['second', 'first', 'barrier', 'late']);
});

test('while sealing catches up, what is small goes on, and what is large waits for its end in its place', async () => {
  const disk = new Disk();
  const flooding = new Caller('a');
  const writer = new Writer({ commitLog: disk.commitLog, feed: new Feed(unexpected), storageQuota, bounds });
  const push = (by: Caller, first: number, count: number) =>
    writer.append({ caller: by, pushes: [makePush(Array.from({ length: count }, (_, n) => first + n))] });
  disk.changing.isCatchingUp = true;
  // The small one of the flooding caller stays behind its large one.
  const flood = [push(flooding, 0, 5), push(flooding, 5, 1)];
  for (const value of [100, 101]) {
    const small = push(new Caller('b'), value, 1);
    await disk.commit();
    await small;
  }
  assert.deepEqual(disk.stored, [100, 101]);
  disk.changing.isCatchingUp = false;
  disk.changing.onCaughtUp();
  await disk.commit();
  await Promise.all(flood);
  assert.deepEqual(disk.stored, [100, 101, 0, 1, 2, 3, 4, 5]);
});

test('where commits are slow fewer datapoints may wait, and a newcomer still finds room', async () => {
  const commitLog = {
    isCatchingUp: false,
    sealingDebt: 0,
    onCaughtUp: () => {},
    // Some 20 datapoints in 20 ms.
    append: () => new Promise<number>((resolve) => setTimeout(() => resolve(0), 20)),
  };
  const slow = { ...bounds, queueDatapointsMax: 1_000, queueDatapointsReserve: 300, commitDatapointsMax: 20 };
  const feed = new Feed(unexpected);
  const writer = new Writer({ commitLog, feed, storageQuota, bounds: { ...slow, queueDelayMsMax: 100, queueDelayDatapointsMin: 30 } }); // biome-ignore format: one line
  const push = (by: Caller) => writer.append({ caller: by, pushes: [makePush([1])] });
  const flooding = new Caller('a');
  const flood = async () => {
    const all = Array.from({ length: 900 }, () => push(flooding).then(() => true, () => false)); // biome-ignore format: one line
    const newcomer = push(new Caller('b'));
    const stored = (await Promise.all(all)).filter(Boolean).length;
    await newcomer;
    return stored;
  };
  // Nothing is known of the disk at first.
  assert.equal(await flood(), 900);
  const stored = await flood();
  assert.ok(stored >= 30 && stored <= 200, `${stored} of 900`);
});

/** A log whose commits end when a test says so. */
class Disk {
  readonly stored: number[] = [];
  #commit: (() => void) | undefined;
  readonly changing = {
    isCatchingUp: false,
    sealingDebt: 0,
    onCaughtUp: () => {},
    append: (batch: DatapointBatch) =>
      new Promise<number>((resolve) => {
        this.#commit = () => {
          for (let at = 3; at < batch.rows.length; at += rowNumbers) this.stored.push(batch.rows[at] as number);
          resolve(0);
        };
      }),
  };
  readonly commitLog = this.changing;

  get isBusy(): boolean {
    return this.#commit !== undefined;
  }

  /** Ends a commit, this one or the next. */
  async commit(): Promise<void> {
    await until(() => this.isBusy);
    this.#commit?.();
    this.#commit = undefined;
  }
}

function makePush(values: readonly number[]): Push {
  const readings = values.map((value) => ({ value, timestampMs: Number.NaN }));
  return { device: {}, sensor: { key: 1 }, readings, receivedMs: 0 } as unknown as Push;
}
