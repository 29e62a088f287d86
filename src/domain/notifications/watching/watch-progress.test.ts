// How far the watcher has come, whoever asks and whenever (I5).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../config/limits.ts';
import type { CommitLog } from '../../ports/commit-log.ts';
import { WatchProgress } from './watch-progress.ts';
import type { SeenPush } from './watch-queue.ts';

const fence = { name: 'watcher', epoch: 1 } as never;

function pushAt(firstSeq: number): SeenPush {
  const readings = [{ value: 1, timestampMs: 0 }];
  return { device: { id: 'd' }, sensor: { key: 1 }, readings, receivedMs: 0, firstSeq, skipsRules: false } as never;
}

test('what is being evaluated counts as evaluated only when it was, also where it fails', () => {
  const log: Pick<CommitLog, 'confirm' | 'lastPosition'> = { lastPosition: 3, confirm: () => {} };
  const progress = new WatchProgress(log as CommitLog);
  progress.followFrom(0, fence);
  progress.noteEnd(0);
  for (const seq of [1, 2, 3]) {
    progress.noteReceived(seq, seq);
    progress.add(pushAt(seq));
  }
  const taken = progress.take(100);
  assert.equal(taken.length, 3);
  assert.equal(progress.isQueueEmpty, true);
  // As the metrics ask meanwhile.
  assert.equal(progress.behindDatapoints, 3);
  // The step fails: all of it is read from the log.
  progress.fallBehind();
  assert.equal(progress.seenSeq, 0);
  assert.equal(progress.behindDatapoints, 3);
  progress.noteRead(3, fence);
  progress.noteEnd(3);
  assert.equal(progress.behindDatapoints, 0);
});

/** A watcher that has come to the end of the log, which grows to a position. */
function followed(lastPosition: number): { progress: WatchProgress; confirmed: (number | undefined)[] } {
  const confirmed: (number | undefined)[] = [];
  const log = { lastPosition, confirm: (seq: number | undefined) => confirmed.push(seq) };
  const progress = new WatchProgress(log as unknown as CommitLog);
  progress.followFrom(0, fence);
  progress.noteEnd(0);
  return { progress, confirmed };
}

test('what the feed brings behind a gap is read from the log with what was left out, which takes nothing back when it comes', () => {
  const { progress, confirmed } = followed(20);
  // The outcome of 1 to 10 was unknown at first; 11 to 20 are of another server.
  progress.noteReceived(11, 20);
  assert.equal(progress.isBehind, true);
  assert.equal(progress.position(), 0);
  progress.noteRead(20, fence);
  progress.noteEnd(20);
  progress.noteReceived(1, 10);
  assert.equal(progress.isBehind, false);
  assert.equal(progress.behindDatapoints, 0);
  progress.confirm(fence);
  assert.equal(confirmed.at(-1), 20);
});

test('what is stored and never comes by the feed is missed at the second look', () => {
  const { progress } = followed(3);
  progress.noteReceived(1, 2);
  let nowMs = 0;
  const missesSome = () => {
    nowMs += limits.watchLookMs;
    progress.lookForMissed(nowMs);
    return progress.isBehind;
  };
  // The third may be on its way.
  assert.equal(missesSome(), false);
  progress.lookForMissed(nowMs + 1);
  assert.equal(progress.isBehind, false);
  assert.equal(missesSome(), true);
  progress.noteEnd(3);
  assert.equal(missesSome(), false);
  assert.equal(progress.behindDatapoints, 0);
});
