// What a section of the bench hands to the report, and the tables that several of them have in common.
import { median, shown, table } from './figures.ts';
import type { Rounds } from './load/load.ts';

export interface Verdict {
  readonly target: string;
  /** Doubtful: others were busy on the machine, so the figures say neither. */
  readonly outcome: 'reached' | 'missed' | 'doubtful';
}

export interface Section {
  readonly title: string;
  /** How it was measured, in a sentence or two. */
  readonly how: string;
  readonly tables: readonly string[];
  readonly verdicts: readonly Verdict[];
  /** Wrong counts; any fails the bench. */
  readonly faults: readonly string[];
}

const percent = (share: number) => (Number.isFinite(share) ? `${Math.round(share * 100)} %` : '–');

/** One row a side: rate, latency, and who was busy. */
export function roundsTable(sides: readonly { readonly name: string; readonly rounds: Rounds }[]): string {
  return table(
    [
      'median of the rounds',
      'per s',
      'p50 ms',
      'p99 ms',
      'its core',
      'others on it',
      'per CPU s',
      'after, CPU s',
      'generator',
      'refused',
    ],
    sides.map(({ name, rounds }) => [
      name,
      shown(rounds.perS),
      shown(rounds.p50Ms),
      shown(rounds.p99Ms),
      percent(rounds.serverCpu),
      percent(rounds.othersCpu),
      shown(rounds.perS / rounds.serverCpu),
      shown(rounds.afterwardsCpuS),
      percent(rounds.generatorCpu),
      shown(rounds.refused),
    ]),
  );
}

/**
 * Says whether the ratio of the two sides reaches its target. It is taken in each round, where both ran within seconds,
 * and its median counts: a machine that is half as fast for a minute is so for both. By processor time for comparison.
 */
export function judgeRatio(name: string, rounds: readonly [ours: Rounds, theirs: Rounds], target: number): Verdict {
  const ratios = ratiosOf(rounds, ({ perS }) => perS);
  const ratio = median(ratios);
  const byCpu = median(ratiosOf(rounds, ({ perCpuS }) => perCpuS));
  const spread = `${shown(Math.min(...ratios))} to ${shown(Math.max(...ratios))} in the rounds`;
  return {
    target: `${name}: ${shown(ratio)} of the baseline (${spread}; ${shown(byCpu)} by processor time), target at least ${target}`,
    outcome: judge(ratio >= target, rounds),
  };
}

function ratiosOf([ours, theirs]: readonly [Rounds, Rounds], pick: (rate: Rounds['rates'][number]) => number) {
  return ours.rates.map((rate, round) => {
    const other = theirs.rates[round];
    return other === undefined ? Number.NaN : pick(rate) / pick(other);
  });
}

export function judge(reached: boolean, rounds: readonly Rounds[]): Verdict['outcome'] {
  if (rounds.some(({ othersCpu }) => othersCpu > othersMax)) return 'doubtful';
  return reached ? 'reached' : 'missed';
}

/** Share of the server's core that others may use before a verdict is called doubtful. */
const othersMax = 0.1;

/** What was acknowledged must be there; what is there must have been sent. */
export function judgeCounts(
  all: readonly { readonly sent: number; readonly acknowledged: number }[],
  stored: number,
): { readonly line: string; readonly faults: string[] } {
  const sent = all.reduce((sum, round) => sum + round.sent, 0);
  const acknowledged = all.reduce((sum, round) => sum + round.acknowledged, 0);
  const line = `Sent ${shown(sent)}, acknowledged ${shown(acknowledged)}, read back ${shown(stored)}.`;
  const right = acknowledged <= stored && stored <= sent;
  return { line, faults: right ? [] : [`${line} Acknowledged ≤ read back ≤ sent does not hold.`] };
}
