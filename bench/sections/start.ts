// How long a start takes and what an idle server holds in memory.
import type { BenchOptions } from '../arguments.ts';
import { median, shown, table } from '../figures.ts';
import { startDundun } from '../fleet.ts';
import type { Section } from '../section.ts';

export async function measureStart(options: BenchOptions, dataDir: string): Promise<Section> {
  const startsMs: number[] = [];
  const idleMib: number[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    const server = await startDundun({ dataDir, profile: undefined });
    await server.quiet();
    startsMs.push(server.startMs);
    idleMib.push(server.rssMib());
    await server.stop();
  }
  const [first = Number.NaN, ...later] = startsMs;
  return {
    title: 'Start',
    how: 'From the start of the process to its ready line, on one core. The first start makes the store and an account.',
    tables: [
      table(
        ['', ''],
        [
          ['first start, ms', shown(first)],
          ['later starts (median), ms', shown(median(later))],
          ['memory when idle (median), MiB', shown(median(idleMib))],
        ],
      ),
    ],
    verdicts: [],
    faults: [],
  };
}
