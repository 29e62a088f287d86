// Priorities of threads for when all cores are busy: pushes run before reads, and reads before what nobody waits for.
import { getPriority, setPriority } from 'node:os';

/**
 * Nice values of Linux: a greater one is less urgent. The main thread and the writer thread keep that of the process.
 * Searches and long reads of many callers fill a core, and a push that waits for a core behind them is noticed. While
 * sealing gets no core, the log grows until commits wait, which gives the sealer thread its turn.
 */
export const niceness = { reading: 5, sealing: 10 } as const;

/** Lowers the priority of this thread alone, on Linux: elsewhere a priority belongs to the process. */
export function lowerPriority(to: number): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Math.max(getPriority(), to));
  } catch {
    // Without the right to set it, the thread runs at normal priority.
  }
}
