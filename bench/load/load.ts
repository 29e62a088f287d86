// What every load generator gives: how much was sent and acknowledged in a round, how fast, at what cost to itself.
import { type Latencies, median } from '../figures.ts';

export interface LoadResult {
  /** Datapoints (or logins) sent, whether or not an answer came. */
  readonly sent: number;
  /** Answered with success, those after the end of the clock included. */
  readonly acknowledged: number;
  /** Answered with anything else: status or code, and how often. */
  readonly refused: ReadonlyMap<number, number>;
  /** Answered with success while the clock ran. */
  readonly acknowledgedInTime: number;
  /** How long the clock ran. */
  readonly elapsedS: number;
  readonly latencies: Latencies;
  /** Processor time of this process while the clock ran. */
  readonly generatorCpuS: number;
}

/** One round as the report needs it. */
export interface Round {
  readonly sent: number;
  readonly acknowledged: number;
  readonly refused: ReadonlyMap<number, number>;
  readonly perS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Shares of one core, 0 to 1 (the generator more where it has several). */
  readonly generatorCpu: number;
  readonly serverCpu: number;
  /** Share of the server's core that others used meanwhile: what makes a figure doubtful. */
  readonly othersCpu: number;
  /** Processor time the server needed afterwards for what it had put off, seconds. */
  readonly afterwardsCpuS: number;
}

/** Medians of rounds; sums of what was sent and acknowledged. */
export interface Rounds extends Omit<Round, 'refused'> {
  readonly refused: number;
  /** The rates of each round, by the clock and by a second of processor time. */
  readonly rates: readonly { readonly perS: number; readonly perCpuS: number }[];
}

export function summarise(rounds: readonly Round[]): Rounds {
  const middle = (pick: (round: Round) => number) => median(rounds.map(pick));
  const sum = (pick: (round: Round) => number) => rounds.reduce((total, round) => total + pick(round), 0);
  return {
    sent: sum((round) => round.sent),
    acknowledged: sum((round) => round.acknowledged),
    refused: sum((round) => [...round.refused.values()].reduce((total, count) => total + count, 0)),
    perS: middle((round) => round.perS),
    p50Ms: middle((round) => round.p50Ms),
    p99Ms: middle((round) => round.p99Ms),
    generatorCpu: middle((round) => round.generatorCpu),
    serverCpu: middle((round) => round.serverCpu),
    othersCpu: middle((round) => round.othersCpu),
    afterwardsCpuS: middle((round) => round.afterwardsCpuS),
    rates: rounds.map(({ perS, serverCpu }) => ({ perS, perCpuS: perS / serverCpu })),
  };
}
