// How many pushes are under way at once: a bound while the thread is busy, more while all wait for the disk.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setLimits } from '../../../test/support/limits.ts';
import { until } from '../../../test/support/until.ts';
import { PushRoom } from './push-room.ts';

suite('room for pushes that are under way', () => {
  setLimits({ pushesUnderWayMin: 10, pushesUnderWayMax: 35, pushRoomLookMs: 1 });

  /** Room beside a thread of which so much is busy. */
  function roomOf(thread: { busy: number; looks?: number }) {
    let told = 0;
    const room = new PushRoom(
      () => {
        thread.looks = (thread.looks ?? 0) + 1;
        return thread.busy;
      },
      () => {
        told += 1;
      },
    );
    return { room, told: () => told };
  }

  test('is full at the bound, and whoever waits is told when it is so no more', () => {
    const { room, told } = roomOf({ busy: 1 });
    room.begun(9);
    assert.equal(room.isFull, false);
    room.begun(16);
    assert.equal(room.isFull, true);
    room.ended(15);
    assert.deepEqual([room.isFull, told()], [true, 0]);
    room.ended(1);
    assert.deepEqual([room.isFull, told()], [false, 1]);
    room.ended(9);
    assert.equal(told(), 1);
  });

  test('stays as it is while the thread is busy', async () => {
    const thread = { busy: 0.95, looks: 0 };
    const { room, told } = roomOf(thread);
    room.begun(10);
    await until(() => thread.looks > 5);
    assert.deepEqual([room.isFull, told()], [true, 0]);
    room.ended(10);
  });

  test('doubles while the thread waits, up to its greatest, and shrinks again when it is busy', async () => {
    const thread = { busy: 0.5, looks: 0 };
    const { room, told } = roomOf(thread);
    room.begun(10);
    await until(() => !room.isFull);
    assert.ok(told() > 0);
    room.begun(30);
    await until(() => thread.looks > 10);
    assert.equal(room.isFull, true, 'more than its greatest');
    room.ended(8);
    assert.equal(room.isFull, false);
    thread.busy = 1;
    await until(() => room.isFull);
    room.ended(23);
    assert.equal(room.isFull, false);
    // Nobody looks any more where little is under way.
    await until(async () => {
      const { looks } = thread;
      await new Promise((resolve) => setTimeout(resolve, 20));
      return thread.looks === looks;
    });
    room.begun(1);
    assert.equal(room.isFull, true);
  });

  test('is as small as before when few come again, though the thread was never busy', async () => {
    const thread = { busy: 0.5, looks: 0 };
    const { room } = roomOf(thread);
    room.begun(10);
    await until(() => !room.isFull);
    room.ended(10);
    await until(() => !room.hasFor(10));
    const { looks } = thread;
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(thread.looks <= looks + 1, 'it is looked at for ever');
  });
});
