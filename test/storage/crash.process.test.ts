// Kills the server under load, sometimes with a power failure, on a full disk or by a wrong clock, and reads everything back
// (I1): acknowledged data is there exactly once, an array is there completely or not at all, and nothing else is; repeats
// after the kill store nothing twice; every stored datapoint has made its rules fire once (I5); and `dundun check` finds no
// fault in the folder or in a backup made meanwhile.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CrashRound } from '../support/crash/crash-round.ts';
import { type Aim, CrashSite, type Ordered } from '../support/crash/crash-site.ts';
import { Firings } from '../support/crash/firings.ts';
import { withoutPowerCuts } from '../support/crash/lossy-disk.ts';
import { SeededRandom } from '../support/dice.ts';
import { call, type Dundun, login } from '../support/process.ts';
import { withoutSmallDisks } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
/** What kills fall into in turn. */
const aims: readonly Aim[] = [
  undefined,
  'sealing',
  'merging',
  'retention',
  'backup',
  'full disk',
  'clearing',
  'wrong clock',
  'purging',
  'firing',
  'removing',
].filter((aim) => aim !== 'full disk' || withoutSmallDisks === false) as Aim[];
/** Kills of one folder under load; in the long test about as many come beside them of starts. */
const killsEach = aims.length;
const folders = isLong ? 50 : 1;
/** Starts are killed as well, after one kill in so many. */
const startsKilledEvery = isLong ? 2 : 4;
/** How often more is aimed at what has not been met: a busy machine does not come to everything in its time. */
const moreTriesMax = 2;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Where a wrong clock is, from the right time; a start would trust less than 30 days ahead, which may be a long stop. */
const wrongByMs = [400 * dayMs, 40 * dayMs, -2 * hourMs];
/** How soon pushes are to go on where there is room again. */
const recoveryMsMax = 30_000;
/** `check` takes as long as all else: in the long test, after one kill in four, and after half of the power cuts. */
const checkEvery = isLong ? 4 : 1;

/** `DUNDUN_TEST_PART=2/4`: the second of four parts of the folders, for runs one after the other or beside each other. */
const [part = 1, parts = 1] = (process.env['DUNDUN_TEST_PART'] ?? '1/1').split('/').map(Number);
const ours = Array.from({ length: folders }, (_, folder) => folder).filter((folder) => folder % parts === part - 1);
const baseSeed = new SeededRandom().seed;

suite('a kill', { timeout: isLong ? 5 * 3_600_000 : 1_800_000 }, () => {
  for (const folder of ours) {
    test(`under load loses nothing that was acknowledged: folder ${folder + 1} of ${folders}, ${killsEach} times and more`, async (t) => {
      const random = new SeededRandom(baseSeed + folder);
      t.diagnostic(`DUNDUN_TEST_SEED=${baseSeed}, folder ${folder + 1}`);
      const site = new CrashSite(random, { DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1' });
      const firings = new Firings();
      const rounds: CrashRound[] = [];
      let dundun = await site.start();
      await firings.open(dundun);
      const turns = Array.from({ length: killsEach }, (_, number) => planFor(aims[number % aims.length], random));
      for (let number = 0, moreTries = 0; number < turns.length; number++) {
        const plan = turns[number] as Plan;
        const round = new CrashRound(`d${number}`, { random, firings, isInOrder: !plan.movesClock });
        rounds.push(round);
        await round.run(dundun, () => killAsPlanned(plan, { site, dundun, random }));
        if ((site.hasLostPower && random.oneIn(2)) || number % checkEvery === 0) await site.assertSound();
        for (; random.oneIn(startsKilledEvery); ) await site.killWhileStarting();
        if (number === turns.length - 1 && moreTries++ < moreTriesMax)
          turns.push(...unmetAt(site).map((aim) => planFor(aim, random)));
        dundun = await startAgain(site, turns[number + 1], random);
        await round.settleAccounts(dundun);
        await round.verify(dundun);
      }
      const acknowledged = rounds.reduce((sum, round) => sum + round.ledger.count('stored'), 0);
      assert.deepEqual(unmetAt(site), [], 'into these no kill fell');
      // Once more all of it, after a stop and a start.
      await dundun.stop();
      dundun = await site.start(true);
      for (const round of rounds) await round.untilOldIsGone(dundun);
      for (const round of rounds) await round.verify(dundun);
      const fired = await firings.verify(dundun);
      await dundun.stop();
      await site.assertSound();
      t.diagnostic(
        `${site.kills} kills; ${acknowledged} pushes were acknowledged, ${fired} firings told of; 0 lost, 0 doubled`,
      );
      t.diagnostic(site.describeCuts());
      t.diagnostic(site.describeKills());
    });
  }

  // What was left out cannot be seen in the sum of several hundred kills.
  if (isLong) {
    test('falls on power cuts and small disks too', () => {
      assert.deepEqual([withoutPowerCuts, withoutSmallDisks], [false, false]);
    });
  }

  // Once, whatever the parts.
  const skip = part > 1 && 'it belongs to the first part';
  test('while it starts for the first time leaves a folder that the next start completes', { skip }, async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    for (let i = 0; i < (isLong ? 50 : 3); i++) {
      const site = new CrashSite(random);
      for (let k = 0; k < 3; k++) await site.killWhileStarting();
      const dundun = await site.start();
      assert.equal(typeof (await login(dundun)), 'string');
      await site.kill(dundun, { withinMs: 100, withinSteps: 20 });
      await site.assertSound();
      t.diagnostic(site.describeCuts());
    }
  });
});

/** What is to be the matter when a server is killed. */
interface Plan {
  readonly aim: Aim;
  /** Little room; undefined: by chance. */
  readonly isTight: boolean | undefined;
  readonly fills: boolean;
  readonly movesClock: boolean;
}

function planFor(aim: Aim, random: SeededRandom): Plan {
  const fills = aim === 'full disk' || (aim === undefined && withoutSmallDisks === false && random.oneIn(4));
  const movesClock = aim === 'wrong clock' || ((aim === undefined || aim === 'full disk') && random.oneIn(4));
  // A backup is made beside any server; the other work is done all the time where there is little room.
  const isOrdered = aim !== undefined && aim !== 'backup' && aim !== 'full disk' && aim !== 'wrong clock';
  return { aim, fills, movesClock, isTight: isOrdered ? true : movesClock ? false : undefined };
}

async function killAsPlanned(
  { aim, fills, movesClock }: Plan,
  { site, dundun, random }: { readonly site: CrashSite; readonly dundun: Dundun; readonly random: SeededRandom },
): Promise<void> {
  if (aim !== undefined && aim !== 'full disk' && aim !== 'wrong clock')
    return site.killIn(aim satisfies Ordered, dundun);
  if (random.oneIn(3)) site.startBackup();
  const { machine } = site;
  if (fills) {
    await until(() => machine.hasReserve || dundun.child.exitCode !== null, { everyMs: 10 });
    machine.fill();
  }
  if (movesClock) {
    await pause(random.between(0, 300));
    machine.moveClock(wrongByMs[random.between(0, wrongByMs.length)] as number);
    // The service compares its clocks every second.
    await pause(random.between(0, 1_500));
  }
  await site.kill(dundun, { withinMs: 1_000, withinSteps: 3_000 });
}

/** Starts on the machine as it was left, or as it is to be; where the disk was full, work goes on by itself. */
async function startAgain(site: CrashSite, next: Plan | undefined, random: SeededRandom): Promise<Dundun> {
  const { machine } = site;
  const wasFull = machine.isFull;
  const isStartedRough = random.oneIn(2) && !(machine.isMoved && next?.isTight === true);
  if (!isStartedRough) machine.mend();
  const dundun = await site.start(next?.isTight);
  machine.mend();
  const hasRoom = async () => {
    const answer = await call(dundun, '/health/ready');
    return answer.status === 200 && !/no room/.test(await answer.text());
  };
  if (wasFull) await until(hasRoom, { everyMs: 50, msMax: recoveryMsMax, otherwise: () => dundun.stderr });
  return dundun;
}

/** What no kill has fallen into yet. */
function unmetAt(site: CrashSite): Exclude<Aim, undefined>[] {
  return [...new Set(aims)].filter((aim) => aim !== undefined).filter((aim) => site.killsIn(aim) === 0);
}
