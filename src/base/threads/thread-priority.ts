// Priorities of threads for when all cores are busy: pushes run before reads and hashes, and those before what nobody waits
// for.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/**
 * Nice values of Linux: a greater one is less urgent. The main thread and the writer thread keep that of the process.
 * Searches, long reads and password hashes of many callers fill a core, and a push that waits for a core behind them is
 * noticed. While sealing gets no core, the log grows until commits wait, which gives the sealer thread its turn.
 */
export const niceness = { hashing: 5, reading: 5, sealing: 10 } as const;

/** Lowers the priority of this thread alone, on Linux: elsewhere a priority belongs to the process. */
export function lowerPriority(to: number): void {
  if (process.platform === 'linux') lower(0, to);
}

/**
 * Lowers the priority of the threads of Node.js's pool, on Linux: they hash passwords, and read files for the dashboard.
 * Calls `done` when that is done: the threads start with their first work.
 */
export function lowerPoolPriority(to: number, done: () => void = () => {}): void {
  if (process.platform !== 'linux') {
    done();
    return;
  }
  randomBytes(1, () => {
    const tasks = '/proc/self/task';
    for (const thread of readdirSync(tasks)) {
      if (readFileSync(`${tasks}/${thread}/comm`, 'latin1').trim() === 'libuv-worker') lower(Number(thread), to);
    }
    done();
  });
}

/** @param thread its number, 0 for this one. */
function lower(thread: number, to: number): void {
  try {
    setPriority(thread, Math.max(getPriority(thread), to));
  } catch {
    // Without the right to set it, or where the thread has ended, it stays as it is.
  }
}
