// What a section of the bench hands to the report, and the tables that several of them have in common.

import type { SideRounds } from './comparison.ts';
import { shown, table } from './figures.ts';
import { type Rounds, summarise } from './load/load.ts';

export interface Verdict {
  readonly target: string;
  /** Doubtful: others were busy on the server's core, so the figures say neither. */
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

/** Says whether the ratio of the median rates reaches its target; that by processor time is told for comparison. */
export function judgeRatio(name: string, rounds: readonly [ours: Rounds, theirs: Rounds], target: number): Verdict {
  const [ours, theirs] = rounds;
  const ratio = ours.perS / theirs.perS;
  const byCpu = ours.perS / ours.serverCpu / (theirs.perS / theirs.serverCpu);
  return {
    target: `${name}: ${shown(ratio)} of the baseline (${shown(byCpu)} by processor time), target at least ${target}`,
    outcome: judge(ratio >= target, rounds),
  };
}

export function judge(reached: boolean, rounds: readonly Rounds[]): Verdict['outcome'] {
  if (rounds.some(({ othersCpu }) => othersCpu > othersMax)) return 'doubtful';
  return reached ? 'reached' : 'missed';
}

/** Share of the server's core that others may use before a verdict is called doubtful. */
const othersMax = 0.1;

/** What was acknowledged must be there; what is there must have been sent. */
export function judgeCounts(
  all: SideRounds['all'],
  stored: number,
): { readonly line: string; readonly faults: string[] } {
  const { sent, acknowledged } = summarise(all);
  const line = `Sent ${shown(sent)}, acknowledged ${shown(acknowledged)}, read back ${shown(stored)}.`;
  const right = acknowledged <= stored && stored <= sent;
  return { line, faults: right ? [] : [`${line} Acknowledged ≤ read back ≤ sent does not hold.`] };
}
