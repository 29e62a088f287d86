// Rounds in turns (A B, B A, …), so that noise of the machine meets both sides alike. Before each round every process
// has finished what it put off; what that cost is kept with the round that caused it.

import { isPinned, serverCoreBusyS } from './cores.ts';
import { shown } from './figures.ts';
import type { LoadResult, Round } from './load/load.ts';
import type { ServerProcess } from './server-process.ts';

export interface Side {
  readonly name: string;
  readonly server: ServerProcess;
  /** Puts load on the server for so many seconds. */
  readonly load: (seconds: number) => Promise<LoadResult>;
}

export interface SideRounds {
  readonly measured: readonly Round[];
  /** The measured rounds and the warm-up: all that can be read back. */
  readonly all: readonly Round[];
}

export async function takeTurns(
  title: string,
  sides: readonly Side[],
  options: { readonly rounds: number; readonly seconds: number },
): Promise<SideRounds[]> {
  const taken = sides.map(() => [] as Round[]);
  for (let round = 0; round <= options.rounds; round++) {
    const seconds = round === 0 ? Math.min(options.seconds, 3) : options.seconds;
    const told: string[] = [];
    // Who goes first changes with each round; the warm-up of a cold generator is the last side's to bear.
    const order = [...sides.entries()];
    for (const [i, side] of round % 2 === 0 ? order.reverse() : order) {
      const result = await takeRound(side, seconds);
      taken[i]?.push(result);
      told.push(`${side.name} ${shown(result.perS)}/s`);
    }
    console.error(`${title}: ${round === 0 ? 'warm-up' : `round ${round} of ${options.rounds}`}: ${told.join(', ')}`);
  }
  return taken.map((all) => ({ measured: all.slice(1), all }));
}

async function takeRound(side: Side, seconds: number): Promise<Round> {
  await side.server.quiet();
  const before = { server: side.server.cpuS(), core: serverCoreBusyS() };
  const atEnd = new Promise<typeof before>((resolve) =>
    setTimeout(() => resolve({ server: side.server.cpuS(), core: serverCoreBusyS() }), seconds * 1000),
  );
  const result = await side.load(seconds);
  const end = await atEnd;
  const serverCpu = (end.server - before.server) / seconds;
  await side.server.quiet();
  const [p50Ms = Number.NaN, p99Ms = Number.NaN] = result.latencies.percentiles(50, 99);
  return {
    sent: result.sent,
    acknowledged: result.acknowledged,
    refused: result.refused,
    perS: result.acknowledgedInTime / result.elapsedS,
    p50Ms,
    p99Ms,
    generatorCpu: result.generatorCpuS / result.elapsedS,
    serverCpu,
    othersCpu: isPinned ? Math.max(0, (end.core - before.core) / seconds - serverCpu) : Number.NaN,
    afterwardsCpuS: side.server.cpuS() - end.server,
  };
}
