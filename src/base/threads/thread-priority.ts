// Priorities of threads for when all cores are busy: pushes run before reads and password hashes, and those before
// work that nobody waits for (sealing).
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/**
 * Nice values of Linux: a greater one is less urgent. The main thread and the writer thread keep the nice value of
 * the process. Searches, long reads and password hashes of many callers can fill a core, and a push that waits for a
 * core behind them is noticed. If sealing gets no core, the log grows until commits wait, and then the sealer thread
 * gets its turn.
 */
export const niceness = { hashing: 5, reading: 5, sealing: 10 } as const;

/** Lowers the priority of the calling thread alone. Linux only: elsewhere a priority belongs to the whole process. */
export function lowerPriority(to: number): void {
  if (process.platform === 'linux') lower(0, to);
}

/**
 * Lowers the priority of the threads in Node.js's pool (Linux only), which hash passwords and read files for the
 * dashboard. Calls `done` afterwards: it is not done at once, because the pool's threads start with their first work.
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

/** @param thread its thread id, 0 for the calling one. */
function lower(thread: number, to: number): void {
  try {
    setPriority(thread, Math.max(getPriority(thread), to));
  } catch {
    // The priority stays where the process lacks the right to set it, or the thread has ended.
  }
}
