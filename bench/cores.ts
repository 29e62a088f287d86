// Who runs on which core: the measured process on the first, the load generator on the others. Without taskset or
// with one core everything shares what there is, and the report says so.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';

const cores = availableParallelism();
const pinner: string = 'taskset';

/** True when the two sides really have cores of their own. */
export const isPinned = cores > 1 && hasTaskset();

/** The command that starts `program` on the core of the measured. */
export function onServerCore(program: string, args: readonly string[]): readonly [string, readonly string[]] {
  return isPinned ? [pinner, ['-c', '0', program, ...args]] : [program, args];
}

/** Moves this process, which is the load generator, off the core of the measured. */
export function leaveServerCore(): void {
  if (!isPinned) return;
  const others = cores === 2 ? '1' : `1-${cores - 1}`;
  execFileSync(pinner, ['-a', '-c', '-p', others, String(process.pid)], { stdio: 'ignore' });
}

/** Processor time the first core has spent on anything so far, seconds; NaN where that cannot be known. */
export function serverCoreBusyS(): number {
  return busyS('cpu0');
}

/** The share of all cores that was busy over a second in which this bench rests; NaN where that cannot be known. */
export async function othersShare(): Promise<number> {
  const [before, startMs] = [busyS('cpu'), performance.now()];
  await pause(1_000);
  return (busyS('cpu') - before) / ((performance.now() - startMs) / 1_000) / cores;
}

function busyS(line: 'cpu' | 'cpu0'): number {
  try {
    const [, user, nice, system, , , irq, softIrq, steal] =
      readFileSync('/proc/stat', 'latin1')
        .split('\n')
        .find((text) => text.startsWith(`${line} `))
        ?.split(/ +/)
        .map(Number) ?? [];
    return (
      [user, nice, system, irq, softIrq, steal].reduce<number>((sum, ticks) => sum + (ticks ?? Number.NaN), 0) / 100
    );
  } catch {
    // Not Linux.
    return Number.NaN;
  }
}

function hasTaskset(): boolean {
  try {
    execFileSync(pinner, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    // Not Linux, or without util-linux.
    return false;
  }
}
