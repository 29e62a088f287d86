// Where many connections were accepted in a turn of the event loop, the next one has little time for pushes, so that those that
// wait to be accepted are soon.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { limits } from '../../config/limits.ts';
import { Caller } from './caller.ts';
import { pushTurns } from './push-turns.ts';

suite('pushes that wait for a turn', () => {
  const { acceptedPerTurn, pushTurnMsCrowded, crowdedTurnsMax } = limits;

  /** After how many turns a push goes on that waits while so many connections come. */
  async function turnsAfter(connections: number): Promise<number> {
    let isResumed = false;
    pushTurns.wait(new Caller('fleet'), () => {
      isResumed = true;
    });
    for (let n = 0; n < connections; n += 1) pushTurns.connectionAccepted();
    let turns = 0;
    for (; !isResumed; turns += 1) await turn();
    return turns;
  }

  test('wait longer where as many connections came as one turn accepts, and then go on', async () => {
    Object.assign(limits, { pushTurnMsCrowded: 0 });
    try {
      const alone = await turnsAfter(0);
      assert.equal(await turnsAfter(acceptedPerTurn - 1), alone);
      assert.equal(await turnsAfter(acceptedPerTurn), alone + 1);
      assert.equal(await turnsAfter(0), alone);
    } finally {
      Object.assign(limits, { pushTurnMsCrowded });
    }
  });

  test('have some time in such a turn, too', async () => {
    assert.ok(pushTurnMsCrowded > 0 && pushTurnMsCrowded < limits.pushTurnMsMax);
    assert.equal(await turnsAfter(acceptedPerTurn), await turnsAfter(0));
  });

  test('go on in every other turn where connections come without end', async () => {
    Object.assign(limits, { pushTurnMsCrowded: 0 });
    try {
      const caller = new Caller('fleet');
      const turns = 3 * crowdedTurnsMax;
      let isWaiting = false;
      let taken = 0;
      for (let n = 0; n < turns; n += 1) {
        if (!isWaiting) {
          isWaiting = true;
          pushTurns.wait(caller, () => {
            isWaiting = false;
            taken += 1;
          });
        }
        for (let one = 0; one < acceptedPerTurn; one += 1) pushTurns.connectionAccepted();
        await turn();
      }
      assert.ok(taken >= (turns - crowdedTurnsMax) / 2 - 1 && taken <= turns / 2, `${taken} of ${turns}`);
      while (isWaiting) await turn();
    } finally {
      Object.assign(limits, { pushTurnMsCrowded });
    }
  });
});
