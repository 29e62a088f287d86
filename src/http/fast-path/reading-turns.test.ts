// Who is read when, while as many pushes are under way as may be.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setLimits } from '../../../test/support/limits.ts';
import { limits } from '../../config/limits.ts';
import { Caller } from '../../domain/callers/caller.ts';
import { ReadingTurns } from './reading-turns.ts';

suite('while many pushes are under way', () => {
  setLimits({ pushesUnderWayMin: 4, pushesUnderWayMax: 4 });

  function fullTurns() {
    const turns = new ReadingTurns();
    const read: string[] = [];
    const unread = (caller: Caller, name: string, expected = 1) =>
      turns.waitUnread(caller, expected, () => void read.push(name));
    assert.deepEqual([turns.hasRoom, turns.isCrowded], [true, false]);
    turns.begun(4);
    assert.deepEqual([turns.hasRoom, turns.isCrowded], [false, true]);
    return { turns, read, unread };
  }
  const some = async () => {
    for (let n = 0; n < 5; n += 1) await turn();
  };

  test('nobody is read, and when some are stored as many as there is room for, each turn of the event loop', async () => {
    const { turns, read, unread } = fullTurns();
    const caller = new Caller('fleet');
    for (const name of ['a', 'b', 'c', 'd']) unread(caller, name, 2);
    await some();
    assert.deepEqual(read, []);
    turns.ended(1);
    await turn();
    assert.deepEqual(read, ['a']);
    // It sent nothing, so others may.
    await turn();
    assert.deepEqual(read, ['a', 'b']);
    turns.begun(1);
    await some();
    assert.deepEqual(read, ['a', 'b']);
    turns.ended(3);
    await turn();
    assert.deepEqual(read, ['a', 'b', 'c', 'd']);
    assert.equal(turns.isCrowded, false);
    turns.ended(1);
  });

  test('what was read already goes before what was not', async () => {
    const { turns, read, unread } = fullTurns();
    const caller = new Caller('fleet');
    unread(caller, 'unread');
    turns.waitWithBytes(caller, () => {
      read.push('read');
      turns.begun(2);
    });
    turns.waitWithBytes(caller, () => {
      read.push('read, too');
      turns.begun(2);
    });
    turns.ended(1);
    await some();
    assert.deepEqual(read, ['read']);
    turns.ended(2);
    await some();
    assert.deepEqual(read, ['read', 'read, too']);
    turns.ended(5);
    await some();
    assert.deepEqual(read, ['read', 'read, too', 'unread']);
  });

  test('a caller whose connections come with bytes again and again holds up no other that is unread', async () => {
    const { turns, read, unread } = fullTurns();
    const [flood, device] = [new Caller('flood'), new Caller('device')];
    const comeAgain = () => {
      read.push('flood');
      turns.begun(1);
      turns.waitWithBytes(flood, comeAgain);
    };
    turns.waitWithBytes(flood, comeAgain);
    turns.waitWithBytes(flood, comeAgain);
    unread(device, 'device');
    for (let n = 0; n < 2; n += 1) {
      turns.ended(1);
      await some();
    }
    assert.deepEqual(read, ['flood', 'device', 'flood']);
  });

  test('who leaves the line is not resumed, and takes no room', async () => {
    const { turns, read, unread } = fullTurns();
    const caller = new Caller('fleet');
    const leave = unread(caller, 'gone', 4);
    const leaveWithBytes = turns.waitWithBytes(caller, () => void read.push('gone, too'));
    unread(caller, 'stays', 4);
    leave();
    leaveWithBytes();
    turns.ended(4);
    await turn();
    assert.deepEqual(read, ['stays']);
    assert.equal(turns.isCrowded, false);
  });

  test('where a turn of the event loop has no time for pushes, those for which there is room wait for time', async () => {
    const { turns, read, unread } = fullTurns();
    const { pushTurnMsMax } = limits;
    const [fleet, device] = [new Caller('fleet'), new Caller('device')];
    for (const name of ['a', 'b', 'c', 'd']) unread(fleet, name, 2);
    unread(device, 'alone', 2);
    Object.assign(limits, { pushTurnMsMax: 0 });
    try {
      turns.ended(4);
      await some();
      assert.deepEqual(read, []);
      assert.equal(turns.isCrowded, true);
    } finally {
      Object.assign(limits, { pushTurnMsMax });
    }
    await some();
    assert.deepEqual(read, ['a', 'alone', 'b', 'c', 'd']);
  });

  test('a caller with many connections waits for itself', async () => {
    const { turns, read, unread } = fullTurns();
    const [fleet, device] = [new Caller('fleet'), new Caller('device')];
    for (const name of ['a', 'b', 'c']) unread(fleet, name);
    unread(device, 'alone');
    turns.ended(2);
    await turn();
    assert.deepEqual(read, ['a', 'alone']);
    await some();
    assert.deepEqual(read, ['a', 'alone', 'b', 'c']);
  });
});
