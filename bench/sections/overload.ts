// What an overload does: from half of what keeps the service busy to ten times as much and more, by each door and on slow disks,
// with a pause of six seconds in which nothing is answered. Goodput must stay near the best, others must be answered, and
// the service must be as before within seconds of the pause.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { BenchOptions } from '../arguments.ts';
import { median, shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import { FloodTally } from '../load/flood.ts';
import { type Answered, Others, usualNames, usualQuestions } from '../load/others.ts';
import { type Door, doors, type Level } from '../load/overload-doors.ts';
import { judgeCounts, type Section, type Verdict } from '../section.ts';
import { slowDisk } from '../slow-disk/slow-disk.ts';

/** Goodput under overload, as a share of the best of that door. */
const goodputMin = 0.8;
/** Up to this many times the load that keeps the service just busy; what is beyond is shown and has to come back. */
const judgedTimesMax = 10;
/** A load that goes on at its rate is back when its pushes are answered within this again, milliseconds. */
const promptMs = 1_000;
/** Others are answered within this, milliseconds. */
const othersMsMax = 1_000;
/** After a pause the service is as before within this, seconds. */
const returnSMax = 20;
const pauseS = 6;
const warmS = 3;
/** All clients are signed in within this, seconds; what is measured then begins in any case. */
const signedInSMax = 60;

/** A level as it was measured in one round. */
interface Round {
  readonly perS: number;
  readonly p99Ms: number;
  readonly refusedPerS: number;
  readonly cut: number;
  readonly others: Answered;
  readonly peakMib: number;
  /** Seconds after the pause until it was as before; undefined where it was not. */
  readonly returnS: number | undefined;
  readonly acknowledged: number;
}

/** A level with its rounds, in order: the nth of all levels were measured one after the other. */
interface Measured {
  readonly level: Level;
  readonly rounds: readonly Round[];
}

export async function measureOverload(options: BenchOptions, dataDir: string): Promise<Section> {
  const tables: string[] = [];
  const verdicts: Verdict[] = [];
  const faults: string[] = [];
  const lines: string[] = [];
  for (const door of doors.filter(({ name }) => options.doors.includes(name))) {
    const env = door.syncMs === 0 ? {} : slowDisk(dataDir, door.syncMs);
    if (env === undefined) {
      lines.push(`${door.title}: not measured, because there is no C compiler.`);
      continue;
    }
    const measured = await measureDoor(door, join(dataDir, door.name), { options, env });
    tables.push(tableOf(door, measured.levels));
    verdicts.push(...judge(door, measured.levels));
    faults.push(...measured.counts.faults);
    lines.push(`${door.title}: ${measured.counts.line}`);
  }
  return {
    title: 'Overload',
    how: `${options.rounds} rounds, in each of them every load, up and down in turns. Each load for ${options.seconds} s, after all of its clients are signed in and ${warmS} s that warm up; then ${pauseS} s in which the process is stopped (SIGSTOP), then until ${goodputMin * 100} % of the goodput before are reached again. Offered: datapoints outstanding at once, as so many times those that keep the service just busy; each client sends the next as soon as one is answered, and comes back a second after it was cut. At fixed rates all is sent whatever is answered, also in the pause, and it is over when the p99 is below a second again. Goodput: datapoints acknowledged a second, median of the rounds; of the best: median of the ratios within a round; p99 of pushes: median; all others: the worst of the rounds. GET of a device, sign-in and health are asked for five times a second each beside it, from the first client's sign-in on. ${lines.join(' ')}`,
    tables,
    verdicts,
    faults,
  };
}

async function measureDoor(
  door: Door,
  dataDir: string,
  { options, env }: { readonly options: BenchOptions; readonly env: Readonly<Record<string, string>> },
): Promise<{ readonly levels: Measured[]; readonly counts: ReturnType<typeof judgeCounts> }> {
  const fleet = await Fleet.start({ dataDir, devices: 100, sensorsEach: 2, profile: options.profile, env });
  try {
    const key = await fleet.key();
    const levels = door.levels.map((level) => ({ level, rounds: [] as Round[] }));
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const { level, rounds } of round % 2 === 1 ? levels : levels.toReversed()) {
        const measured = await measureLevel(fleet, level, { key, seconds: options.seconds });
        rounds.push(measured);
        console.error(
          `overload: ${door.title}, round ${round} of ${options.rounds}, ${level.name}: ${shown(measured.perS)}/s, back after ${measured.returnS} s`,
        );
      }
    }
    const acknowledged = levels.flatMap(({ rounds }) => rounds).reduce((sum, one) => sum + one.acknowledged, 0);
    // What is sent is not counted: a client that was cut does not know what of it was stored.
    const counts = judgeCounts([{ sent: Number.POSITIVE_INFINITY, acknowledged }], await fleet.count());
    return { levels, counts };
  } finally {
    await fleet.server.stop();
  }
}

async function measureLevel(
  fleet: Fleet,
  level: Level,
  { key, seconds }: { readonly key: string; readonly seconds: number },
): Promise<Round> {
  const tally = new FloodTally();
  const others = new Others(fleet.server.httpPort, usualQuestions(fleet, key));
  const lines = level.open(fleet, tally, key);
  const openedMs = performance.now();
  const isSignedIn = () => lines.every(({ isUnderWay }) => isUnderWay);
  while (!isSignedIn() && performance.now() < openedMs + signedInSMax * 1_000) await pause(100);
  if (!isSignedIn()) console.error(`overload: not all clients are signed in after ${signedInSMax} s`);
  await pause(warmS * 1_000);
  const before = tally.take();
  let { acknowledged } = before;
  const startMs = performance.now();
  let peakMib = 0;
  for (let s = 0; s < seconds; s += 1) {
    await pause(1_000);
    peakMib = Math.max(peakMib, fleet.server.rssMib());
  }
  const steady = tally.take();
  const elapsedS = (performance.now() - startMs) / 1_000;
  const answered = await others.take();
  await others.close();
  const back = await comeBack(fleet, tally, {
    perS: steady.acknowledged / elapsedS,
    isSteady: level.kind === 'steady',
  });
  for (const line of lines) line.close();
  await fleet.server.quiet();
  acknowledged += steady.acknowledged + back.acknowledged + tally.take().acknowledged;
  return {
    perS: steady.acknowledged / elapsedS,
    p99Ms: steady.latencies.percentiles(99)[0] ?? Number.NaN,
    refusedPerS: steady.refused / elapsedS,
    cut: before.cut + steady.cut + back.cut,
    others: answered,
    peakMib: Math.max(peakMib, back.peakMib),
    returnS: back.returnS,
    acknowledged,
  };
}

/** Stops the process for some seconds, and looks how long it takes until it does as much as before. */
async function comeBack(
  fleet: Fleet,
  tally: FloodTally,
  { perS, isSteady }: { readonly perS: number; readonly isSteady: boolean },
) {
  fleet.server.signal('SIGSTOP');
  await pause(pauseS * 1_000);
  fleet.server.signal('SIGCONT');
  const startMs = performance.now();
  // What was on its way to us when it stopped is none of what it does afterwards.
  let { acknowledged, cut } = tally.take();
  let peakMib = 0;
  for (let s = 0; s < returnSMax * 2; s += 1) {
    const beganMs = performance.now();
    await pause(1_000);
    const interval = tally.take();
    acknowledged += interval.acknowledged;
    cut += interval.cut;
    peakMib = Math.max(peakMib, fleet.server.rssMib());
    const nowMs = performance.now();
    if (interval.acknowledged / ((nowMs - beganMs) / 1_000) < perS * goodputMin) continue;
    // What gathered in the pause is more a second than the rate, and late.
    if (isSteady && (interval.latencies.percentiles(99)[0] ?? 0) > promptMs) continue;
    return { acknowledged, cut, peakMib, returnS: (nowMs - startMs) / 1_000 };
  }
  return { acknowledged, cut, peakMib, returnS: undefined };
}

function tableOf(door: Door, measured: readonly Measured[]): string {
  return table(
    [door.title, 'offered, ×', 'goodput/s', 'of the best', 'refused/s', 'p99 ms', 'GET p99', 'sign-in p99', 'health p99', 'cut', 'MiB', 'back after s'], // biome-ignore format: one line
    measured.map((one) => {
      const returnS = worstOf(one, ({ returnS = Number.POSITIVE_INFINITY }) => returnS);
      return [
        one.level.name,
        shown(one.level.outstanding / door.busy),
        shown(goodputOf(one)),
        shown(shareOf(one, bestOf(door, measured, one.level))),
        shown(worstOf(one, ({ refusedPerS }) => refusedPerS)),
        shown(median(one.rounds.map(({ p99Ms }) => p99Ms))),
        ...usualNames.map((name) => shown(worstOf(one, ({ others }) => others.p99Ms(name)))),
        shown(worstOf(one, ({ cut }) => cut)),
        shown(worstOf(one, ({ peakMib }) => peakMib)),
        Number.isFinite(returnS) ? shown(returnS) : 'never',
      ];
    }),
  );
}

const goodputOf = ({ rounds }: Measured) => median(rounds.map(({ perS }) => perS));

/** The largest of a figure in all rounds. */
const worstOf = ({ rounds }: Measured, figure: (round: Round) => number) => Math.max(...rounds.map(figure));

/** Goodput as a share of that of the best level, each round by itself. */
function shareOf({ rounds }: Measured, best: Measured): number {
  return median(rounds.map(({ perS }, index) => perS / (best.rounds[index]?.perS ?? Number.NaN)));
}

/** The best of those that are comparable: on a slow disk there are several kinds of load, each with a best of its own. */
function bestOf(door: Door, measured: readonly Measured[], level: Level): Measured {
  const alike = door.syncMs === 0 ? measured : measured.filter((one) => one.level.kind === level.kind);
  return alike.reduce((best, one) => (goodputOf(one) > goodputOf(best) ? one : best));
}

/**
 * Goodput counts from the load that it was best at to ten times, or from the one that keeps the service just busy where it was best beyond
 * ten times; the answers of others from that one.
 */
function judge(door: Door, measured: readonly Measured[]): Verdict[] {
  const judgedMax = judgedTimesMax * door.busy;
  const least = Math.min(
    ...measured.map((one) => {
      const best = bestOf(door, measured, one.level);
      const { outstanding } = one.level;
      const judgedMin = best.level.outstanding <= judgedMax ? best.level.outstanding : door.busy;
      return outstanding >= judgedMin && outstanding <= judgedMax ? shareOf(one, best) : Number.POSITIVE_INFINITY;
    }),
  );
  const busy = measured.filter(({ level }) => level.outstanding >= door.busy);
  const others = Math.max(
    ...busy.flatMap((one) => usualNames.map((name) => worstOf(one, ({ others }) => others.p99Ms(name)))),
  );
  const returnS = Math.max(
    ...measured.map((one) => worstOf(one, (round) => round.returnS ?? Number.POSITIVE_INFINITY)),
  );
  const outcome = (isReached: boolean) => (isReached ? ('reached' as const) : ('missed' as const));
  const goodput = `${door.title}: goodput under overload ${shown(least)} of the best, target at least ${goodputMin}`;
  const answers = `${door.title}: GET, sign-in and health p99 ${shown(others)} ms, target at most ${shown(othersMsMax)}`;
  const back = `${door.title}: as before ${shown(returnS)} s after a pause, target at most ${returnSMax}`;
  return [
    { target: goodput, outcome: outcome(least >= goodputMin) },
    { target: answers, outcome: outcome(others <= othersMsMax) },
    { target: back, outcome: outcome(returnS <= returnSMax) },
  ];
}
