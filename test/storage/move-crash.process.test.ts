// `dundun move` is killed at any moment, with the power of the folder's disk or without, stopped for a while, and its database crashes.
// Run again it comes to its end: every datapoint is there once. Until then the place it comes from serves, and no server starts on the half.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { withoutPowerCuts } from '../support/crash/lossy-disk.ts';
import { type Direction, MoveSite, type Trouble } from '../support/crash/move-site.ts';
import { SeededRandom } from '../support/dice.ts';
import { PostgresServer, withoutPostgres } from '../support/postgres.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
/** How often each happens. */
const times: Readonly<Record<Direction, Readonly<Record<Trouble, number>>>> = isLong
  ? { 'a folder': { kill: 150, stop: 20, database: 30 }, 'a database': { kill: 60, stop: 10, database: 20 } }
  : { 'a folder': { kill: 6, stop: 1, database: 1 }, 'a database': { kill: 4, stop: 1, database: 1 } };
/** Troubles of one move at most, until it is let come to its end. */
const troublesMax = 6;

suite('a move that is cut off', { skip: withoutPostgres, timeout: isLong ? 3 * 3_600_000 : 1_500_000 }, () => {
  let postgres: PostgresServer;

  before(async () => {
    postgres = await PostgresServer.start({ isDurable: true });
  });
  after(() => postgres?.remove());

  test('is there for good once a move says so, though the one before was killed behind its last note', {
    skip: withoutPowerCuts,
  }, async () => {
    const site = new MoveSite({ direction: 'a database', postgres, random: new SeededRandom() });
    await site.fill();
    assert.ok(await site.cutOffBehindNote());
    await site.finish({ isTold: true, loss: { kind: 'all' } });
  });

  for (const direction of ['a folder', 'a database'] as const) {
    const { kill, stop, database } = times[direction];
    test(`to ${direction} goes on where it was: ${kill} kills, ${stop} stops, ${database} crashes of the database`, async (t) => {
      const random = new SeededRandom();
      t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
      const site = new MoveSite({ direction, postgres, random });
      await site.fill();
      let left = random.between(1, troublesMax + 1);
      for (const trouble of shuffled(times[direction], random)) {
        left -= 1;
        const isOver = await site.bring(trouble);
        if (!isOver) await site.lookBetween();
        if (!isOver && left > 0) continue;
        await site.finish({ isTold: isOver });
        left = random.between(1, troublesMax + 1);
      }
      await site.finish({ isTold: false });
      t.diagnostic(JSON.stringify(site.counts));
    });
  }
});

function shuffled(counts: Readonly<Record<Trouble, number>>, random: SeededRandom): Trouble[] {
  const list = Object.entries(counts).flatMap(([trouble, count]) => Array(count).fill(trouble) as Trouble[]);
  for (let n = list.length - 1; n > 0; n--) {
    const other = random.between(0, n + 1);
    [list[n], list[other]] = [list[other] as Trouble, list[n] as Trouble];
  }
  return list;
}
